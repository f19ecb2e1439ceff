/** Master key and admin token: from the settings, or, with the embedded store, made and kept in its folder. */
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import type { Config } from '../config/load.js';
import { fixedSecret, type Secret } from '../config/secret.js';
import { localSecret } from '../credential/local-secret.js';

export interface LocalSecrets {
  readonly masterKey: Secret;
  readonly adminToken: Secret;
  /** Where a generated admin token lies; null when it was given. */
  readonly adminTokenPath: string | null;
}

/** To be called after the store has made its folder. */
export function localSecrets(config: Config): LocalSecrets {
  const folder = resolve(config.store.dataDir);
  const givenKey = config.secrets.get('GATEWAY_MASTER_KEY');
  const givenToken = config.secrets.get('ADMIN_TOKEN');
  const masterKey =
    givenKey ??
    fixedSecret(
      'GATEWAY_MASTER_KEY',
      localSecret(folder, 'master.key', () => randomBytes(32).toString('base64')).value,
    );
  if (givenToken !== undefined) return { masterKey, adminToken: givenToken, adminTokenPath: null };
  const made = localSecret(folder, 'admin.token', () => `dga_${randomBytes(24).toString('base64url')}`);
  return { masterKey, adminToken: fixedSecret('ADMIN_TOKEN', made.value), adminTokenPath: made.path };
}
