/**
 * What becomes of a replica's copy when the store holds no registry any more, or another one. Nothing is thrown away
 * before something takes its place, and every such event is told.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import { randomId } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { sleep } from '../../lib/time.js';
import { auditLine, GATEWAY_ACTOR } from '../../telemetry/audit.js';
import {
  type Bus,
  RegistryConflict,
  type RegistryRecord,
  type RegistrySnapshot,
  type RegistryStore,
  StoreUnavailable,
} from '../port.js';
import { type Known, loadAndMend } from './lost.js';

// Puts a registry that is gone from the store back from memory: by the replica that knows most, and only where there
// is none. All replicas that notice say how much they know, wait a moment for the others, and the one that knows most makes
// it. A replica that knows something else puts that back afterwards, see lost.ts.

const CHANNEL = 'registry-lost';
/** Time in which replicas say how much they know. */
const GATHER_MS = 300;
const STEP_MS = 100;
/** How long a replica that knows more is waited for; it may have died meanwhile. */
const PATIENCE_MS = 2000;
/** A replica that was out of step for longer before the loss may have missed changes, a revocation among them. */
const MOST_STALE_MS = 5000;

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
function createVote(store: RegistryStore, bus: Bus, clock: Clock, logger: Logger, onGone: () => void) {
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

/** Says in an adopted registry which one it took the place of. */
const ADOPTED_RECORD = 'meta/adopted';
const Adopted = recordForm(Type.Object({ from: Type.String() }));
const MAX_TRIES = 20;

type Records = ReadonlyMap<string, RegistryRecord>;

/** What the registry's users know of its records. */
export interface SuccessionRules {
  /** Why another registry is not one that somebody restored; null when it is. */
  refuse(known: Records, found: Records): string | null;
  /** What of the one known holds in any other too, such as revocations: id to text. */
  carryOver(known: Records, found: Records): ReadonlyMap<string, string>;
}

/** The store has no registry, or one that does not take the place of the one known. */
export class RegistryLost extends StoreUnavailable {}

/** restored: it was put back from memory · adopted: another one took its place · left: somebody has to act */
type LossOutcome = 'restored' | 'adopted' | 'left';

/** What is wrong with the registry in the store, or was. */
interface RegistryLoss {
  /** ISO time. */
  readonly at: string;
  readonly outcome: LossOutcome;
  /** What happened and what to do, for people; holds no secret. */
  readonly message: string;
}

export type Succession = ReturnType<typeof createSuccession>;

/** @param onGone called when another replica says that the registry is gone */
export function createSuccession(
  store: RegistryStore,
  bus: Bus,
  rules: SuccessionRules,
  clock: Clock,
  logger: Logger,
  onGone: () => void,
) {
  const vote = createVote(store, bus, clock, logger, onGone);
  const listeners: ((outcome: LossOutcome) => void)[] = [];
  let open: RegistryLoss | null = null;
  let last: RegistryLoss | null = null;

  /** What goes on being wrong is told once. @param facts for the line of the log */
  function tell(outcome: LossOutcome, message: string, facts: object): void {
    if (outcome === 'left' && open?.message === message) return;
    last = { at: new Date(clock.now()).toISOString(), outcome, message };
    open = outcome === 'left' ? last : null;
    logger.error({ ...facts, outcome }, message);
    for (const listener of listeners) listener(outcome);
  }

  function leave(why: string, facts: object): never {
    const message = `${why}. ${HOW_TO_RESTORE}`;
    tell('left', message, facts);
    throw new RegistryLost(message);
  }

  const load = (known: Known) => loadAndMend(known, store, clock, (facts) => tell('restored', MENDED, facts));

  async function settle(known: Known, found: RegistrySnapshot, staleMs: number): Promise<RegistrySnapshot> {
    const facts = { epoch: known.epoch, version: known.newest, found: found.epoch };
    if (found.epoch === known.epoch) {
      if (open !== null) tell('restored', `${LOST} it is there again`, facts);
      return found;
    }
    if (found.epoch !== '') return adopt(known, found, facts);
    // Told already, and nothing has changed since: a commit need not wait for that again.
    const outcome = open === null || staleMs <= MOST_STALE_MS ? await vote.putBack(known, staleMs) : 'none';
    if (outcome === 'none') leave(whyNotPutBack(staleMs), facts);
    const again = await load(known);
    if (again.epoch !== known.epoch) return settle(known, again, staleMs);
    tell('restored', `${LOST} it was put back from memory, by ${BY[outcome]}`, facts);
    return again;
  }

  /** Somebody restored another registry on purpose: it counts, but for what must not be undone by that. */
  async function adopt(known: Known, found: RegistrySnapshot, facts: object): Promise<RegistrySnapshot> {
    const why = rules.refuse(known.records, found.records);
    if (why !== null) leave(`the store holds another registry, which was not taken over: ${why}`, facts);
    const snapshot = await carryOver(known, found, store, rules, clock);
    if (snapshot.epoch !== found.epoch) return settle(known, snapshot, Number.POSITIVE_INFINITY);
    tell('adopted', ADOPTED, facts);
    return snapshot;
  }

  return {
    /** What is wrong with the registry in the store; null while it is the one known here. */
    get open() {
      return open;
    },
    /** The last time the store had lost it, mended or not. */
    get last() {
      return last;
    },
    /**
     * @param staleMs how long before a loss this replica was last in step
     * @returns what takes the place of what is known: the same registry, with all that is known put back, or another
     * @throws RegistryLost
     */
    async load(known: Known, staleMs: () => number): Promise<RegistrySnapshot> {
      const found = await load(known);
      return await settle(known, found, found.epoch === known.epoch ? 0 : staleMs());
    },
    onLoss: (listener: (outcome: LossOutcome) => void) => void listeners.push(listener),
    /** Tells replicas that live, if any, that a registry is missing. */
    ask: vote.ask,
    stop: vote.stop,
  };
}

/**
 * Writes into the registry found what holds in any, and where it came from; several replicas may be at it at once.
 * @returns the registry afterwards; of another epoch when it was replaced meanwhile
 */
async function carryOver(
  known: Known,
  found: RegistrySnapshot,
  store: RegistryStore,
  rules: SuccessionRules,
  clock: Clock,
): Promise<RegistrySnapshot> {
  let snapshot = found;
  for (let tries = 1; snapshot.epoch === found.epoch; tries++) {
    const carried = rules.carryOver(known.records, snapshot.records);
    if (carried.size === 0 && adoptedFrom(snapshot.records) === known.epoch) break;
    try {
      await store.commit(adoption(known, snapshot, carried, clock.now()));
    } catch (error) {
      if (!(error instanceof RegistryConflict) || tries === MAX_TRIES) throw error;
    }
    snapshot = await store.load('leave');
  }
  return snapshot;
}

function adoption(
  known: Known,
  { epoch, records }: RegistrySnapshot,
  carried: ReadonlyMap<string, string>,
  nowMs: number,
) {
  const after = { epoch, records: records.size, carriedOver: [...carried.keys()].sort() };
  const before = { epoch: known.epoch, records: known.records.size };
  const event = { action: 'registry.adopt', subject: 'registry', before, after };
  const writes = new Map([...carried, [ADOPTED_RECORD, JSON.stringify({ from: known.epoch })]]);
  return {
    epoch,
    writes,
    expect: new Map([...writes.keys()].map((id) => [id, records.get(id)?.revision ?? 0])),
    audit: [auditLine(event, GATEWAY_ACTOR, nowMs)],
  };
}

function adoptedFrom(records: Records): string | null {
  const text = records.get(ADOPTED_RECORD)?.value;
  return text === undefined ? null : Adopted.read(text, ADOPTED_RECORD).from;
}

function whyNotPutBack(staleMs: number): string {
  return staleMs > MOST_STALE_MS
    ? `the store holds no registry; it was not put back, for this replica was out of step for ${Math.round(staleMs / 1000)} s before and may have missed changes`
    : 'the store holds no registry that could be read; it was not put back';
}

const LOST = 'the store had lost the registry;';
const BY = { own: 'this replica', other: 'another replica' } as const;
const MENDED =
  'the store has lost changes that it had acknowledged; they were put back from memory. What else it took at that time may be lost: charges of writes, answers to idempotency keys, pins, history, sign-outs';
const ADOPTED =
  'the store holds another registry than before; it was taken over, with the revocations known here: teams, keys and token are now those of that one';
const HOW_TO_RESTORE =
  'Teams, keys and token known in memory go on being used for auth.maxStaleSeconds. To restore what this replica knows: "dsp-gateway registry export --out kept.json", then "dsp-gateway registry import kept.json --replace"; to restore a backup: "dsp-gateway registry import backup.json --replace". Add --yes where nobody can be asked, as in a script';
