/** What changed of the days of a report, by measure, from their recorded revisions. Pure. */
import type { AnswerTo } from '../../api/operations/table.js';
import { tidy } from './columns.js';
import { type Change, changeOf } from './compare.js';
import { cellOf, type Row } from './parse.js';
import { dayAfter, instantOf } from './question.js';

export type Revisions = AnswerTo<'GET /gateway/v1/revisions'>;
type Revision = Revisions['data'][number]['revisions'][number];

export interface ChangedLine extends Change {
  readonly key: string;
  readonly date: string;
  /** Null: no sum of the day changed; `why` says what is known. */
  readonly measure: string | null;
  /** When it was first seen, ISO. */
  readonly seenAt: string;
  /** When the numbers before were last fetched, ISO: it was made after that. Null: not known. */
  readonly after: string | null;
  readonly why: 'corrected' | 'method' | 'rows' | 'not kept';
}

/** Whether a state of some day is recorded that is valid. */
export const isKnown = ({ data }: Pick<Revisions, 'data'>): boolean =>
  data.some(({ revisions }) => revisions.some(({ void: why }) => why === undefined));

// The moments of the address.

/** Of the address: `from` is `yesterday`, `week`, a time, the id of a pin or empty; `to` a time or empty. */
export function momentsOf(place: string): { readonly from: string; readonly to: string } {
  const [from = '', to = ''] = place.split(',');
  return { from: from === 'first' ? '' : from, to: to === 'latest' ? '' : to };
}

/** Choices of the first moment, and their titles. */
export const NAMED = [
  ['', 'first fetched'],
  ['yesterday', 'yesterday'],
  ['week', '7 days ago'],
] as const;
const DAYS_AGO: Readonly<Record<string, number>> = { yesterday: 1, week: 7 };

/** Whether the moments of the address are among the choices. */
export const isNamed = (place: string): boolean => {
  const { from, to } = momentsOf(place);
  return to === '' && NAMED.some(([name]) => name === from);
};

/** `yesterday` and `week` as the UTC midnight that they begin at; others as they are. */
export function instantFrom(from: string, nowMs: number): string {
  const ago = DAYS_AGO[from];
  const today = new Date(nowMs).toISOString().slice(0, 10);
  return ago === undefined ? instantOf(from) : `${dayAfter(today, -ago)}T00:00:00Z`;
}

/** A moment of the address that is neither a time nor a name is the id of a pin. */
export const pinIn = (from: string): string | null =>
  /^(yesterday|week|\d{4}-\d\d-\d\dT.*|)$/.test(from) ? null : from;

/** Milliseconds. `from` null: when each day was first known; `to` null: now. */
export interface Moments {
  readonly from: number | null;
  readonly to: number | null;
}

/** A day's revisions that were right, oldest first. */
export const validOf = ({ revisions }: Revisions['data'][number]): Revision[] =>
  revisions.filter(({ void: why }) => why === undefined);

const knownAt = ({ knownFrom }: Revision): number => Date.parse(knownFrom);

/** @returns changes seen between the moments, newest first; those of one moment by day, the newest first */
export function changedLines({ data }: Pick<Revisions, 'data'>, { from, to }: Moments): ChangedLine[] {
  const isSeen = (one: Revision) =>
    (from === null || knownAt(one) > from) && (to === null || knownAt(one) <= to);
  return data
    .flatMap((day) => {
      // A void revision was never right: its successor is compared with the one before it.
      const valid = validOf(day);
      const pairs = valid.slice(1).map((now, index) => [valid[index] as Revision, now] as const);
      return pairs.flatMap(([before, now]) => (isSeen(now) ? linesOf(day.date, before, now) : []));
    })
    .sort((a, b) => order(b.seenAt, a.seenAt) || order(b.date, a.date));
}

/**
 * The sums of each measure at both moments, over the days that were known then.
 * @returns `left`: how many days were first fetched after the first moment, or have numbers that are no longer kept
 */
export function sumsBetween({ data }: Pick<Revisions, 'data'>, { from, to }: Moments) {
  const sums = new Map<string, { now: number; before: number }>();
  let days = 0;
  const known = data.map(validOf).filter((valid) => valid.some((one) => to === null || knownAt(one) <= to));
  for (const valid of known) {
    const before = from === null ? valid[0] : valid.findLast((one) => knownAt(one) <= from);
    const now = valid.findLast((one) => to === null || knownAt(one) <= to);
    if (!before?.totals || !now?.totals) continue;
    days += 1;
    for (const name of new Set([...Object.keys(before.totals), ...Object.keys(now.totals)])) {
      const sum = sums.get(name) ?? { now: 0, before: 0 };
      sum.now += numberIn(now.totals, name) ?? 0;
      sum.before += numberIn(before.totals, name) ?? 0;
      sums.set(name, sum);
    }
  }
  const changes = [...sums].map(([measure, { now, before }]) => ({
    measure,
    ...changeOf(tidy(now), tidy(before)),
  }));
  return { days, left: known.length - days, sums: changes };
}

/** When the first and the last of the days that are known were first fetched, ISO; null: none is known. */
export function knownSince({ data }: Pick<Revisions, 'data'>): [first: string, last: string] | null {
  const all = data.flatMap((day) => validOf(day)[0]?.knownFrom ?? []).sort();
  const [first, last] = [all[0], all.at(-1)];
  return first === undefined || last === undefined ? null : [first, last];
}

/** By id, `campaignId 101`. */
export type Names = ReadonlyMap<string, string>;

/** The names that rows have beside ids: `campaignName` of `campaignId`. */
export function namesIn(rows: readonly Row[]): Names {
  const names = new Map<string, string>();
  for (const row of rows)
    for (const [column, value] of Object.entries(row)) {
      const name = /Id$/.test(column) ? cellOf(row, column.replace(/Id$/, 'Name')) : undefined;
      if (typeof name === 'string' && name !== '') names.set(`${column} ${String(value)}`, name);
    }
  return names;
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function linesOf(date: string, before: Revision, now: Revision): ChangedLine[] {
  const seenAt = now.knownFrom;
  // The hour of the last fetch may have begun before the first one.
  const [last = ''] = [before.knownFrom, before.confirmedUntil].sort().reverse();
  const after = last < seenAt ? last : null;
  const lineOf = (measure: string | null, why: ChangedLine['why'], change: Change) => ({
    ...{ key: `${date} ${now.id} ${measure}`, date, measure, seenAt, after, why },
    ...change,
  });
  if (before.totals === null || now.totals === null) return [lineOf(null, 'not kept', NOTHING)];
  const names = [...new Set([...Object.keys(before.totals), ...Object.keys(now.totals)])];
  const why = now.kind === 'method' ? 'method' : 'corrected';
  const lines = names.flatMap((name) => {
    const [new_, old] = [numberIn(now.totals, name), numberIn(before.totals, name)];
    return new_ === old ? [] : [lineOf(name, why, changeOf(new_, old))];
  });
  return lines.length === 0 ? [lineOf(null, 'rows', NOTHING)] : lines;
}

const NOTHING: Change = { now: null, before: null, diff: null, percent: null };

function numberIn(totals: Revision['totals'], name: string): number | null {
  const value = totals === null ? null : (cellOf(totals, name) ?? null);
  return value === null ? null : Number(value);
}
