/** Master key and admin token: from the settings, or, with the embedded store, made and kept in its folder. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Config, ConfigError } from '../config/load.js';
import { adminToken, fixedSecret, masterKey, type Secret, type SecretRule } from '../config/secret.js';
import { randomBuffer } from '../lib/chance.js';
import type { VaultKeeper } from '../platform/credential/keeper.js';
import { localSecret } from '../platform/credential/local-secret.js';
import type { RegistryStore } from '../store/port.js';
import { SEALED_RECORDS } from '../teams/auth/succession-rules.js';
import type { Log } from '../telemetry/logger.js';

export interface LocalSecrets {
  readonly masterKey: Secret;
  readonly adminToken: Secret;
  /** Where a generated admin token lies; null when it was given. */
  readonly adminTokenPath: string | null;
}

interface Generated {
  /** The setting it stands for. */
  readonly name: string;
  readonly file: string;
  readonly rule: SecretRule;
  readonly make: () => string;
  /** What to do when its file is of no use. */
  readonly advice: string;
}

const MASTER_KEY: Generated = {
  name: 'GATEWAY_MASTER_KEY',
  file: 'master.key',
  rule: masterKey,
  make: () => randomBuffer(32).toString('base64'),
  advice: 'restore it from a backup, for nothing else opens what is stored in that folder',
};

const ADMIN_TOKEN: Generated = {
  name: 'ADMIN_TOKEN',
  file: 'admin.token',
  rule: adminToken,
  make: () => `dga_${randomBuffer(24).toString('base64url')}`,
  advice: 'write one, or delete the file to have a new one made',
};

/**
 * To be called after the store has made its folder. A key that is gone is not made anew: it would open nothing of what
 * is there, and whoever finds the old one could not tell which is which.
 * @throws ConfigError that names a file that is of no use, or is gone, and what to do; nothing is written then
 */
export async function localSecrets(
  config: Config,
  registry: Pick<RegistryStore, 'load'>,
): Promise<LocalSecrets> {
  const folder = resolve(config.store.dataDir);
  if (!config.secrets.has(MASTER_KEY.name) && !existsSync(join(folder, MASTER_KEY.file))) {
    const { records } = await registry.load();
    if (SEALED_RECORDS.some((id) => records.has(id))) throw keyIsGone(folder);
  }
  const take = (generated: Generated): Secret =>
    config.secrets.get(generated.name) ?? fixedSecret(generated.name, generatedIn(folder, generated));
  const isGiven = config.secrets.has('ADMIN_TOKEN');
  return {
    masterKey: take(MASTER_KEY),
    adminToken: take(ADMIN_TOKEN),
    adminTokenPath: isGiven ? null : join(folder, ADMIN_TOKEN.file),
  };
}

function keyIsGone(folder: string): ConfigError {
  return new ConfigError([
    `${join(folder, MASTER_KEY.file)} is gone, and ${MASTER_KEY.name} is not set: what is stored in ${folder} was sealed with that key. Nothing was changed. Put the file back from a backup, or set ${MASTER_KEY.name} to the key; without it: dsp-gateway store forget-sealed, which keeps the teams (docs/operations.md, "A lost master key")`,
  ]);
}

function generatedIn(folder: string, { name, file, rule, make, advice }: Generated): string {
  const path = join(folder, file);
  const value = readOrMake(folder, file, make, (message) => refused(name, path, message, advice));
  const [fault] = rule(value);
  if (fault === undefined) return value;
  throw refused(name, path, `was ${fault.was}; allowed is ${fault.allowed}`, advice);
}

function readOrMake(
  folder: string,
  file: string,
  make: () => string,
  refuse: (message: string) => ConfigError,
): string {
  try {
    return localSecret(folder, file, make).value;
  } catch (error) {
    throw refuse(`was of no use (${(error as Error).message}); allowed is a readable file`);
  }
}

function refused(name: string, path: string, message: string, advice: string): ConfigError {
  return new ConfigError([`${name} (${path}): ${message}; ${advice}`]);
}

// What must not show up in a log line, whatever put it there.

/** Hides every secret there is, and those that take their places. */
export function hideSecrets(log: Log, config: Config, secrets: LocalSecrets, keeper: VaultKeeper): void {
  const hide = () => log.hide(allSecrets(config, secrets, keeper));
  hide();
  keeper.onChange(hide);
  for (const file of config.fileSecrets) file.onChange(hide);
}

function allSecrets(config: Config, { masterKey, adminToken }: LocalSecrets, keeper: VaultKeeper): string[] {
  const { active, pending, previous } = keeper.vault();
  return [
    ...settingSecrets(config),
    ...masterKey.read().split(','),
    adminToken.read(),
    ...[active, pending, previous].flatMap((token) => (token === null ? [] : [token.secret])),
  ];
}

/** Those that are known before anything is opened. */
export function settingSecrets(config: Config): string[] {
  const secrets = [...config.secrets].filter(([name]) => !SHOWN.includes(name)).map(([, secret]) => secret);
  return [...secrets, ...config.admins.map(({ token }) => token)].map((secret) => secret.read());
}

/** Read from files like secrets, but no secret by themselves. */
const SHOWN: readonly string[] = ['PLATFORM_USERNAME', 'PLATFORM_CLIENT_ID'];
