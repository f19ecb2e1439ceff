import type { Clock } from '../../clock.js';
import { turn } from '../../time.js';
import { decodeEnd, endsAfter, readEnd } from './cache-records.js';
import type { Environment, RecordWrite, StoredRecord } from './environment.js';
import { bodyNameOf, removalsOfBody } from './large-bodies.js';

/** Small, so that no write waits long for one of a sweep. */
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
  return ends.reduce((sum, { value }) => sum + decodeEnd(value), 0);
}

/** Without a look at what ends: the index says which it is. An entry that is written anew just then is fetched again. */
async function removeEnded(
  environment: Pick<Environment, 'write'>,
  ends: readonly StoredRecord[],
): Promise<void> {
  if (ends.length === 0) return;
  const removals = ends.flatMap(({ key }): RecordWrite[] => {
    const { endsAtMs, of } = readEnd(key);
    const bodyName = bodyNameOf(of);
    if (bodyName !== null) return removalsOfBody(bodyName, endsAtMs);
    return [key, of].map((one) => ({ key: one, value: null }));
  });
  await environment.write(null, removals);
}
