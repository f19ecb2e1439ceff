/** What must not show up in a log line, whatever put it there. */
import type { Config } from '../config/load.js';
import type { VaultKeeper } from '../credential/keeper.js';
import type { Log } from '../telemetry/logger.js';
import type { LocalSecrets } from './local-secrets.js';

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
