/**
 * Puts a registry that is gone from the store back from memory: by the replica that knows most, and only where there
 * is none. All replicas that notice say how much they know, wait a moment for the others, and the one that knows most makes
 * it. A replica that knows something else puts that back afterwards, see lost.ts.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import { randomId } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { sleep } from '../../lib/time.js';
import { auditLine, GATEWAY_ACTOR } from '../../telemetry/audit.js';
import type { Bus, RegistryStore } from '../port.js';
import type { Known } from './lost.js';

const CHANNEL = 'registry-lost';
/** Time in which replicas say how much they know. */
const GATHER_MS = 300;
const STEP_MS = 100;
/** How long a replica that knows more is waited for; it may have died meanwhile. */
const PATIENCE_MS = 2000;
/** A replica that was out of step for longer before the loss may have missed changes, a revocation among them. */
export const MOST_STALE_MS = 5000;

/** How much a replica knows, as it tells the others. */
const Claim = recordForm(
  Type.Object({
    id: Type.String(),
    epoch: Type.String(),
    /** Everything up to it is known, then the newest version known of. */
    version: Type.Number(),
    newest: Type.Number(),
  }),
);
type Claim = RecordOf<typeof Claim>;

/** @param onGone another replica says that the registry is gone */
export function createVote(store: RegistryStore, bus: Bus, clock: Clock, logger: Logger, onGone: () => void) {
  const id = randomId();
  const heard = new Map<string, Claim & { readonly atMs: number }>();
  const unsubscribe = bus.subscribe(CHANNEL, (message) => {
    const claim = Claim.parse(message);
    if (claim === null || claim.id === id) return;
    heard.set(claim.id, { ...claim, atMs: clock.monotonicMs() });
    onGone();
  });

  async function say(claim: Claim): Promise<void> {
    await bus.publish(CHANNEL, JSON.stringify(claim)).catch((error: unknown) => {
      logger.debug({ err: error }, 'other replicas could not be told that the registry is gone');
    });
  }

  /** Claims of others about the same registry. */
  function claimsOf({ epoch }: Known, sinceMs: number): Claim[] {
    for (const [other, { atMs }] of heard) if (atMs < sinceMs - PATIENCE_MS) heard.delete(other);
    return [...heard.values()].filter((claim) => claim.epoch === epoch);
  }

  return {
    /**
     * Sees to it that there is a registry again.
     * @param staleMs how long before the loss this replica was last in step
     * @returns own: made by this replica · other: it is there again · none: nobody made it
     */
    async putBack(known: Known, staleMs: number): Promise<'own' | 'other' | 'none'> {
      const startedAtMs = clock.monotonicMs();
      const isPatient = () => clock.monotonicMs() - startedAtMs < PATIENCE_MS;
      const own: Claim = { id, epoch: known.epoch, version: known.version, newest: known.newest };
      const entitled = staleMs <= MOST_STALE_MS;
      if (entitled) await say(own);
      await sleep(GATHER_MS);
      for (;;) {
        const { epoch } = await store.load('leave');
        if (epoch !== '') return 'other';
        const claims = claimsOf(known, startedAtMs);
        if (entitled && !(isPatient() && claims.some((claim) => compare(claim, own) > 0))) {
          if (!(await make(store, known, clock.now()))) return 'none';
          // A replica that knows a later commit puts that back before one of this replica takes its version.
          if (claims.some(({ newest }) => newest > own.newest))
            while (isPatient() && (await store.load('leave')).version === own.newest) await sleep(STEP_MS);
          return 'own';
        }
        if (!isPatient()) return 'none';
        await sleep(STEP_MS);
      }
    },
    /** Tells replicas that live, if any, that a registry is missing. */
    ask: () => say({ id, epoch: '', version: -1, newest: -1 }),
    stop: unsubscribe,
  };
}

/** @returns false when there is something in the store by now */
async function make(
  store: RegistryStore,
  { epoch, newest: version, records }: Known,
  nowMs: number,
): Promise<boolean> {
  const after = { epoch, version, records: records.size };
  const audit = [auditLine({ action: 'registry.restore', subject: 'registry', after }, GATEWAY_ACTOR, nowMs)];
  return store.create({ epoch, version, records, audit });
}

function compare(one: Claim, other: Claim): number {
  return one.version - other.version || one.newest - other.newest || (one.id < other.id ? -1 : 1);
}
