/** Loads the registry, and first puts back what it has lost of what is known here. */
import { randomShare } from '../chance.js';
import type { Clock } from '../clock.js';
import { RegistryConflict, type RegistrySnapshot, type RegistryStore } from '../store/port.js';
import { auditLine, GATEWAY_ACTOR } from '../telemetry/audit.js';
import { sleep } from '../time.js';
import type { LossLog } from './loss-log.js';
import { findLost, type Known, type LostRecord, MENDED_RECORD, noteMended } from './lost.js';

const MAX_TRIES = 20;
const CONFLICT_WAIT_MS = 20;

export interface LoadOptions {
  readonly store: RegistryStore;
  readonly clock: Clock;
  readonly tell: LossLog['tell'];
}

/**
 * A registry of another epoch, or none, is given as it is found; see succession.ts.
 *
 * All that was lost is put back in one commit, audited, and only where nobody has written since. Several replicas may be
 * at it at once; who is slower finds it done.
 * @throws StoreUnavailable, and then what was known stays known; RegistryConflict when others kept writing
 */
export async function loadAndMend(known: Known, options: LoadOptions): Promise<RegistrySnapshot> {
  for (let tries = 1; ; tries++) {
    const snapshot = await options.store.load('leave');
    const lost = findLost(known, snapshot);
    if (lost.length === 0) return snapshot;
    try {
      await putBack(known, snapshot, lost, options);
    } catch (error) {
      if (!(error instanceof RegistryConflict) || tries === MAX_TRIES) throw error;
      await sleep(randomShare() * CONFLICT_WAIT_MS);
    }
  }
}

async function putBack(
  known: Known,
  { epoch, version, records }: RegistrySnapshot,
  lost: readonly LostRecord[],
  { store, clock, tell }: LoadOptions,
): Promise<void> {
  const after = { records: lost.map(({ id }) => id), knownVersion: known.newest, foundVersion: version };
  const event = { action: 'registry.mend', subject: 'registry', after };
  await store.commit({
    epoch,
    writes: new Map<string, string | null>([
      ...lost.map(({ id, value }) => [id, value] as const),
      [MENDED_RECORD, noteMended(records, lost, clock.now())],
    ]),
    expect: new Map([
      ...lost.map(({ id, found }) => [id, found] as const),
      [MENDED_RECORD, records.get(MENDED_RECORD)?.revision ?? 0],
    ]),
    audit: [auditLine(event, GATEWAY_ACTOR, clock.now())],
  });
  tell('restored', MENDED, after);
}

const MENDED =
  'the store has lost changes that it had acknowledged; they were put back from memory. What else it took at that time may be lost: charges of writes, answers to idempotency keys, pins, history, sign-outs';
