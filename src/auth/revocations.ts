/**
 * What was taken back stays taken back, whichever registry or backup takes the place of the one known: revoked keys,
 * secrets that were rolled away, and the lives of teams that were deleted. Values in, values out.
 */
import { TEAM_PREFIX } from './directory.js';
import { KEY_PREFIX, KeyRecord, LIFE_PREFIX, LifeRecord } from './key-record.js';

/** Record id to text. */
export type Texts = ReadonlyMap<string, string>;

/**
 * @param found what is to take the place of what is known
 * @returns the records that `found` has otherwise, or lacks, as they have to be
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

/** Kept also where `found` does not know of it: what comes after that may. */
function isRevokedKey(id: string, text: string): boolean {
  return id.startsWith(KEY_PREFIX) && KeyRecord.read(text, id).revokedAt !== null;
}

/** @returns null when nothing was taken back that `found` would give again */
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

/** Whether people have made something of this registry: what a gateway makes by itself at a start does not count. */
export function isPeoples(ids: Iterable<string>): boolean {
  return [...ids].some((id) => id.startsWith(TEAM_PREFIX) || id.startsWith(KEY_PREFIX));
}
