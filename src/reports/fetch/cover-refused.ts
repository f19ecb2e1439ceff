/**
 * A range that the platform refuses, of which history has the older days: they are from history, and the rest is asked for.
 * Where the platform begins to answer is known from before, or found by halving. A refusal can have another reason than age,
 * as the length of the range or one bad day: so the oldest day is tried alone, and the one before the youngest that is refused.
 */

import type { Gateway } from '../gateway.js';
import { fromHistory, type RecalledDay } from '../history/recall-days.js';
import { dayNumber, daysBetween, isoDay } from '../query/days.js';
import type { Period } from '../query/period.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import type { Fetch, Fetched, FetchedAnswer, FetchedRefusal } from './fetched.js';

/** Asks the platform for another range of the same report. */
export type AskFurther = (range: Period) => Promise<Fetched>;

interface Refused extends Omit<Fetch, 'known'> {
  readonly refused: FetchedRefusal;
  /** What history has, by date. */
  readonly known: ReadonlyMap<string, RecalledDay>;
  readonly ask: AskFurther;
}

const DAY_MS = 86_400_000;

/** @returns the refusal where history has not all that the platform does not answer */
export async function coverRefused(g: Gateway, what: Refused): Promise<Fetched> {
  const { refused, known, report } = what;
  const { fetchedOn, fetchedAt } = refused.refusal.header;
  const dates = daysBetween(refused.range.from as string, refused.range.to as string);
  const ageAt = (at: number) => fetchedOn - (dayNumber(dates[at] as string) as number);
  const countUntil = (isOver: (at: number) => boolean) => {
    const first = dates.findIndex((_date, at) => isOver(at));
    return first === -1 ? dates.length : first;
  };
  const { restatementDays } = g.policy.rulesFor(report);
  // What is not final was there a moment ago: its refusal is about something else.
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
  g.retention.forgot(report.endpoint, { ageDays: ageAt(found.at - 1), refusedDays }, fetchedAt, fetchedAt);
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

/** Days before `at` are refused, those from it on are in the answer; null where there are none. */
interface Found {
  readonly at: number;
  readonly answer: FetchedAnswer | null;
}

interface EdgeSearch {
  /** How many days may be refused. */
  readonly last: number;
  /** How many are known to be; 0: that is not known. */
  readonly edge: number;
  /** Days as old as the first were refused lately. */
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
  /** The first of several was tried. Where it alone is refused, the day before it tells whether older days are. */
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

/** Whether the platform has nothing for a day of which history has rows. */
async function isGone(g: Gateway, what: Refused, date: string): Promise<boolean> {
  const rows = await rowsOf(g, what, date);
  return rows < 0 || (rows === 0 && (what.known.get(date)?.revision.rowCount ?? 0) > 0);
}

/** How many rows the platform gives for one day; -1: it refuses the day. */
async function rowsOf({ retention }: Gateway, { ask, report }: Refused, date: string): Promise<number> {
  const fetched = await ask({ from: date, to: date });
  if (fetched.kind === 'refusal') return -1;
  const { rowCount = fetched.rowCount, fetchedOn, fetchedAt } = fetched.days?.[0]?.header ?? {};
  if (rowCount > 0 && fetchedOn !== undefined && fetchedAt !== undefined)
    retention.sawRows(report.endpoint, fetchedOn - (dayNumber(date) as number), fetchedAt, true);
  return rowCount;
}

/** Whether the platform answers the report at all. */
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
