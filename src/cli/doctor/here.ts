/** Doctor checks that need no running gateway: settings, files and store on this machine. */
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Config, ConfigError, loadConfig } from '../../config/load.js';
import type { Environment } from '../../config/rules.js';
import { sentence } from '../../lib/words.js';
import { redisConnection } from '../../server/open-store.js';
import { readTeamsFile } from '../../server/run.js';
import { refuseForeign, refuseNetworkFolder } from '../../store/embedded/data-folder.js';
import { refuseDamage, stateFolder } from '../../store/embedded/durable-folders.js';
import { lockFolder } from '../../store/embedded/folder-lock.js';
import { FolderInUse } from '../../store/refused.js';
import {
  type Check,
  type CheckResult,
  type Look,
  notWell,
  runChecks,
  skipped,
  warning,
} from '../../telemetry/checks.js';
import { redisChecks } from './redis.js';

const SILENT = { info() {}, warn() {}, error() {} };

/** @param runs whether a gateway was reached; it may have other settings */
export async function checkHere(env: Environment, runs: boolean): Promise<readonly Check[]> {
  if (runs && !hasSettings(env)) return [{ name: 'this machine', ...skipped(NOT_ITS_SETTINGS) }];
  let config: Config | null = null;
  const settings = await runChecks({
    settings: async () => {
      config = loadConfig(env);
      const { warnings } = config;
      if (warnings.length === 0) return `valid (${config.source ?? 'no file, environment only'})`;
      return warning(
        sentence(warnings.join('; ')),
        'Run dsp-gateway config show for the settings in effect.',
      );
    },
  });
  const known = config as Config | null;
  const connection = known === null ? connectionOf(env) : redisConnection(known);
  const folder = resolve(known?.store.dataDir ?? (env.GATEWAY_DATA_DIR || './data'));
  const isEmbedded = connection === null;
  return [
    ...settings.map(withAdvice),
    ...(await runChecks({
      'teams file': async () => teamsFile(known),
      ...(isEmbedded ? folderChecks(folder) : {}),
      'master key': async () => secret(known, 'GATEWAY_MASTER_KEY', join(folder, 'master.key'), isEmbedded),
      'admin token': async () => secret(known, 'ADMIN_TOKEN', join(folder, 'admin.token'), isEmbedded),
      ...(connection === null ? {} : redisChecks(connection, known?.redis.timeoutMs ?? 1000)),
    })),
  ];
}

const NOT_ITS_SETTINGS =
  'not checked: this shell does not have the settings of the gateway (PLATFORM_BASE_URL is missing); run doctor where they are set, too';

/** A shell may have only the address and admin token of a gateway. */
function hasSettings(env: Environment): boolean {
  try {
    loadConfig(env);
    return true;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return !error.faults.some((fault) => fault.startsWith('PLATFORM_BASE_URL: was not set'));
  }
}

/** The connection if the settings are invalid. */
const connectionOf = ({ REDIS_URL: url }: Environment) => (url ? { url } : null);

const withAdvice = (check: Check): Check =>
  check.level === 'not well'
    ? { ...check, do: 'Correct these settings; dsp-gateway config table lists all.' }
    : check;

function teamsFile(config: Config | null): string | CheckResult {
  if (config?.teamsFile === undefined) return skipped('GATEWAY_TEAMS_FILE is not set');
  try {
    return `${readTeamsFile(config.teamsFile).length} teams in ${config.teamsFile}`;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return notWell(sentence(error.message), 'Correct the file; the gateway does not start with it.');
  }
}

function folderChecks(folder: string): Readonly<Record<string, Look>> {
  return {
    'data folder': async () => {
      const found = await stat(folder).catch(absent);
      if (found === null) return skipped(`${folder} does not exist yet; the first start creates it`);
      await refuseForeign(folder, 'all');
      await refuseNetworkFolder(folder);
      const mode = found.mode & 0o777;
      if ((mode & 0o077) === 0) return `${folder}, mode ${mode.toString(8)}`;
      return warning(
        `The folder ${folder} is open to other users (mode ${mode.toString(8)}).`,
        `Run chmod 700 ${folder}.`,
      );
    },
    'embedded store': async () => {
      const state = stateFolder(folder);
      if ((await stat(state).catch(absent)) === null) return skipped('nothing is stored yet');
      // Opening it beside a gateway would lose concurrent writes.
      const lock = await lockFolder(folder, { logger: SILENT }).catch((error: unknown) => {
        if (error instanceof FolderInUse) return null;
        throw error;
      });
      if (lock === null)
        return skipped(`${state} is in use by the running gateway, which checked it at startup`);
      try {
        await refuseDamage(state, 'Restore a copy: dsp-gateway store restore <folder>');
        return `intact: ${state}`;
      } finally {
        await lock.release();
      }
    },
  };
}

async function secret(
  config: Config | null,
  name: string,
  path: string,
  isEmbedded: boolean,
): Promise<string | CheckResult> {
  const given = config?.secrets.get(name);
  if (given !== undefined) return given.path === undefined ? `from ${name}` : `from ${given.path}`;
  if (!isEmbedded)
    return notWell(`${name} is not set.`, `Set ${name} or ${name}_FILE; it is required with Redis.`);
  const found = await stat(path).catch(absent);
  const folder = resolve(path, '..');
  const hasData = (await stat(stateFolder(folder)).catch(absent)) !== null;
  if (found === null && hasData && name === 'GATEWAY_MASTER_KEY')
    return notWell(
      `The file ${path} is missing, and the secrets in ${folder} cannot be decrypted without it.`,
      'Restore the file from a backup; without one, dsp-gateway store forget-sealed deletes the secrets and keeps the teams (docs/operations.md, "A lost master key").',
    );
  if (found === null) return skipped(`${path} does not exist yet; the next start creates it`);
  const mode = found.mode & 0o777;
  if ((mode & 0o077) === 0) return `${path}, mode ${mode.toString(8)}`;
  return warning(
    `The file ${path} can be read by other users (mode ${mode.toString(8)}).`,
    `Run chmod 600 ${path}, and treat the secret as exposed.`,
  );
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
