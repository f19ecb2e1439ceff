/** Everything sealed, sealed anew under the first master key. */

import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { readVault, VAULT_RECORD, writeVault } from '../../platform/credential/keeper.js';
import { SealError, type Sealer } from '../../platform/credential/seal.js';
import { updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import { PEPPER_RECORD, resealPepper, TOKEN_PEPPER_RECORD } from '../../teams/auth/pepper.js';
import { type Actor, auditLine } from '../../telemetry/audit.js';

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
      throw error;
    }
  };

  async function sealAnew(actor: Actor): Promise<Resealed> {
    const masterKey = sealer.keyId();
    let records: readonly string[] = [];
    const step = (pepper: string | null) => {
      if (pepper === null) return null;
      const others = othersResealed(registry, sealer);
      records = [PEPPER_RECORD, ...others.map(([id]) => id)];
      const event = { action: 'token.reseal', subject: 'registry', after: { masterKey, records } };
      return {
        text: resealPepper(pepper, sealer),
        also: others,
        audit: [auditLine(event, actor, clock.now())],
      };
    };
    await updateRecord(registry, PEPPER_RECORD, step, 'The tokens were');
    return { masterKey, records };
  }
}

/** What is sealed beside the pepper of key hashes, sealed anew, with the revision it was read at. */
function othersResealed(registry: Registry, sealer: Sealer): [id: string, text: string, revision: number][] {
  const vault = registry.get(VAULT_RECORD);
  const pepper = registry.get(TOKEN_PEPPER_RECORD);
  return [
    ...(vault === undefined
      ? []
      : [[VAULT_RECORD, writeVault(readVault(vault.value, sealer), sealer), vault.revision] as const]),
    ...(pepper === undefined
      ? []
      : [[TOKEN_PEPPER_RECORD, resealPepper(pepper.value, sealer), pepper.revision] as const]),
  ].map(([id, text, revision]) => [id, text, revision]);
}
