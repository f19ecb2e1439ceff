/**
 * Learns whether reports of a kind (equal except for dates and accounts) are divisible by day, and keeps checking. Results are
 * registry records, shared by replicas. A generation is a version of a result: a new one invalidates split and joined data.
 */
import type { Logger } from 'pino';
import { randomBuffer } from '../../lib/chance.js';
import { createRecordBook } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import type { Report } from '../query/canonicalize.js';
import { dayNumber } from '../query/days.js';
import type { ReportSeries } from '../query/platform-call.js';
import type { ReportPolicy } from '../report-policy.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { compareDays, type DayPair, type DaysOf, type FetchRange, settleDisputes } from './compare-days.js';
import {
  askAsWhole,
  beginProof,
  currentState,
  Divisibility,
  type DivisibilityState,
  divisibilityId,
  endProof,
  isProven,
  mayProve,
  noteRestatement,
  type ProofResult,
  refute,
  startLearning,
  WHOLE_MS,
  wholeUntil,
} from './state.js';

const PREFIX = 'divisible/';
/** Generation of kinds without a record. */
const BASE_RECORD = 'divisible-base';
/** Initial generation of all replicas. */
const FIRST_GENERATION = 'first';
/** Limit, so that an application with ever new parameters does not fill the registry. */
export const MAX_KINDS = 500;
/** Evicted in batches, because evicting a refuted kind changes the base generation and voids other data. */
const FORGOTTEN_AT_ONCE = 25;

type Kinds = ReturnType<typeof createKinds>;

export function createKinds(registry: Registry) {
  const book = createRecordBook<Divisibility>(registry, {
    prefix: PREFIX,
    max: MAX_KINDS,
    read: Divisibility.read,
    forget: (others) => surplus(others.map(([record, { revision }]) => ({ record, revision }))),
  });
  const base = () => registry.get(BASE_RECORD)?.value ?? FIRST_GENERATION;
  const stamps = new Map<string, { readonly generation: string; readonly stamp: string }>();
  const forget = () => stamps.clear();
  registry.onChange(PREFIX, forget);
  registry.onChange(BASE_RECORD, forget);

  function stampsOf(id: string) {
    const known = stamps.get(id);
    if (known !== undefined) return known;
    const value = book.get(id);
    const generation = value?.generation ?? base();
    const made = { generation, stamp: value !== null && isProven(value) ? `${generation}+` : generation };
    if (stamps.size > MAX_KINDS) forget();
    stamps.set(id, made);
    return made;
  }

  /**
   * Kinds to evict beyond the limit: cheapest to relearn first, then oldest. An evicted kind uses the base generation again,
   * under which it may have been refuted. So evicting a kind with another generation renews the base generation.
   */
  function surplus(
    others: readonly { readonly record: string; readonly revision: number }[],
  ): [string, string | null, number?][] {
    if (others.length + 1 <= MAX_KINDS) return [];
    const forgotten = others
      .map((one) => ({ ...one, value: book.get(one.record.slice(PREFIX.length)) }))
      .sort((a, b) => worth(a.value) - worth(b.value) || a.revision - b.revision)
      .slice(0, others.length + 1 - MAX_KINDS + FORGOTTEN_AT_ONCE);
    const deleted = forgotten.map(({ record }): [string, null] => [record, null]);
    if (forgotten.every(({ value }) => value?.generation === base())) return deleted;
    return [...deleted, [BASE_RECORD, newGeneration(), registry.get(BASE_RECORD)?.revision ?? 0]];
  }

  return {
    get: book.get,
    list: book.list,
    generationOf: (id: string): string => stampsOf(id).generation,
    /** Changes whenever answers are built differently: generation, and whether it is proven. */
    stampOf: (id: string): string => stampsOf(id).stamp,
    /** Changes whenever that of any kind does. */
    stampOfAll: (): string =>
      JSON.stringify([base(), ...book.list().map(([id]) => [id, stampsOf(id).stamp])]),
    /** @returns the kind before and after; `step` may be called more than once */
    async change(id: string, step: (value: Divisibility) => Divisibility) {
      let before = startLearning(base());
      let after = before;
      await book.change(id, (known) => {
        before = known ?? startLearning(base());
        after = step(before);
        return after === before ? null : after;
      });
      return { before, after };
    },
  };
}

/** Rank for eviction: effort to relearn. */
function worth(value: Divisibility | null): number {
  return value === null ? 0 : ['unknown', 'proving', 'refuted', 'proven'].indexOf(value.state);
}

function newGeneration(): string {
  return randomBuffer(6).toString('hex');
}

export type DivisibilityEvent = 'proving' | 'unknown' | 'proven' | 'refuted' | 'restated' | 'whole';

export interface DivisibilityStatus {
  readonly id: string;
  readonly state: DivisibilityState;
  readonly pinned: boolean;
  readonly generation: string;
  /** Until then the kind is fetched as a whole, because an answer could not be split. */
  readonly wholeUntil: number | null;
}

export type Learner = ReturnType<typeof createLearner>;

/** Fetched days of a report, to be compared with the known ones. */
export interface Comparison extends DaysOf {
  readonly fresh: readonly Entry<RowsHeader>[];
}

export interface ComparisonResult {
  /** same: consistent · refuted: numbers depend on the range · changed: restated, or undecided */
  readonly verdict: 'same' | 'refuted' | 'changed';
  /** Days with equal rows in answers for different periods. */
  readonly agreed: readonly DayPair[];
}

interface LearnerOptions {
  readonly kinds: Kinds;
  readonly policy: ReportPolicy;
  readonly now: () => number;
  readonly logger: Logger;
  readonly onEvent: (event: DivisibilityEvent) => void;
  /** Called with days of a proven kind whose numbers depend on the requested range. */
  readonly onDependent: (what: ReportSeries, dates: readonly string[]) => void;
}

const NOTHING: ComparisonResult = { verdict: 'same', agreed: [] };

interface LearnerState extends LearnerOptions {
  /** Until when kinds are fetched as a whole, by id, while the registry is told: the next request of this process must know. */
  readonly toldNow: Map<string, number>;
}

export function createLearner(given: LearnerOptions) {
  const options = { ...given, toldNow: new Map<string, number>() };
  return {
    status: (report: Report): DivisibilityStatus => statusOf(options, report),
    /** Of a kind by its id and the endpoint of its reports: null unless it is proven. */
    provenGeneration(id: string, endpoint: string): string | null {
      const { state, generation } = statusOfKind(options, id, endpoint);
      return state === 'proven' ? generation : null;
    },
    /** Changes whenever a kind is proven, or its generation changes. */
    stampOfAll: (): string => options.kinds.stampOfAll(),
    /** A changed stamp voids finished answers. */
    stampOf: (report: Report): string => markOf(options, idOf(options, report), report.endpoint, 'stampOf'),
    /** Compares fetched days with the known ones. */
    compare: (news: Comparison, fetch: FetchRange): Promise<ComparisonResult> =>
      compare(options, news, fetch),
    /** An answer could not be split: fetches the kind as a whole for a day. */
    couldNotSplit: (report: Report, reason: string): Promise<void> => couldNotSplit(options, report, reason),
    /** For people: all kinds with their current state. */
    list: (): readonly (readonly [id: string, known: Divisibility])[] =>
      options.kinds.list().map(([id, known]) => [id, { ...known, state: stateOf(known, options.now()) }]),
    /** For people. */
    show: (report: Report): Divisibility | null => options.kinds.get(idOf(options, report)),
    /** Whether a proof of its kind may begin now. @param isAsked for by a person */
    mayProve(report: Report, isAsked = false): boolean {
      if (statusOf(options, report).pinned) return false;
      return mayProve(options.kinds.get(idOf(options, report)), options.now(), isAsked);
    },
    /** @returns the calls that the proof may make; 0: it may not begin, or another replica has begun it */
    async beginProof(report: Report, isAsked = false): Promise<number> {
      let isMine = false;
      const { after } = await change(options, report, (value) => {
        const next = beginProof(value, options.now(), isAsked);
        isMine = next !== value;
        return next;
      });
      return isMine ? (after.spent?.reserved ?? 0) : 0;
    },
    async endProof(report: Report, result: ProofResult): Promise<void> {
      await change(options, report, (value) => endProof(value, result, newGeneration(), options.now()));
    },
    /** The platform changed final days while they were compared. */
    noteRestated: (report: Report, days: readonly DayPair[]) => noteRestated(options, report, days),
  };
}

function statusOf(options: LearnerState, report: Report): DivisibilityStatus {
  return statusOfKind(options, idOf(options, report), report.endpoint);
}

function statusOfKind(options: LearnerState, id: string, endpoint: string): DivisibilityStatus {
  const divisible = options.policy.endpoints.get(endpoint)?.divisible;
  const record = options.kinds.get(id);
  const isAuto = divisible === 'auto';
  return {
    id,
    state: isAuto ? stateOf(record, options.now()) : divisible === 'always' ? 'proven' : 'refuted',
    pinned: !isAuto,
    generation: markOf(options, id, endpoint, 'generationOf'),
    wholeUntil: wholeUntil(record, options.now()) ?? options.toldNow.get(id) ?? null,
  };
}

function stateOf(record: Divisibility | null, nowMs: number): DivisibilityState {
  return record === null ? 'unknown' : currentState(record, nowMs);
}

function markOf(
  options: LearnerOptions,
  id: string,
  endpoint: string,
  mark: 'generationOf' | 'stampOf',
): string {
  const divisible = options.policy.endpoints.get(endpoint)?.divisible;
  if (divisible === 'auto') return options.kinds[mark](id);
  return divisible === 'always' ? 'pinned' : 'never';
}

async function compare(
  options: LearnerState,
  { report, series, fresh, known }: Comparison,
  fetch: FetchRange,
): Promise<ComparisonResult> {
  const { pinned, generation } = statusOf(options, report);
  if (pinned) return NOTHING;
  const rules = options.policy.rulesFor(report);
  const { disputes, agreed } = compareDays({ fresh, known, generation, rules });
  if (disputes.length === 0) return { verdict: 'same', agreed };
  return { verdict: await settle(options, { report, series }, disputes, fetch), agreed: [] };
}

async function settle(
  options: LearnerState,
  { report, series }: ReportSeries,
  disputes: readonly DayPair[],
  fetch: FetchRange,
): Promise<ComparisonResult['verdict']> {
  const verdict = await settleDisputes(disputes, fetch);
  if (verdict === 'restated') await noteRestated(options, report, disputes);
  if (verdict !== 'dependent') return 'changed';
  const dates = disputes.map(({ date }) => date);
  const { id, state } = statusOf(options, report);
  // Before the proof, whole answers were served.
  if (state === 'proven') options.onDependent({ report, series }, dates);
  await change(options, report, (value) =>
    refute(value, newGeneration(), refutedFor(disputes), options.now()),
  );
  options.logger.error(
    { kind: id, date: dates[0], days: dates.length },
    'the numbers of a day depend on the requested period: reports of this kind cannot be split by day; voided their split and joined data, and fetching them as a whole for a day',
  );
  return 'refuted';
}

function refutedFor(disputes: readonly DayPair[]): string {
  const dates = disputes.slice(0, SHOWN_DATES).map(({ date }) => date);
  return `Two answers for different periods had different rows for ${dates.join(', ')}, and had them again when they were repeated.`;
}

async function noteRestated(
  options: LearnerOptions,
  report: Report,
  disputes: readonly DayPair[],
): Promise<void> {
  const ages = disputes.map(({ date, newer }) => newer.header.fetchedOn - (dayNumber(date) as number));
  await change(options, report, (value) => ages.reduce(noteRestatement, value));
  for (const _ of ages) options.onEvent('restated');
  options.logger.warn(
    {
      dates: disputes.slice(0, SHOWN_DATES).map(({ date }) => date),
      days: ages.length,
      ageDays: Math.max(...ages),
      restatementDays: options.policy.rulesFor(report).restatementDays,
    },
    'the platform restated final days; consider a longer report.restatementDays',
  );
}

async function change(
  options: LearnerOptions,
  report: Report,
  step: (value: Divisibility) => Divisibility,
): ReturnType<Kinds['change']> {
  const id = idOf(options, report);
  const changed = await options.kinds.change(id, (value) => {
    const next = step(value);
    return next === value ? value : { ...next, about: aboutOf(report) };
  });
  const { state } = changed.after;
  if (state !== changed.before.state) {
    options.onEvent(state);
    options.logger.info({ kind: id, state }, 'whether reports of a kind are cached by day changed');
  }
  return changed;
}

async function couldNotSplit(options: LearnerState, report: Report, reason: string): Promise<void> {
  const { id, wholeUntil: known } = statusOf(options, report);
  if (known !== null) return;
  options.toldNow.set(id, options.now() + WHOLE_MS);
  await change(options, report, (value) =>
    wholeUntil(value, options.now()) === null ? askAsWhole(value, options.now()) : value,
  ).finally(() => options.toldNow.delete(id));
  options.onEvent('whole');
  options.logger.warn(
    { kind: id, endpoint: report.endpoint, reason },
    'an answer could not be split by day: fetching reports of this kind as a whole for a day',
  );
}

function aboutOf({ endpoint, split, spentBased, passedOn }: Report): NonNullable<Divisibility['about']> {
  return { endpoint, split, spentBased, passedOn: passedOn.map(({ name }) => name) };
}

function idOf({ policy }: LearnerOptions, report: Report): string {
  return divisibilityId(report, policy.accountFields);
}

const SHOWN_DATES = 10;
