/**
 * Puts a registry that is gone from the store back from memory: by the replica that knows most, and only where there
 * is none. All replicas that notice say how much they know, wait a moment for the others, and who knows most makes it;
 * should another have been quicker, whoever knows more puts the rest back as after a failover (see lost.ts).
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import { randomId } from '../chance.js';
import type { Clock } from '../clock.js';
import { type RecordOf, recordForm } from '../record.js';
import type { Bus, RegistryStore } from '../store/port.js';
import { auditLine, GATEWAY_ACTOR } from '../telemetry/audit.js';
import { sleep } from '../time.js';
import type { Known } from './lost.js';

const CHANNEL = 'registry-lost';
/** Time in which replicas say how much they know. */
const GATHER_MS = 300;
const STEP_MS = 100;
/** How long a replica that knows more is waited for; it may have died meanwhile. */
const PATIENCE_MS = 2000;
/** Who was out of step for longer before the loss may have missed changes, a revocation among them. */
export const MOST_STALE_MS = 5000;

export interface Rescue {
  /**
   * Sees to it that there is a registry again.
   * @param staleMs how long before the loss this replica was last in step
   * @returns own: made by this replica · other: it is there again · none: nobody made it
   */
  attempt(known: Known, staleMs: number): Promise<'own' | 'other' | 'none'>;
  /** Tells replicas that live, if any, that a registry is missing. */
  ask(): Promise<void>;
  stop(): void;
}

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

export interface RescueOptions {
  readonly store: RegistryStore;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Another replica says that the registry is gone. */
  readonly onAsked: () => void;
}

export function createRescue({ store, bus, clock, logger, onAsked }: RescueOptions): Rescue {
  const id = randomId();
  const heard = new Map<string, Claim & { readonly atMs: number }>();
  const unsubscribe = bus.subscribe(CHANNEL, (message) => {
    const claim = Claim.parse(message);
    if (claim === null || claim.id === id) return;
    heard.set(claim.id, { ...claim, atMs: clock.monotonicMs() });
    onAsked();
  });

  async function say(claim: Claim): Promise<void> {
    await bus.publish(CHANNEL, JSON.stringify(claim)).catch((error: unknown) => {
      logger.debug({ err: error }, 'other replicas could not be told that the registry is gone');
    });
  }

  function othersKnowMore(own: Claim, sinceMs: number): boolean {
    for (const [other, { atMs }] of heard) if (atMs < sinceMs - PATIENCE_MS) heard.delete(other);
    return [...heard.values()].some((claim) => claim.epoch === own.epoch && compare(claim, own) > 0);
  }

  return {
    async attempt(known, staleMs) {
      const startedAtMs = clock.monotonicMs();
      const own: Claim = { id, epoch: known.epoch, version: known.version, newest: known.newest };
      const entitled = staleMs <= MOST_STALE_MS;
      if (entitled) await say(own);
      await sleep(GATHER_MS);
      for (;;) {
        const { epoch } = await store.load('leave');
        if (epoch !== '') return 'other';
        const patient = clock.monotonicMs() - startedAtMs < PATIENCE_MS;
        if (entitled && !(patient && othersKnowMore(own, startedAtMs))) {
          return (await make(store, known, clock.now())) ? 'own' : 'none';
        }
        if (!patient) return 'none';
        await sleep(STEP_MS);
      }
    },
    ask: () => say({ id, epoch: '', version: -1, newest: -1 }),
    stop: unsubscribe,
  };
}

/** @returns false when there is something in the store by now */
async function make(store: RegistryStore, known: Known, nowMs: number): Promise<boolean> {
  const { epoch, newest: version, records } = known;
  const after = { epoch, version, records: records.size };
  const audit = [auditLine({ action: 'registry.restore', subject: 'registry', after }, GATEWAY_ACTOR, nowMs)];
  return store.create({ epoch, version, records, audit });
}

function compare(one: Claim, other: Claim): number {
  return one.version - other.version || one.newest - other.newest || (one.id < other.id ? -1 : 1);
}
