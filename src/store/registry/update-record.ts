/** Read, change, write a record, and start over when another replica changed it in between. */
import { randomShare } from '../../lib/chance.js';
import { sleep } from '../../lib/time.js';
import { RegistryConflict } from '../port.js';
import { createTurns } from '../turns.js';
import type { Registry } from './replica.js';

const MAX_TRIES = 10;
const CONFLICT_WAIT_MS = 10;

export interface RecordChange {
  readonly text: string;
  /** Other records that are written with it; null deletes. With a revision only if they still have it. */
  readonly also?: readonly (readonly [id: string, text: string | null, revision?: number])[];
  readonly audit?: readonly string[];
}

/** Changes of records of each registry, in turns. */
const turnsOf = new WeakMap<Registry, ReturnType<typeof createTurns>>();

/**
 * Changes of one record take turns within a process: of many at once all but one would lose to each other at every
 * write of the disk. Conflicts come from other replicas.
 *
 * @param step from the record's text (null: there is none) to the change, or null to leave it as it is. It may be
 *   called more than once.
 * @throws RegistryConflict after ten tries, StoreUnavailable, and whatever `step` throws
 */
export function updateRecord(
  registry: Registry,
  id: string,
  step: (text: string | null) => RecordChange | null,
): Promise<void> {
  const turns = turnsOf.get(registry) ?? createTurns();
  turnsOf.set(registry, turns);
  return turns(id, async () => {
    for (let tries = 1; ; tries++) {
      const before = registry.get(id);
      const change = step(before?.value ?? null);
      if (change === null) return;
      const { text, also = [], audit = [] } = change;
      const expected = also.flatMap(([other, , revision]) =>
        revision === undefined ? [] : [[other, revision] as const],
      );
      try {
        return await registry.commit({
          writes: new Map([[id, text], ...also.map(([other, value]) => [other, value] as const)]),
          expect: new Map([[id, before?.revision ?? 0], ...expected]),
          audit,
        });
      } catch (error) {
        if (!(error instanceof RegistryConflict) || tries === MAX_TRIES) throw error;
        // Replicas that keep the same step would lose to the same one each time.
        await sleep(randomShare() * tries * CONFLICT_WAIT_MS);
        await registry.refresh();
      }
    }
  });
}
