/**
 * Stage: a day that the platform answers without rows, or refuses, meets what history knows of it. This is the one place
 * where an empty day is believed or not (`history/forgotten.ts`). History is read only when a day is empty, or refused.
 */
import type { Logger } from 'pino';
import type { Learner } from '../divisibility/learn.js';
import type { AcceptedEmpty } from '../history/accepted-empty.js';
import { judgeLosses, type LookedDay, type Losses, type Neighbour } from '../history/forgotten.js';
import { fromHistory, type RecalledDay } from '../history/recall-days.js';
import type { EndpointRetention } from '../history/retention.js';
import { dayNumber, daysBetween, isoDay } from '../report/days.js';
import type { Entry, RowsHeader } from '../report/entry.js';
import { joinEntries } from '../report/join-entries.js';
import { StoreUnavailable } from '../store/port.js';
import { type AskFurther, type CoverOptions, coverRefused } from './cover-refused.js';
import type { FetchDaysInput } from './fetch-result.js';
import type { Fetched, FetchedAnswer, FetchedRefusal } from './fetched.js';

export interface SettleLost {
  /** @returns the answer with the rows of history for days that are not believed to be empty */
  settle(input: FetchDaysInput, fetched: Fetched, ask: AskFurther): Promise<Fetched>;
  /** @returns an answer in the place of a refusal, where history has what the platform no longer answers; else the refusal */
  cover(input: FetchDaysInput, refused: FetchedRefusal, ask: AskFurther): Promise<Fetched>;
}

export interface SettleLostOptions extends CoverOptions {
  readonly accepted: Pick<AcceptedEmpty, 'isAccepted'>;
  readonly learner: Pick<Learner, 'status'>;
  readonly logger: Logger;
}

/** Days on either side of an answer that are looked at beside it. */
const NEAR_DAYS = 7;

/** Statuses of a platform that no longer has a range. */
const RANGE_REFUSED: readonly number[] = [400, 422];

export function createSettleLost(options: SettleLostOptions): SettleLost {
  const { history, logger } = options;

  /** Without the history an answer is passed on as it came. */
  async function withHistory(
    { report }: FetchDaysInput,
    came: Fetched,
    work: () => Promise<Fetched>,
  ): Promise<Fetched> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      logger.warn(
        { err: error, endpoint: report.endpoint },
        'the history could not be asked about days that came without rows, or were refused: they are given as they came',
      );
      return came;
    }
  }

  return {
    async settle(input, fetched, ask) {
      if (fetched.kind === 'refusal' || fetched.days === null) return fetched;
      const said = fetched.days.filter(({ header }) => header.forgotten === undefined);
      const [first] = said;
      if (first?.header.originMs !== null || !history.isRecorded(input.report)) return fetched;
      // What is visibly not what was asked for tells nothing of days that are empty.
      if (first.header.flaws !== undefined) return fetched;
      const empty = said.filter(({ header }) => header.rowCount === 0);
      noteRows(options, input, said, empty.length > 0);
      if (empty.length === 0) return fetched;
      return withHistory(input, fetched, async () => {
        const known = await recallAround(options, input, empty.map(dateOf));
        const isDoubted = (day: Entry<RowsHeader>) => (known.get(dateOf(day))?.revision.rowCount ?? 0) > 0;
        if (!empty.some(isDoubted)) return fetched;
        const losses = await judgeAll(options, input, said, known, ask);
        note(options, input, losses, known, first.header.fetchedAt);
        return withRows(options, input, fetched, { losses, known });
      });
    },
    async cover(input, refused, ask) {
      if (!RANGE_REFUSED.includes(refused.refusal.header.status)) return refused;
      if (input.mode !== 'days' || !input.learns || !history.isRecorded(input.report)) return refused;
      const { from, to } = refused.range;
      if (from === null || to === null) return refused;
      return withHistory(input, refused, async () => {
        const all = await recall(options, input, daysBetween(from, to));
        const known = new Map([...all].filter(([, day]) => !isAccepted(options, input, day)));
        return coverRefused(options, { ...input, known, refused, ask });
      });
    },
  };
}

/** The greatest age that came with rows. */
function noteRows(
  { retention }: SettleLostOptions,
  { report }: FetchDaysInput,
  days: readonly Entry<RowsHeader>[],
  exact: boolean,
): void {
  const oldest = days.find(({ header }) => header.rowCount > 0);
  if (oldest !== undefined) retention.sawRows(report.endpoint, ageOf(oldest), oldest.header.fetchedAt, exact);
}

/** Asks for older days where that decides. */
async function judgeAll(
  options: SettleLostOptions,
  input: FetchDaysInput,
  said: readonly Entry<RowsHeader>[],
  known: Known,
  ask: AskFurther,
): Promise<Losses> {
  const seen = await options.retention.of(input.report.endpoint);
  const losses = judge(options, input, { said, known, seen });
  if (losses.probe === null || !input.learns) return losses;
  // Without its answer nothing is decided.
  const fetched = await ask(losses.probe).catch(() => null);
  const probed = (fetched?.kind === 'answer' ? fetched.days : null) ?? [];
  if (probed.length === 0) return losses;
  noteRows(options, input, probed, true);
  return judge(options, input, { said: [...probed, ...said], known, seen });
}

/** Behind the answer. */
function note(
  { history, retention, background }: SettleLostOptions,
  { report, series }: FetchDaysInput,
  { days, edgeDays }: Losses,
  known: Known,
  atMs: number,
): void {
  const { endpoint } = report;
  const kept = [...days].flatMap(([date, { kind }]) => (kind === 'kept' ? (known.get(date) ?? []) : []));
  background(history.markLost(series, kept, { fromMs: atMs, endpoint }));
  if (edgeDays === null) return;
  const since = [...days.values()].map(({ sinceMs }) => sinceMs);
  retention.forgot(endpoint, { ageDays: edgeDays, refusedDays: null }, Math.min(...since), atMs);
}

type Known = ReadonlyMap<string, RecalledDay>;

function recallAround(
  options: SettleLostOptions,
  input: FetchDaysInput,
  dates: readonly string[],
): Promise<Known> {
  const near = (date: string, days: number) => isoDay((dayNumber(date) as number) + days);
  const [from, to] = [near(dates[0] as string, -NEAR_DAYS), near(dates.at(-1) as string, NEAR_DAYS)];
  return recall(options, input, daysBetween(from, to));
}

function recall(
  { history, learner }: SettleLostOptions,
  { report, series }: FetchDaysInput,
  dates: readonly string[],
): Promise<Known> {
  return history.recall(series, dates, learner.status(report).generation);
}

function isAccepted(
  { accepted }: SettleLostOptions,
  { report }: FetchDaysInput,
  { asked, date, revision }: RecalledDay,
): boolean {
  return accepted.isAccepted(asked, report.endpoint, date, revision.confirmedUntil);
}

interface Looked {
  /** What the platform answered. */
  readonly said: readonly Entry<RowsHeader>[];
  readonly known: Known;
  readonly seen: EndpointRetention;
}

function judge(options: SettleLostOptions, input: FetchDaysInput, { said, known, seen }: Looked): Losses {
  const { policy, retention } = options;
  const [first] = said as readonly [Entry<RowsHeader>];
  const { restatementDays, emptyMs } = policy.rulesFor(input.report);
  const dates = new Set(said.map(dateOf));
  const days = said.map((entry): LookedDay => {
    const day = known.get(dateOf(entry));
    const { rowCount = 0, lost } = day?.revision ?? {};
    return {
      ...{ date: dateOf(entry), ageDays: ageOf(entry), rows: entry.header.rowCount },
      ...{ knownRows: rowCount, emptyFromMs: lost?.fromMs ?? null },
      accepted: day !== undefined && isAccepted(options, input, day),
    };
  });
  const neighbours = [...known.values()].flatMap(({ date, revision }): Neighbour[] => {
    if (revision.rowCount === 0 || dates.has(date)) return [];
    const ageDays = first.header.fetchedOn - (dayNumber(date) as number);
    return [{ date, ageDays, emptyFromMs: revision.lost?.fromMs ?? null, seenMs: revision.confirmedUntil }];
  });
  return judgeLosses(days, neighbours, {
    ...{ nowMs: first.header.fetchedAt, retentionDays: retention.declaredDays, restatementDays, emptyMs },
    reachSince: seen.reachSince,
  });
}

/** Each day that is kept gets its rows from history; one that is believed is confirmed. */
async function withRows(
  { history, learner, policy }: SettleLostOptions,
  input: FetchDaysInput,
  fetched: FetchedAnswer,
  { losses, known }: { readonly losses: Losses; readonly known: Known },
): Promise<FetchedAnswer> {
  const kept = [...losses.days].flatMap(([date, loss]) =>
    loss.kind === 'kept' ? [known.get(date) as RecalledDay] : [],
  );
  const rows = await history.recallRows(input.series, kept);
  const recalled = new Map(kept.map(({ date }, at) => [date, rows[at] ?? null]));
  const days = (fetched.days as readonly Entry<RowsHeader>[]).map((day) => {
    const loss = losses.days.get(dateOf(day));
    if (loss === undefined) return day;
    if (loss.kind === 'believed') return confirmedEmpty(day, loss.sinceMs);
    const past = recalled.get(dateOf(day)) ?? null;
    return past === null ? day : fromHistory(day.header, past, known.get(dateOf(day)) as RecalledDay, loss);
  });
  const isGiven = input.mode === 'whole' && fetched.rows !== null && recalled.size > 0;
  // Of a kind that is not proven the platform's own answer is given.
  if (!isGiven || learner.status(input.report).state !== 'proven') return { ...fetched, days };
  const { header, body } = joinEntries(days);
  const againMs = policy.rulesFor(input.report).emptyMs;
  const forgotten = header.forgotten && { ...header.forgotten, againMs };
  return { ...fetched, days, rows: { body, header: { ...header, ...(forgotten && { forgotten }) } } };
}

function confirmedEmpty({ header, body }: Entry<RowsHeader>, sinceMs: number): Entry<RowsHeader> {
  return { body, header: { ...header, emptyTail: 'confirmed', emptySince: [[dateOf({ header }), sinceMs]] } };
}

const dateOf = ({ header }: Pick<Entry<RowsHeader>, 'header'>) => header.lastDay as string;

const ageOf = ({ header }: Entry<RowsHeader>) =>
  header.fetchedOn - (dayNumber(header.lastDay as string) as number);
