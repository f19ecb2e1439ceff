import type { Clock } from '../../clock.js';
import { turn } from '../../time.js';
import {
  decodeEnd,
  decodeEntryRecord,
  decodeFactsRecord,
  endsAfter,
  isEntryKey,
  readEnd,
} from './cache-records.js';
import { type Environment, RecordDamaged, type RecordWrite, type StoredRecord } from './environment.js';
import { bodyNameOf, removalsOfBody } from './large-bodies.js';

/** Small, so that nobody waits long for the lock that a sweep takes. */
const AT_ONCE = 200;
/** Beyond the bound it goes down to this part of it, so that writes seldom have to wait for a sweep. */
const DOWN_TO = 0.9;

export interface CacheSweepOptions {
  readonly environment: Pick<Environment, 'read' | 'write'>;
  /** Bytes that all entries may take on the disk. */
  readonly maxBytes: number;
  readonly clock: Clock;
}

/**
 * Removes what is over, and, where there is more than there may be, what ends next.
 * @returns bytes that are left
 */
export async function sweepCache({ environment, maxBytes, clock }: CacheSweepOptions): Promise<number> {
  const nowMs = clock.now();
  let left = 0;
  for await (const ends of endsInTurns(environment)) {
    const [over, kept] = [[] as StoredRecord[], [] as StoredRecord[]];
    for (const end of ends) (readEnd(end.key).endsAtMs <= nowMs ? over : kept).push(end);
    await removeEnded(environment, over);
    left += sizeOf(kept);
  }
  if (left <= maxBytes) return left;
  for await (const ends of endsInTurns(environment)) {
    await removeEnded(environment, ends);
    left -= sizeOf(ends);
    if (left <= maxBytes * DOWN_TO) break;
  }
  return left;
}

/** The index, from the earliest end on, a few at a time; others get a turn in between. */
async function* endsInTurns(environment: Pick<Environment, 'read'>): AsyncGenerator<StoredRecord[]> {
  let last: Buffer | null = null;
  for (;;) {
    const bounds = endsAfter(last);
    const damaged: Buffer[] = [];
    const ends = environment.read((view) =>
      view.range({ ...bounds, limit: AT_ONCE }, ({ key }) => damaged.push(key)),
    );
    // One whose size is damaged still says what it is the end of.
    const all = [...ends, ...damaged.map((key) => ({ key, stamp: 0, value: Buffer.alloc(0) }))];
    if (all.length === 0) return;
    last = all.map(({ key }) => key).reduce((one, other) => (Buffer.compare(one, other) > 0 ? one : other));
    yield all;
    await turn();
  }
}

function sizeOf(ends: readonly StoredRecord[]): number {
  return ends.reduce((sum, { value }) => sum + (decodeEnd(value)?.bytes ?? 0), 0);
}

/** Without a look at what ends: the index says which it is. */
async function removeEnded(
  environment: Pick<Environment, 'read' | 'write'>,
  ends: readonly StoredRecord[],
): Promise<void> {
  const bodies: RecordWrite[] = [];
  const others: Promise<StoredRecord | null>[] = [];
  for (const end of ends) {
    const { endsAtMs, of } = readEnd(end.key);
    const bodyName = bodyNameOf(of);
    if (bodyName !== null) bodies.push(...removalsOfBody(bodyName, endsAtMs));
    else others.push(removeOne(environment, end, of));
  }
  if (bodies.length > 0) await environment.write(null, bodies);
  const changed = (await Promise.all(others)).filter((end) => end !== null);
  await removeChanged(environment, changed);
}

/** @returns what it was not removed by: its record has changed since, or is damaged */
async function removeOne(
  environment: Pick<Environment, 'write'>,
  end: StoredRecord,
  of: Buffer,
): Promise<StoredRecord | null> {
  const { stamp = 0 } = decodeEnd(end.value) ?? {};
  const removals = [
    { key: end.key, value: null },
    { key: of, value: null },
  ];
  const isRemoved = stamp > 0 && (await environment.write({ key: of, stamp }, removals));
  return isRemoved ? null : end;
}

/** Those that are seldom: what they are of has to be looked at. */
async function removeChanged(
  environment: Pick<Environment, 'read' | 'write'>,
  ends: readonly StoredRecord[],
): Promise<void> {
  if (ends.length === 0) return;
  const removals = environment.read((view) =>
    ends.map(({ key }) => {
      const { endsAtMs, of } = readEnd(key);
      try {
        const record = view.get(of);
        // It was written again since, and has another end: then this one is nothing any more.
        const isIts = record !== null && endOf(record) === endsAtMs;
        return { key, of, stamp: isIts ? record.stamp : null };
      } catch (error) {
        if (!(error instanceof RecordDamaged)) throw error;
        return { key, of, stamp: 'any' as const };
      }
    }),
  );
  const alone: RecordWrite[] = [];
  const conditional: Promise<boolean>[] = [];
  for (const { key, of, stamp } of removals) {
    const writes = [
      { key, value: null },
      { key: of, value: null },
    ];
    if (stamp === null) alone.push({ key, value: null });
    else if (stamp === 'any') alone.push(...writes);
    else conditional.push(environment.write({ key: of, stamp }, writes));
  }
  if (alone.length > 0) conditional.push(environment.write(null, alone));
  await Promise.all(conditional);
}

/** What is none of ours ends at no time, and is left to whoever clears the folder. */
function endOf({ key, value }: StoredRecord): number | null {
  if (isEntryKey(key)) return decodeEntryRecord(value)?.stamp.endsAtMs ?? null;
  return decodeFactsRecord(value).endsAtMs;
}
