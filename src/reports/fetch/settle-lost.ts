/**
 * Stage: a day that the platform answers without rows, or refuses, meets what history knows of it. This is the one place
 * where an empty day is believed or not (`reports/history/forgotten.ts`). History is read only when a day is empty, or refused.
 */

import { StoreUnavailable } from '../../store/port.js';
import type { Gateway } from '../gateway.js';
import { judgeLosses, type LookedDay, type Losses, type Neighbour } from '../history/forgotten.js';
import { fromHistory, type RecalledDay } from '../history/recall-days.js';
import type { EndpointRetention } from '../history/retention.js';
import { dayNumber, daysBetween, isoDay } from '../query/days.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { joinEntries } from '../rows/join-entries.js';
import { type AskFurther, coverRefused } from './cover-refused.js';
import type { Fetch, Fetched, FetchedAnswer, FetchedRefusal } from './fetched.js';

/** Days on either side of an answer that are looked at beside it. */
const NEAR_DAYS = 7;

/** Statuses of a platform that no longer has a range. */
const RANGE_REFUSED: readonly number[] = [400, 422];

/** @returns the answer with the rows of history for days that are not believed to be empty */
export async function settleLost(
  g: Gateway,
  fetch: Fetch,
  fetched: Fetched,
  ask: AskFurther,
): Promise<Fetched> {
  if (fetched.kind === 'refusal' || fetched.days === null) return fetched;
  const said = fetched.days.filter(({ header }) => header.forgotten === undefined);
  const [first] = said;
  if (first?.header.originMs !== null || !g.history.isRecorded(fetch.report)) return fetched;
  // An answer that is visibly not what was asked for tells nothing of empty days.
  if (first.header.flaws !== undefined) return fetched;
  const empty = said.filter(({ header }) => header.rowCount === 0);
  noteRows(g, fetch, said, empty.length > 0);
  if (empty.length === 0) return fetched;
  return withHistory(g, fetch, fetched, async () => {
    const known = await recallAround(g, fetch, empty.map(dateOf));
    const isDoubted = (day: Entry<RowsHeader>) => (known.get(dateOf(day))?.revision.rowCount ?? 0) > 0;
    if (!empty.some(isDoubted)) return fetched;
    const losses = await judgeAll(g, fetch, said, known, ask);
    note(g, fetch, losses, known, first.header.fetchedAt);
    return withRows(g, fetch, fetched, { losses, known });
  });
}

/** @returns an answer in place of a refusal, where history has what the platform no longer answers; else the refusal */
export async function coverRefusal(
  g: Gateway,
  fetch: Fetch,
  refused: FetchedRefusal,
  ask: AskFurther,
): Promise<Fetched> {
  if (!RANGE_REFUSED.includes(refused.refusal.header.status)) return refused;
  if (fetch.mode !== 'days' || !fetch.learns || !g.history.isRecorded(fetch.report)) return refused;
  const { from, to } = refused.range;
  if (from === null || to === null) return refused;
  return withHistory(g, fetch, refused, async () => {
    const all = await recall(g, fetch, daysBetween(from, to));
    const known = new Map([...all].filter(([, day]) => !isAccepted(g, fetch, day)));
    return coverRefused(g, { ...fetch, known, refused, ask });
  });
}

/** While the history is away an answer is passed on as it came. */
async function withHistory(
  { logger }: Gateway,
  { report }: Fetch,
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

/** The greatest age that came with rows. */
function noteRows(
  { retention }: Gateway,
  { report }: Fetch,
  days: readonly Entry<RowsHeader>[],
  exact: boolean,
): void {
  const oldest = days.find(({ header }) => header.rowCount > 0);
  if (oldest !== undefined) retention.sawRows(report.endpoint, ageOf(oldest), oldest.header.fetchedAt, exact);
}

/** Asks for older days where that decides. */
async function judgeAll(
  g: Gateway,
  input: Fetch,
  said: readonly Entry<RowsHeader>[],
  known: Known,
  ask: AskFurther,
): Promise<Losses> {
  const seen = await g.retention.of(input.report.endpoint);
  const losses = judge(g, input, { said, known, seen });
  if (losses.probe === null || !input.learns) return losses;
  // Without its answer nothing is decided.
  const fetched = await ask(losses.probe).catch(() => null);
  const probed = (fetched?.kind === 'answer' ? fetched.days : null) ?? [];
  if (probed.length === 0) return losses;
  noteRows(g, input, probed, true);
  return judge(g, input, { said: [...probed, ...said], known, seen });
}

/** Behind the answer. */
function note(
  { history, retention, background }: Gateway,
  { report, series }: Fetch,
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

function recallAround(g: Gateway, input: Fetch, dates: readonly string[]): Promise<Known> {
  const near = (date: string, days: number) => isoDay((dayNumber(date) as number) + days);
  const [from, to] = [near(dates[0] as string, -NEAR_DAYS), near(dates.at(-1) as string, NEAR_DAYS)];
  return recall(g, input, daysBetween(from, to));
}

function recall(
  { history, learner }: Gateway,
  { report, series }: Fetch,
  dates: readonly string[],
): Promise<Known> {
  return history.recall(series, dates, learner.status(report).generation);
}

function isAccepted(
  { accepted }: Gateway,
  { report }: Fetch,
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

function judge(g: Gateway, input: Fetch, { said, known, seen }: Looked): Losses {
  const { policy, retention } = g;
  const [first] = said as readonly [Entry<RowsHeader>];
  const { restatementDays, emptyMs } = policy.rulesFor(input.report);
  const dates = new Set(said.map(dateOf));
  const days = said.map((entry): LookedDay => {
    const day = known.get(dateOf(entry));
    const { rowCount = 0, lost } = day?.revision ?? {};
    return {
      ...{ date: dateOf(entry), ageDays: ageOf(entry), rows: entry.header.rowCount },
      ...{ knownRows: rowCount, emptyFromMs: lost?.fromMs ?? null },
      accepted: day !== undefined && isAccepted(g, input, day),
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
  { history, learner, policy }: Gateway,
  input: Fetch,
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
