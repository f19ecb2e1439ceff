/** Whether another registry, a backup or a changed list of master keys fits the known records. */
import { readVault, VAULT_RECORD } from '../../platform/credential/keeper.js';
import { createSealer, SealError, type Sealer } from '../../platform/credential/seal.js';
import type { RegistryRecord } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import type { SuccessionRules } from '../../store/registry/succession.js';
import { TEAM_PREFIX } from './directory.js';
import { KEY_PREFIX, KeyRecord, LIFE_PREFIX, LifeRecord } from './key-record.js';
import { PEPPER_RECORD, TOKEN_PEPPER_RECORD } from './pepper.js';

/** Adopts a restored registry, with the revocations known here, but not a new, empty one. */
export function successionRules(sealer: Sealer): SuccessionRules {
  return {
    refuse(known, found) {
      if (isPeoples(known.keys()) && !isPeoples(found.keys())) return 'it holds neither teams nor keys';
      const fault = sealFault(found, sealer);
      return fault && `GATEWAY_MASTER_KEY does not open it (${fault.message})`;
    },
    carryOver: (known, found) => revocationsFor(textsOf(known), textsOf(found)),
  };
}

/** @returns null where the sealer opens the vault and the peppers */
function sealFault(records: Pick<Registry, 'get'>, sealer: Sealer): SealError | null {
  const vault = records.get(VAULT_RECORD)?.value;
  const peppers = [PEPPER_RECORD, TOKEN_PEPPER_RECORD].map((id) => records.get(id)?.value);
  try {
    for (const pepper of peppers) if (pepper !== undefined) sealer.open(pepper, PEPPER_RECORD);
    if (vault !== undefined) readVault(vault, sealer);
    return null;
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    return error;
  }
}

function textsOf(records: ReadonlyMap<string, RegistryRecord>): Texts {
  return new Map([...records].map(([id, { value }]) => [id, value]));
}

/** Record id to text. */
type Texts = ReadonlyMap<string, string>;

/**
 * Revocations outlive a change of the registry: revoked keys, secrets that were rolled away, and the lives of deleted
 * teams stay so, whichever registry or backup replaces the known one.
 * @param found the records that replace the known ones
 * @returns records that `found` lacks or has without the revocation, as they have to be
 */
export function revocationsFor(known: Texts, found: Texts): Map<string, string> {
  const changed = new Map<string, string>();
  for (const [id, text] of found) {
    const before = known.get(id);
    if (before === undefined || before === text) continue;
    if (id.startsWith(KEY_PREFIX)) {
      const kept = withRevocation(KeyRecord.read(before, id), KeyRecord.read(text, id));
      if (kept !== null) changed.set(id, JSON.stringify(kept));
    } else if (id.startsWith(LIFE_PREFIX) && isLater(id, before, text)) changed.set(id, before);
  }
  for (const [id, text] of known) {
    if (!found.has(id) && (id.startsWith(LIFE_PREFIX) || isRevokedKey(id, text))) changed.set(id, text);
  }
  return changed;
}

/** Whether the team was deleted more often by one record than by the other. */
function isLater(id: string, one: string, other: string): boolean {
  return LifeRecord.read(one, id).life > LifeRecord.read(other, id).life;
}

/** Kept also where `found` does not have it: a later registry or backup may. */
function isRevokedKey(id: string, text: string): boolean {
  return id.startsWith(KEY_PREFIX) && KeyRecord.read(text, id).revokedAt !== null;
}

/** @returns null where `found` has every revocation of the known key */
function withRevocation(known: KeyRecord, found: KeyRecord): KeyRecord | null {
  const revokedAt = found.revokedAt ?? known.revokedAt;
  const current = found.secrets[0]?.hash;
  // Only the last secret rolled away is still there to be compared; by their number all are known.
  const isRolledAway =
    (known.rolls ?? 0) > (found.rolls ?? 0) || known.secrets.slice(1).some(({ hash }) => hash === current);
  const { rolls, secrets } = known;
  if (isRolledAway) return { ...found, revokedAt, ...(rolls === undefined ? {} : { rolls }), secrets };
  return revokedAt === found.revokedAt ? null : { ...found, revokedAt };
}

/** Whether the registry has teams or keys; records that every start creates do not count. */
export function isPeoples(ids: Iterable<string>): boolean {
  return [...ids].some((id) => id.startsWith(TEAM_PREFIX) || id.startsWith(KEY_PREFIX));
}

/**
 * Without this check, an exchanged key would seal new records that no other process opens, while stored records stay
 * under the key before: half of the store under each.
 */
export function opensWhatIsStored(registry: Pick<Registry, 'get'>) {
  return (value: string): { readonly was: string; readonly allowed: string }[] => {
    const sealer = createSealer({ name: 'GATEWAY_MASTER_KEY', read: () => value, onChange: () => {} });
    const fault = sealFault(registry, sealer);
    if (fault === null) return [];
    return [
      {
        was: `no key that opens the stored records (${fault.message})`,
        allowed:
          'a list with the key in use: put the new key before it, run dsp-gateway token reseal, then take the old one out',
      },
    ];
  };
}

/** Records that nothing but a master key opens. */
export const SEALED_RECORDS: readonly string[] = [PEPPER_RECORD, TOKEN_PEPPER_RECORD, VAULT_RECORD];

/**
 * Where the master key is lost, sealed records are of no use, nor are the team keys: their hashes are keyed by the
 * pepper. Teams, purges and learned facts stay.
 * @param ids of all records
 * @returns ids of the records to be deleted
 */
export function sealedAndKeys(ids: Iterable<string>): readonly string[] {
  return [...ids].filter((id) => SEALED_RECORDS.includes(id) || id.startsWith(KEY_PREFIX));
}
