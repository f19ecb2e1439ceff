/** What can be looked at without a gateway that runs: what it would start with, as it stands on this machine now. */
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Config, ConfigError, loadConfig } from '../../config/load.js';
import type { Environment } from '../../config/rules.js';
import { redisConnection } from '../../server/open-store.js';
import { readTeamsFile } from '../../server/run.js';
import { refuseForeign, refuseNetworkFolder } from '../../store/embedded/data-folder.js';
import { refuseDamage, stateFolder } from '../../store/embedded/durable-folders.js';
import { lockFolder } from '../../store/embedded/folder-lock.js';
import { FolderInUse } from '../../store/refused.js';
import { type Check, type Look, lookAtAll } from '../../telemetry/checks.js';
import { type Found, notWell, skipped, warning } from './found.js';
import { redisLooks } from './redis.js';

const SILENT = { info() {}, warn() {}, error() {} };

export interface HereOptions {
  readonly env: Environment;
  /** Whether a gateway was reached, which may be another than the one of these settings. */
  readonly runs: boolean;
}

export async function lookHere({ env, runs }: HereOptions): Promise<readonly Check[]> {
  if (runs && !hasSettings(env)) return [{ name: 'this machine', ...skipped(NOT_ITS_SETTINGS) }];
  let config: Config | null = null;
  const settings = await lookAtAll({
    settings: async () => {
      config = loadConfig(env);
      const { warnings } = config;
      if (warnings.length === 0) return `right (${config.source ?? 'no file, the environment alone'})`;
      return warning(warnings.join('; '), 'dsp-gateway config show tells what is in effect');
    },
  });
  const known = config as Config | null;
  const connection = known === null ? connectionOf(env) : redisConnection(known);
  const folder = resolve(known?.store.dataDir ?? (env.GATEWAY_DATA_DIR || './data'));
  const isEmbedded = connection === null;
  return [
    ...settings.map(withAdvice),
    ...(await lookAtAll({
      'teams file': async () => teamsFile(known),
      ...(isEmbedded ? folderLooks(folder) : {}),
      'master key': async () => secret(known, 'GATEWAY_MASTER_KEY', join(folder, 'master.key'), isEmbedded),
      'admin token': async () => secret(known, 'ADMIN_TOKEN', join(folder, 'admin.token'), isEmbedded),
      ...(connection === null ? {} : redisLooks(connection, known?.redis.timeoutMs ?? 1000)),
    })),
  ];
}

const NOT_ITS_SETTINGS =
  'not looked at: the settings of the running gateway are not set in this shell (PLATFORM_BASE_URL is missing); run doctor where they are, too';

/** Whether a gateway could be meant by what is set here: a shell that has its address and admin token alone is none. */
function hasSettings(env: Environment): boolean {
  try {
    loadConfig(env);
    return true;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return !error.faults.some((fault) => fault.startsWith('PLATFORM_BASE_URL: was not set'));
  }
}

/** As far as it can be told while the settings are wrong. */
const connectionOf = ({ REDIS_URL: url }: Environment) => (url ? { url } : null);

const withAdvice = (check: Check): Check =>
  check.level === 'not well'
    ? { ...check, do: 'correct these settings: dsp-gateway config table lists all' }
    : check;

function teamsFile(config: Config | null): string | Found {
  if (config?.teamsFile === undefined) return skipped('GATEWAY_TEAMS_FILE is not set');
  try {
    return `${readTeamsFile(config.teamsFile).length} teams in ${config.teamsFile}`;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return notWell(error.message, 'correct the file: with it the next start is refused');
  }
}

function folderLooks(folder: string): Readonly<Record<string, Look>> {
  return {
    'data folder': async () => {
      const found = await stat(folder).catch(absent);
      if (found === null) return skipped(`${folder} is not there yet; the first start makes it`);
      await refuseForeign(folder, 'all');
      await refuseNetworkFolder(folder);
      const mode = found.mode & 0o777;
      if ((mode & 0o077) === 0) return `${folder}, mode ${mode.toString(8)}`;
      return warning(`${folder} is open to other users (mode ${mode.toString(8)})`, `chmod 700 ${folder}`);
    },
    'embedded store': async () => {
      const state = stateFolder(folder);
      if ((await stat(state).catch(absent)) === null) return skipped('nothing is stored yet');
      // Opened beside a gateway, it would lose what that one writes meanwhile.
      const lock = await lockFolder(folder, { logger: SILENT }).catch((error: unknown) => {
        if (error instanceof FolderInUse) return null;
        throw error;
      });
      if (lock === null)
        return skipped(`${state} is the running gateway's, which looked at it when it started`);
      try {
        await refuseDamage(state, 'Put a copy in its place: dsp-gateway store restore <folder>');
        return `whole: ${state}`;
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
): Promise<string | Found> {
  const given = config?.secrets.get(name);
  if (given !== undefined) return given.path === undefined ? `from ${name}` : `from ${given.path}`;
  if (!isEmbedded)
    return notWell(`${name} is not set`, `set ${name} or ${name}_FILE: with Redis it is required`);
  const found = await stat(path).catch(absent);
  const folder = resolve(path, '..');
  const hasData = (await stat(stateFolder(folder)).catch(absent)) !== null;
  if (found === null && hasData && name === 'GATEWAY_MASTER_KEY')
    return notWell(
      `${path} is gone, and nothing else opens what is stored in ${folder}`,
      'put the file back from a backup; without one, dsp-gateway store forget-sealed starts over and keeps the teams (docs/operations.md, "A lost master key")',
    );
  if (found === null) return skipped(`${path} is not there yet; the next start makes it`);
  const mode = found.mode & 0o777;
  if ((mode & 0o077) === 0) return `${path}, mode ${mode.toString(8)}`;
  return warning(
    `${path} can be read by other users (mode ${mode.toString(8)})`,
    `chmod 600 ${path}, and count it as known to them`,
  );
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
