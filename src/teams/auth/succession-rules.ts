/** Whether another registry, a backup or a changed list of master keys fits the known records. */
import { readVault, VAULT_RECORD } from '../../platform/credential/keeper.js';
import { createSealer, SealError, type Sealer } from '../../platform/credential/seal.js';
import type { RegistryRecord } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import type { SuccessionRules } from '../../store/registry/succession.js';
import { isLaterSignIn, PERSON_PREFIX } from '../sign-in/persons.js';
import { TEAM_PREFIX } from './directory.js';
import { KEY_PREFIX, KeyRecord, LIFE_PREFIX, LifeRecord } from './key-record.js';
import { PEPPER_RECORD, TOKEN_PEPPER_RECORD } from './pepper.js';

/** Adopts a restored registry, with revocations known here, but not an empty one. */
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

/** @returns null if the sealer decrypts vault and peppers */
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

/** Texts by record id. */
type Texts = ReadonlyMap<string, string>;

/**
 * Revocations survive a replacement of the registry: of keys, rolled secrets and deleted teams.
 * @param found the records that replace the known ones
 * @returns corrected records that `found` lacks, or has without the revocation
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
    // An earlier sign-in may give more.
    else if (id.startsWith(PERSON_PREFIX) && isLaterSignIn(id, before, text)) changed.set(id, before);
  }
  for (const [id, text] of known) {
    if (!found.has(id) && (id.startsWith(LIFE_PREFIX) || isRevokedKey(id, text))) changed.set(id, text);
  }
  return changed;
}

function isLater(id: string, one: string, other: string): boolean {
  return LifeRecord.read(one, id).life > LifeRecord.read(other, id).life;
}

/** Kept even if `found` lacks the key: a later registry or backup may have it. */
function isRevokedKey(id: string, text: string): boolean {
  return id.startsWith(KEY_PREFIX) && KeyRecord.read(text, id).revokedAt !== null;
}

/** @returns null if `found` has all revocations of the key */
function withRevocation(known: KeyRecord, found: KeyRecord): KeyRecord | null {
  const revokedAt = found.revokedAt ?? known.revokedAt;
  const current = found.secrets[0]?.hash;
  // Records keep only the last rolled secret, so rolls are compared by number, too.
  const isRolledAway =
    (known.rolls ?? 0) > (found.rolls ?? 0) || known.secrets.slice(1).some(({ hash }) => hash === current);
  const { rolls, secrets } = known;
  if (isRolledAway) return { ...found, revokedAt, ...(rolls === undefined ? {} : { rolls }), secrets };
  return revokedAt === found.revokedAt ? null : { ...found, revokedAt };
}

/** Whether there are teams or keys; records that every start creates do not count. */
export function isPeoples(ids: Iterable<string>): boolean {
  return [...ids].some((id) => id.startsWith(TEAM_PREFIX) || id.startsWith(KEY_PREFIX));
}

/** Refuses a master key that does not decrypt stored records: new records would be encrypted with another key. */
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

/** Encrypted records. */
export const SEALED_RECORDS: readonly string[] = [PEPPER_RECORD, TOKEN_PEPPER_RECORD, VAULT_RECORD];

/** @returns ids of records that are useless without the master key: encrypted ones, and keys, hashed with the pepper */
export function sealedAndKeys(ids: Iterable<string>): readonly string[] {
  return [...ids].filter(
    (id) => SEALED_RECORDS.includes(id) || id.startsWith(KEY_PREFIX) || id.startsWith(PERSON_PREFIX),
  );
}
