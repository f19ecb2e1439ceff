/** Master key and admin token: from the settings, or generated in the folder of the embedded store. */
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
  /** File of a generated admin token; null if configured. */
  readonly adminTokenPath: string | null;
}

interface Generated {
  /** The setting. */
  readonly name: string;
  readonly file: string;
  readonly rule: SecretRule;
  readonly make: () => string;
  /** What to do if its file is invalid. */
  readonly advice: string;
}

const MASTER_KEY: Generated = {
  name: 'GATEWAY_MASTER_KEY',
  file: 'master.key',
  rule: masterKey,
  make: () => randomBuffer(32).toString('base64'),
  advice: 'restore it from a backup; secrets in that folder cannot be decrypted without it',
};

const ADMIN_TOKEN: Generated = {
  name: 'ADMIN_TOKEN',
  file: 'admin.token',
  rule: adminToken,
  make: () => `dga_${randomBuffer(24).toString('base64url')}`,
  advice: 'write a token, or delete the file to generate a new one',
};

/**
 * To be called after the store has created its folder. A missing master key is not replaced if encrypted records exist.
 * @throws ConfigError for an invalid or missing file; then nothing is written
 */
export async function localSecrets(
  config: Config,
  registry: Pick<RegistryStore, 'load'>,
): Promise<LocalSecrets> {
  const folder = resolve(config.store.dataDir);
  if (!config.secrets.has(MASTER_KEY.name) && !existsSync(join(folder, MASTER_KEY.file))) {
    const { records } = await registry.load();
    if (SEALED_RECORDS.some((id) => records.has(id)))
      throw new ConfigError([
        `${join(folder, MASTER_KEY.file)} is missing, and ${MASTER_KEY.name} is not set: secrets in ${folder} are encrypted with that key. Nothing was changed. Restore the file from a backup, or set ${MASTER_KEY.name}. Without the key: dsp-gateway store forget-sealed, which keeps the teams (docs/operations.md, "A lost master key")`,
      ]);
  }
  const take = (generated: Generated): Secret =>
    config.secrets.get(generated.name) ?? fixedSecret(generated.name, generatedIn(folder, generated));
  return {
    masterKey: take(MASTER_KEY),
    adminToken: take(ADMIN_TOKEN),
    adminTokenPath: config.secrets.has(ADMIN_TOKEN.name) ? null : join(folder, ADMIN_TOKEN.file),
  };
}

function generatedIn(folder: string, { name, file, rule, make, advice }: Generated): string {
  const refused = (message: string) =>
    new ConfigError([`${name} (${join(folder, file)}): ${message}; ${advice}`]);
  let value: string;
  try {
    value = localSecret(folder, file, make).value;
  } catch (error) {
    throw refused(`was unusable (${(error as Error).message}); allowed is a readable file`);
  }
  const [fault] = rule(value);
  if (fault === undefined) return value;
  throw refused(`was ${fault.was}; allowed is ${fault.allowed}`);
}

// Secrets to be hidden from the log.

/** Hides all current and future secrets. */
export function redactSecrets(log: Log, config: Config, secrets: LocalSecrets, keeper: VaultKeeper): void {
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

export function settingSecrets(config: Config): string[] {
  const secrets = [...config.secrets].filter(([name]) => !SHOWN.includes(name)).map(([, secret]) => secret);
  return [...secrets, ...config.admins.map(({ token }) => token)].map((secret) => secret.read());
}

/** Read from files like secrets, but not secret. */
const SHOWN: readonly string[] = ['PLATFORM_USERNAME', 'PLATFORM_CLIENT_ID'];
