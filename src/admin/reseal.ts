/** Everything sealed, sealed anew under the first master key. */
import { PEPPER_RECORD, resealPepper } from '../auth/pepper.js';
import type { Clock } from '../clock.js';
import { VAULT_RECORD } from '../credential/keeper.js';
import { SealError, type Sealer } from '../credential/seal.js';
import { readVault, writeVault } from '../credential/vault-text.js';
import { GatewayError } from '../errors.js';
import type { Registry } from '../registry/mirror.js';
import { updateRecord } from '../registry/update-record.js';
import { RegistryConflict } from '../store/port.js';
import { type Actor, auditLine } from '../telemetry/audit.js';

export interface Resealed {
  /** Id of the master key that seals now: a digest, of no use to open anything. */
  readonly masterKey: string;
  /** Ids of the records that were sealed anew. */
  readonly records: readonly string[];
}

export type Reseal = (actor: Actor) => Promise<Resealed>;

/**
 * The vault and the pepper in one commit, so that no moment has one of them under a key that is about to go. What is
 * sealed stays what it was: no hash of a key changes.
 * @throws GatewayError `conflict` when something does not open, and then nothing is changed; StoreUnavailable
 */
export function createReseal(registry: Registry, sealer: Sealer, clock: Clock): Reseal {
  return async (actor) => {
    try {
      return await sealAnew(actor);
    } catch (error) {
      if (error instanceof SealError)
        throw new GatewayError('conflict', { detail: `${error.message}.`, cause: error });
      throw error instanceof RegistryConflict ? busy(error) : error;
    }
  };

  async function sealAnew(actor: Actor): Promise<Resealed> {
    const masterKey = sealer.keyId();
    let records: readonly string[] = [];
    await updateRecord(registry, PEPPER_RECORD, (pepper) => {
      const vault = registry.get(VAULT_RECORD);
      if (pepper === null) return null;
      records = vault === undefined ? [PEPPER_RECORD] : [PEPPER_RECORD, VAULT_RECORD];
      const event = { action: 'token.reseal', subject: 'registry', after: { masterKey, records } };
      return {
        text: resealPepper(pepper, sealer),
        ...(vault === undefined
          ? {}
          : { also: [[VAULT_RECORD, writeVault(readVault(vault.value, sealer), sealer), vault.revision]] }),
        audit: [auditLine(event, actor, clock.now())],
      };
    });
    return { masterKey, records };
  }
}

function busy(cause: RegistryConflict): GatewayError {
  return new GatewayError('conflict', {
    detail: 'The tokens were changed again and again; try again.',
    cause,
  });
}
