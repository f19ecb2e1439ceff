/** Restores a registry that the store has lost, or adopts another one that replaced it. Reports every such event. */
import type { Logger } from 'pino';
import Type from 'typebox';
import type { Clock } from '../../lib/clock.js';
import { recordForm } from '../../lib/record.js';
import { sleep } from '../../lib/time.js';
import { auditLine, GATEWAY_ACTOR } from '../../telemetry/audit.js';
import {
  RegistryConflict,
  type RegistryRecord,
  type RegistrySnapshot,
  type RegistryStore,
  StoreUnavailable,
} from '../port.js';
import { type CopyState, loadAndMend } from './lost.js';

/** A replica that was out of step for longer before the loss may have missed changes, such as a revocation. */
const MOST_STALE_MS = 5000;
/** How long a replica that may lack changes waits for another one to restore the registry. */
const PATIENCE_MS = 2000;
const STEP_MS = 100;
/** Time for other replicas to notice the loss, and after the restore to add changes that only they know. */
const NOTICE_MS = 300;
const MEND_MS = 300;

/** In an adopted registry: the epoch of the registry that it replaced. */
const ADOPTED_RECORD = 'meta/adopted';
const Adopted = recordForm(Type.Object({ from: Type.String() }));
const MAX_TRIES = 20;

type Records = ReadonlyMap<string, RegistryRecord>;

export interface SuccessionRules {
  /** Why another registry must not be adopted; null if it was restored by an operator. */
  refuse(known: Records, found: Records): string | null;
  /** Records that must be in any other registry, too, such as revocations: id to text. */
  carryOver(known: Records, found: Records): ReadonlyMap<string, string>;
}

/** The store has no registry, or one that must not be adopted. */
export class RegistryLost extends StoreUnavailable {}

/** restored: from memory · adopted: another one replaced it · left: an operator must act */
type LossOutcome = 'restored' | 'adopted' | 'left';

interface RegistryLoss {
  /** ISO time. */
  readonly at: string;
  readonly outcome: LossOutcome;
  /** What happened and what to do, without secrets. */
  readonly message: string;
}

/** @param announce requests a look of all replicas */
export function createSuccession(
  store: RegistryStore,
  announce: () => Promise<void>,
  rules: SuccessionRules,
  clock: Clock,
  logger: Logger,
) {
  const listeners: ((outcome: LossOutcome) => void)[] = [];
  let open: RegistryLoss | null = null;
  let last: RegistryLoss | null = null;
  let recovering: Promise<RegistrySnapshot> | null = null;

  /** Reports an unsettled loss only once. @param facts for the log */
  function report(outcome: LossOutcome, message: string, facts: object): void {
    if (outcome === 'left' && open?.message === message) return;
    last = { at: new Date(clock.now()).toISOString(), outcome, message };
    open = outcome === 'left' ? last : null;
    logger.error({ ...facts, outcome }, message);
    for (const listener of listeners) listener(outcome);
  }

  function leave(why: string, facts: object): never {
    const message = `${why}. ${HOW_TO_RESTORE}`;
    report('left', message, facts);
    throw new RegistryLost(message);
  }

  const load = (known: CopyState) =>
    loadAndMend(known, store, clock, (facts) => report('restored', MENDED, facts));

  async function settle(
    known: CopyState,
    found: RegistrySnapshot,
    staleMs: number,
  ): Promise<RegistrySnapshot> {
    const facts = { epoch: known.epoch, version: known.newest, found: found.epoch };
    if (found.epoch === known.epoch) {
      if (open !== null) report('restored', `${LOST} it is there again`, facts);
      return found;
    }
    if (found.epoch !== '') return adopt(known, found, facts);
    recovering = recover(known, staleMs, facts).finally(() => {
      recovering = null;
    });
    return recovering;
  }

  async function recover(known: CopyState, staleMs: number, facts: object): Promise<RegistrySnapshot> {
    // Otherwise reported already, without a change since: commits do not wait again.
    const isNew = open === null || staleMs <= MOST_STALE_MS;
    const by = isNew ? await restore(known, staleMs, store, announce, clock) : null;
    if (by === null) leave(whyNotRestored(staleMs), facts);
    await load(known);
    // A commit could take the version of a change that only another replica knows, and hide its loss.
    await sleep(MEND_MS);
    const again = await load(known);
    if (again.epoch !== known.epoch) return settle(known, again, staleMs);
    report('restored', `${LOST} it was restored from memory by ${by}`, facts);
    return again;
  }

  /** An operator restored another registry. It is adopted, with the revocations known here. */
  async function adopt(known: CopyState, found: RegistrySnapshot, facts: object): Promise<RegistrySnapshot> {
    const why = rules.refuse(known.records, found.records);
    if (why !== null) leave(`the store has another registry, which was not adopted: ${why}`, facts);
    const snapshot = await carryOver(known, found, store, rules, clock);
    if (snapshot.epoch !== found.epoch) return settle(known, snapshot, Number.POSITIVE_INFINITY);
    report('adopted', ADOPTED, facts);
    return snapshot;
  }

  return {
    get open() {
      return open;
    },
    get last() {
      return last;
    },
    /**
     * @param staleMs how long before a loss this replica was last in step
     * @returns the same registry, with lost changes restored, or another one
     * @throws RegistryLost
     */
    async load(known: CopyState, staleMs: () => number): Promise<RegistrySnapshot> {
      const found = await load(known);
      return await settle(known, found, found.epoch === known.epoch ? 0 : staleMs());
    },
    /** Resolves when no registry is being restored. */
    settled: async (): Promise<void> => void (await recovering?.catch(() => {})),
    onLoss: (listener: (outcome: LossOutcome) => void) => void listeners.push(listener),
  };
}

/**
 * Restores the registry from memory. A replica that may lack changes waits for another one to do so first.
 * @param staleMs how long before the loss this replica was last in step
 * @returns who restored it, or null
 */
async function restore(
  known: CopyState,
  staleMs: number,
  store: RegistryStore,
  announce: () => Promise<void>,
  clock: Clock,
): Promise<string | null> {
  const { epoch, newest: version, records } = known;
  const isThere = async () => (await store.load('leave')).epoch !== '';
  const isFresh = staleMs <= MOST_STALE_MS;
  await announce();
  await sleep(NOTICE_MS);
  const patienceMs = isFresh ? PATIENCE_MS / 2 : PATIENCE_MS;
  const endsAtMs = clock.monotonicMs() + (isFresh && known.isComplete ? 0 : patienceMs);
  while (clock.monotonicMs() < endsAtMs) {
    if (await isThere()) return 'another replica';
    await sleep(STEP_MS);
  }
  const after = { epoch, version, records: records.size };
  const event = { action: 'registry.restore', subject: 'registry', after };
  const audit = [auditLine(event, GATEWAY_ACTOR, clock.now())];
  if (isFresh && (await store.create({ epoch, version, records, audit }))) return 'this replica';
  return (await isThere()) ? 'another replica' : null;
}

/**
 * Writes revocations, and the epoch of the replaced registry, into the new one. Several replicas may do so at once.
 * @returns the registry afterwards; of another epoch if it was replaced meanwhile
 */
async function carryOver(
  known: CopyState,
  found: RegistrySnapshot,
  store: RegistryStore,
  rules: SuccessionRules,
  clock: Clock,
): Promise<RegistrySnapshot> {
  let snapshot = found;
  for (let tries = 1; snapshot.epoch === found.epoch; tries++) {
    const { epoch, records } = snapshot;
    const carried = rules.carryOver(known.records, records);
    if (carried.size === 0 && adoptedFrom(records) === known.epoch) break;
    const after = { epoch, records: records.size, carriedOver: [...carried.keys()].sort() };
    const before = { epoch: known.epoch, records: known.records.size };
    const event = { action: 'registry.adopt', subject: 'registry', before, after };
    const writes = new Map([...carried, [ADOPTED_RECORD, JSON.stringify({ from: known.epoch })]]);
    const expect = new Map([...writes.keys()].map((id) => [id, records.get(id)?.revision ?? 0]));
    const audit = [auditLine(event, GATEWAY_ACTOR, clock.now())];
    try {
      await store.commit({ epoch, writes, expect, audit });
    } catch (error) {
      if (!(error instanceof RegistryConflict) || tries === MAX_TRIES) throw error;
    }
    snapshot = await store.load('leave');
  }
  return snapshot;
}

function adoptedFrom(records: Records): string | null {
  const text = records.get(ADOPTED_RECORD)?.value;
  return text === undefined ? null : Adopted.read(text, ADOPTED_RECORD).from;
}

function whyNotRestored(staleMs: number): string {
  return staleMs > MOST_STALE_MS
    ? `the store has no registry; it was not restored, because this replica was out of sync for ${Math.round(staleMs / 1000)} s before and may have missed changes`
    : 'the store has no readable registry; it was not restored';
}

const LOST = 'the store had lost the registry;';
const MENDED =
  'the store has lost acknowledged changes; they were restored from memory. Other data of that time may be lost: charges of writes, idempotency records, pins, history, sign-outs';
const ADOPTED = 'the store has another registry; it was adopted, with the revocations known here';
const HOW_TO_RESTORE =
  'Teams, keys and token in memory stay in use for auth.maxStaleSeconds. To restore from this replica: "dsp-gateway registry export --out kept.json", then "dsp-gateway registry import kept.json --replace"; to restore a backup: "dsp-gateway registry import backup.json --replace". Add --yes in scripts';
