/**
 * Compares days that the platform returns without rows, or refuses, with history. The only place that decides whether an empty
 * day is accepted (by `reports/history/forgotten.ts`). History is read only for such days.
 */
import { whenAway } from '../../store/port.js';
import type { Gateway } from '../gateway.js';
import {
  type AnsweredDay,
  type EndpointRetention,
  judgeLosses,
  type Losses,
  type Neighbour,
  RANGE_REFUSED,
} from '../history/forgotten.js';
import { fromHistory, type RecalledDay } from '../history/history.js';
import { dayNumber, daysBetween, isoDay } from '../query/days.js';
import type { Period } from '../query/period.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { FORGOTTEN_MS, type Forgotten } from '../rows/freshness.js';
import { joinEntries } from '../rows/join-entries.js';
import type { Fetch, Fetched, FetchedAnswer, FetchedRefusal } from './fetched.js';

// For a refused range, older days are taken from history, and the others requested. The first day that the platform answers is
// known, or found by halving. The reason of a refusal may be the length of the range, or one day: so the oldest day is requested
// alone, and the one before the youngest refused day.

/** Requests another range of the same report. */
type AskFurther = (range: Period) => Promise<Fetched>;

/** Days in history by date. */
type Known = ReadonlyMap<string, RecalledDay>;

interface Refused extends Omit<Fetch, 'known'> {
  readonly refused: FetchedRefusal;
  readonly known: Known;
  readonly ask: AskFurther;
}

const DAY_MS = 86_400_000;

/** @returns the refusal if history lacks a day that the platform does not answer */
async function answerFromHistory(g: Gateway, what: Refused): Promise<Fetched> {
  const { refused, known, report } = what;
  const { fetchedOn, fetchedAt } = refused.refusal.header;
  const dates = daysBetween(refused.range.from as string, refused.range.to as string);
  const ageAt = (at: number) => fetchedOn - (dayNumber(dates[at] as string) as number);
  const countUntil = (isOver: (at: number) => boolean) => {
    const first = dates.findIndex((_date, at) => isOver(at));
    return first === -1 ? dates.length : first;
  };
  const { restatementDays } = g.policy.rulesFor(report);
  // Provisional days are within retention: their refusal has another reason.
  const last = countUntil((at) => !known.has(dates[at] as string) || ageAt(at) <= restatementDays);
  if (last === 0) return refused;
  const { edgeDays, refusedSince } = await g.retention.of(report.endpoint);
  const isProven = ageAt(0) <= refusedSince(fetchedAt - DAY_MS);
  if (!isProven && dates.length > 1 && !(await isGone(g, what, dates[0] as string))) return refused;
  const edge = edgeDays === null ? 0 : countUntil((at) => ageAt(at) < edgeDays);
  const hasRows = async (date: string) => (await rowsOf(g, what, date)) > 0;
  const found = await findEdge(what, dates, { last, edge, isProven, hasRows });
  if (found === null) return refused;
  const refusedDays = isProven ? null : ageAt(0);
  g.retention.noteForgotten(
    report.endpoint,
    { ageDays: ageAt(found.at - 1), refusedDays },
    fetchedAt,
    fetchedAt,
  );
  const old = dates.slice(0, found.at).map((date) => known.get(date) as RecalledDay);
  const rows = await g.history.recallRows(what.series, old);
  if (rows.includes(null)) return refused;
  const lost = { fromMs: fetchedAt, endpoint: report.endpoint };
  g.background(g.history.markLost(what.series, old, lost));
  const days = old.map((day, at) => {
    const { fromMs: sinceMs } = day.revision.lost ?? lost;
    const loss = { code: 'beyond_retention', sinceMs, againMs: DAY_MS } as const;
    return fromHistory(refused.refusal.header, rows[at] as Entry<RowsHeader>, day, loss);
  });
  return together(refused, days, found.answer);
}

/** Days before index `at` are refused, the others are in the answer; null: there are no others. */
interface Found {
  readonly at: number;
  readonly answer: FetchedAnswer | null;
}

interface EdgeSearch {
  /** Maximum number of refused days. */
  readonly last: number;
  /** Known number of refused days; 0: unknown. */
  readonly edge: number;
  /** Days of the age of the first were refused lately. */
  readonly isProven: boolean;
  readonly hasRows: (date: string) => Promise<boolean>;
}

async function findEdge(
  { ask, refused }: Refused,
  dates: readonly string[],
  { last, edge, isProven, hasRows }: EdgeSearch,
): Promise<Found | null> {
  const to = dates.at(-1) as string;
  async function answerFrom(at: number): Promise<Found | null> {
    if (at === dates.length) return (await answersYesterday(refused, ask)) ? { at, answer: null } : null;
    const fetched = await ask({ from: dates[at] as string, to });
    return fetched.kind === 'answer' && fetched.days !== null ? { at, answer: fetched } : null;
  }
  /** The first of several was tried. If only it is refused, the day before it shows whether older days are. */
  async function isEdge({ at }: Found): Promise<boolean> {
    if (at === 2) return true;
    return !(await hasRows(dates[at - 2] ?? isoDay((dayNumber(dates[0] as string) as number) - 1)));
  }
  const isKnown = edge > 0 && edge <= last;
  const isAllKnown = isKnown && edge === dates.length;
  const known = isAllKnown ? { at: edge, answer: null } : isKnown ? await answerFrom(edge) : null;
  if (known !== null && (isProven || (await isEdge(known)))) return known;
  let low = isKnown && known === null ? edge : 0;
  let found = known ?? (low < last ? await answerFrom(last) : null);
  while (found !== null && found.at - low > 1) {
    const middle = Math.floor((low + found.at) / 2);
    const part = await answerFrom(middle);
    if (part === null) low = middle;
    else found = part;
  }
  return found !== null && (await isEdge(found)) ? found : null;
}

/** Whether the platform has no rows of a day that history has. */
async function isGone(g: Gateway, what: Refused, date: string): Promise<boolean> {
  const rows = await rowsOf(g, what, date);
  return rows < 0 || (rows === 0 && (what.known.get(date)?.revision.rowCount ?? 0) > 0);
}

/** The platform's number of rows of one day; -1: refused. */
async function rowsOf({ retention }: Gateway, { ask, report }: Refused, date: string): Promise<number> {
  const fetched = await ask({ from: date, to: date });
  if (fetched.kind === 'refusal') return -1;
  const { rowCount = fetched.rowCount, fetchedOn, fetchedAt } = fetched.days?.[0]?.header ?? {};
  if (rowCount > 0 && fetchedOn !== undefined && fetchedAt !== undefined)
    retention.rowsSeen(report.endpoint, fetchedOn - (dayNumber(date) as number), fetchedAt, true);
  return rowCount;
}

/** Whether the platform answers this report for another day. */
async function answersYesterday({ refusal }: FetchedRefusal, ask: AskFurther): Promise<boolean> {
  const yesterday = isoDay(refusal.header.fetchedOn - 1);
  return (await ask({ from: yesterday, to: yesterday })).kind === 'answer';
}

function together(
  { range }: FetchedRefusal,
  old: readonly Entry<RowsHeader>[],
  answer: FetchedAnswer | null,
): FetchedAnswer {
  const rest = answer ?? { splittable: { ok: true } as const, rowCount: 0, storable: true, flaws: [] };
  return {
    ...{ kind: 'answer', range, rows: null, rowsFault: null, bytes: null, doubt: null },
    days: [...old, ...(answer?.days ?? [])],
    ...{ splittable: rest.splittable, rowCount: rest.rowCount, storable: rest.storable, flaws: rest.flaws },
  };
}

/** Days before and after an answer that are compared too. */
const NEAR_DAYS = 7;

/** @returns the answer, with rows from history for empty days that are not accepted */
export async function recoverLostDays(
  g: Gateway,
  fetch: Fetch,
  fetched: Fetched,
  ask: AskFurther,
): Promise<Fetched> {
  if (fetched.kind === 'refusal') return fetched;
  // A whole answer is judged by what other replicas learned when it is read; it does not wait for that.
  if (fetch.mode === 'whole') g.background(g.retention.of(fetch.report.endpoint));
  // A flawed answer proves nothing about empty days.
  const said = fetched.days?.filter(({ header }) => (header.forgotten ?? header.flaws) === undefined) ?? [];
  const [first] = said;
  if (first?.header.originMs !== null) return fetched;
  const empty = said.filter(({ header }) => header.rowCount === 0);
  const isRecorded = g.history.isRecorded(fetch.report);
  if (isRecorded) noteRows(g, fetch, said, empty.length > 0);
  if (empty.length === 0) return fetched;
  return withHistory(g, fetch, fetched, async () => {
    const known: Known = isRecorded ? await recallAround(g, fetch, empty.map(dateOf)) : new Map();
    const isDoubted = (day: Entry<RowsHeader>) => (known.get(dateOf(day))?.revision.rowCount ?? 0) > 0;
    await g.retention.of(fetch.report.endpoint);
    if (!empty.some(isDoubted)) return withMissing(g, fetch, fetched, known);
    const losses = await judgeAll(g, fetch, said, known, ask);
    note(g, fetch, losses, known, first.header.fetchedAt);
    return withMissing(g, fetch, await withRows(g, fetch, fetched, { losses, known }), known);
  });
}

/**
 * Marks empty days beyond the platform's retention that were not seen while the platform still had them: they are not empty, their
 * rows are missing.
 */
function withMissing(
  { retention }: Gateway,
  { report }: Fetch,
  fetched: FetchedAnswer,
  known: Known,
): FetchedAnswer {
  const edgeDays = retention.edgeDays(report.endpoint) ?? Number.POSITIVE_INFINITY;
  function isMissing(day: Entry<RowsHeader>): boolean {
    const { rowCount, forgotten } = day.header;
    if (rowCount > 0 || forgotten !== undefined || ageOf(day) < edgeDays) return false;
    const seen = known.get(dateOf(day));
    return seen === undefined || (!seen.hadRows && seen.revision.ageDays >= edgeDays);
  }
  const days = fetched.days?.map((day) => (isMissing(day) ? missing(day) : day)) ?? null;
  return { ...fetched, days };
}

function missing(day: Entry<RowsHeader>): Entry<RowsHeader> {
  const { fetchedAt } = day.header;
  const forgotten: Forgotten = {
    ...{ code: 'beyond_retention', days: [], missing: [dateOf(day)], sinceMs: fetchedAt, seenMs: fetchedAt },
    ...{ final: false, againMs: FORGOTTEN_MS },
  };
  return { ...day, header: { ...day.header, forgotten } };
}

/** @returns an answer, if history has the refused days; else the refusal */
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
    return answerFromHistory(g, { ...fetch, known, refused, ask });
  });
}

/** If history is unavailable, the answer is unchanged. */
async function withHistory(
  { logger }: Gateway,
  { report }: Fetch,
  came: Fetched,
  work: () => Promise<Fetched>,
): Promise<Fetched> {
  return await work().catch(
    whenAway((err) => {
      logger.warn(
        { err, endpoint: report.endpoint },
        'history is unavailable for days that came without rows or were refused; serving the platform answer unchanged',
      );
      return came;
    }),
  );
}

/** Records the greatest age with rows. */
function noteRows(
  { retention }: Gateway,
  { report }: Fetch,
  days: readonly Entry<RowsHeader>[],
  exact: boolean,
): void {
  const oldest = days.find(({ header }) => header.rowCount > 0);
  if (oldest !== undefined)
    retention.rowsSeen(report.endpoint, ageOf(oldest), oldest.header.fetchedAt, exact);
}

/** Requests older days if they decide. */
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
  const fetched = await ask(losses.probe).catch(() => null);
  const probed = (fetched?.kind === 'answer' ? fetched.days : null) ?? [];
  if (probed.length === 0) return losses;
  noteRows(g, input, probed, true);
  return judge(g, input, { said: [...probed, ...said], known, seen });
}

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
  retention.noteForgotten(endpoint, { ageDays: edgeDays, refusedDays: null }, Math.min(...since), atMs);
}

function recallAround(g: Gateway, input: Fetch, dates: readonly string[]): Promise<Known> {
  const near = (date: string, days: number) => isoDay((dayNumber(date) as number) + days);
  const [from, to] = [near(dates[0] as string, -NEAR_DAYS), near(dates.at(-1) as string, NEAR_DAYS)];
  return recall(g, input, daysBetween(from, to));
}

function recall(
  { history, learner, policy }: Gateway,
  { report, series }: Fetch,
  dates: readonly string[],
): Promise<Known> {
  const rules = policy.rulesFor(report);
  return history.recall({ series, dates, rules }, learner.status(report).generation);
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
  const days = said.map((entry): AnsweredDay => {
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

/** Kept days get their rows from history; days accepted as empty are confirmed. */
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
  // Unless such reports are proven divisible by day, the platform's answer is served.
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
