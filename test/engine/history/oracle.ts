/**
 * What the gateway has known of each day, and since when: told by what the platform was asked and said alone, and by what
 * was done to the gateway. Instants are exact, but for calls that took time beside others: then a span.
 */
import { DAY, HOUR } from '../../support/test-clock.js';
import { ageOf, type Row, type Said } from './platform.js';

/** A day of a report by date, with or without campaigns. */
export interface Series {
  readonly advertiserId: number;
  readonly byCampaign: boolean;
}

/** A look at a day. */
export interface Sight {
  readonly rows: readonly Row[];
  /** The same for the same rows in another order. */
  readonly key: string;
  readonly cameMs: number;
  /** When the fetch had ended: at the earliest, and at the latest. */
  readonly fromMs: number;
  readonly untilMs: number;
  readonly ageDays: number;
  /** The history was away, so it was not written down. */
  readonly missed: boolean;
  /** And whoever knew that was ended before it was marked: a cache may have it, and history need not tell. */
  readonly lost?: boolean;
}

export interface Oracle {
  /** Takes what the platform has said since. @param nowMs all of it has come to rest */
  note(said: readonly Said[], nowMs: number, isAway: boolean): void;
  /** Every look at a day that is not erased or swept, in order. */
  sights(series: Series, date: string): readonly Sight[];
  /** Of an advertiser nothing counts that was asked for until now. */
  erase(advertiserId: number, nowMs: number): void;
  /** Months before this one are kept no more. */
  sweep(month: string): void;
  /** Who remembers what was missed was ended: what is not marked by then is marked by nobody. */
  forgetMissed(): void;
  /** When there was anything to know, in order. */
  readonly moments: readonly number[];
  /** Greatest age after which a day was seen to change, by the looks that were written down; -1: none. */
  changedAfter(series: Series): number;
}

export const keyOf = (rows: readonly Row[]): string =>
  JSON.stringify(rows.map((row) => JSON.stringify(Object.entries(row).toSorted(byName))).toSorted());

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1);

/** @param replicas what one has missed others learn in real time, which does not pass here */
export function createOracle(timezone: string, replicas: number): Oracle {
  const days = new Map<string, Sight[]>();
  const erasedAt = new Map<number, number>();
  const moments: number[] = [];
  const changed = new Map<string, number>();
  let taken = 0;
  const seriesOf = ({ advertiserId, byCampaign }: Series) => `${advertiserId}|${byCampaign}`;
  const nameOf = (series: Series, date: string) => `${seriesOf(series)}|${date}`;
  const dropWhere = (isDropped: (name: string, sight: Sight) => boolean) => {
    for (const [name, sights] of days)
      days.set(
        name,
        sights.filter((sight) => !isDropped(name, sight)),
      );
  };

  function noteChange(one: Said, before: Sight | undefined, now: Sight): void {
    if (before === undefined || before.key === now.key || before.missed || now.missed) return;
    // Other columns are another method, and of an empty day it is not sure whether it is filled yet.
    const [old, rows] = [before.rows[0], now.rows[0]];
    if (old === undefined || rows === undefined) return;
    if (Object.keys(old).join() !== Object.keys(rows).join()) return;
    changed.set(seriesOf(one), Math.max(changed.get(seriesOf(one)) ?? -1, before.ageDays));
  }

  return {
    moments,
    note(said, nowMs, missed) {
      for (const one of said.slice(taken)) {
        if (one.cameMs <= (erasedAt.get(one.advertiserId) ?? Number.NEGATIVE_INFINITY)) continue;
        moments.push(one.saidMs);
        for (const [date, rows] of one.days) {
          const times = { cameMs: one.cameMs, fromMs: one.saidMs, untilMs: Math.max(nowMs, one.saidMs) };
          const ageDays = ageOf(date, one.cameMs, timezone);
          const lost = missed && replicas > 1;
          const sight: Sight = { rows, key: keyOf(rows), ...times, ageDays, missed, lost };
          const all = days.get(nameOf(one, date)) ?? [];
          noteChange(one, all.at(-1), sight);
          days.set(nameOf(one, date), [...all, sight]);
        }
      }
      taken = said.length;
    },
    sights: (series, date) => days.get(nameOf(series, date)) ?? [],
    erase(advertiserId, nowMs) {
      erasedAt.set(advertiserId, nowMs);
      dropWhere((name) => name.startsWith(`${advertiserId}|`));
    },
    sweep(month) {
      dropWhere((name) => (name.split('|')[2] as string).slice(0, 7) < month);
    },
    forgetMissed() {
      for (const [name, sights] of days) {
        const marked = sights.findLastIndex(({ missed }) => !missed);
        days.set(
          name,
          sights.map((sight, at) => (at > marked ? { ...sight, lost: true } : sight)),
        );
      }
    },
    changedAfter: (series) => changed.get(seriesOf(series)) ?? -1,
  };
}

/** How long what was known of a day that was not over is kept, and how many changes of one that was. */
const OPEN_DAY_MS = 2 * DAY;
const CLOSED_DAY_MAX = 64;

/** Whether there may be no more of it: only then may it be missing. */
function mayBeThinned(sight: Sight, all: readonly Sight[]): boolean {
  const written = all.filter(({ missed }) => !missed);
  if (sight.ageDays <= 0)
    return (
      written.some(({ fromMs }) => fromMs > sight.fromMs + OPEN_DAY_MS) &&
      written.some((one) => one.ageDays <= 0 && one.fromMs > sight.fromMs && one.key !== sight.key)
    );
  const closed = written.filter((one, at) => one.ageDays > 0 && one.key !== written[at - 1]?.key);
  return closed.length > CLOSED_DAY_MAX && sight !== written.find(({ ageDays }) => ageDays > 0);
}

/** The looks that may have been the last written down by a moment: more than one where calls took time beside others. */
function lastBy(all: readonly Sight[], atMs: number): readonly Sight[] {
  const written = all.filter(({ missed }) => !missed);
  const sure = written.findLast(({ untilMs }) => untilMs <= atMs);
  const maybe = written.filter(({ fromMs, untilMs }) => fromMs <= atMs && atMs < untilMs);
  return sure === undefined ? maybe : [sure, ...maybe];
}

/** The first look of those that saw the same rows, one after another, up to this one. */
function runStart(sight: Sight, all: readonly Sight[]): Sight {
  const written = all.filter(({ missed }) => !missed);
  let at = written.indexOf(sight);
  while (at > 0 && written[at - 1]?.key === sight.key) at -= 1;
  return written[at] as Sight;
}

/** What a day is shown with. */
export interface ShownDay {
  readonly date: string;
  readonly knownFrom: string;
  readonly confirmedUntil: string;
  readonly exact: boolean;
}

/** @returns what is wrong with a day as it is said to have been known at a moment; null where nothing is */
export function faultOf(shown: ShownDay, key: string, atMs: number, all: readonly Sight[]): string | null {
  const [knownFrom, confirmedUntil] = [Date.parse(shown.knownFrom), Date.parse(shown.confirmedUntil)];
  const last = lastBy(all, atMs);
  if (knownFrom > atMs) return 'was known later than that moment';
  if (!all.some((one) => one.key === key && !one.missed && one.fromMs <= atMs))
    return 'has rows that were never written down by then';
  const missed = all.some((one) => one.missed && knownFrom <= one.untilMs && one.fromMs <= atMs);
  if (!shown.exact) {
    const other = all.some(
      (one) => one.fromMs > knownFrom && one.fromMs <= atMs && one.key !== key && mayBeThinned(one, all),
    );
    return missed || other ? null : 'is not exact, and nothing was thinned or missed';
  }
  const meant = last.find((one) => one.key === key);
  if (meant === undefined) return 'is exact, and other rows were known then';
  const gap = all.some((one) => one.missed && !one.lost && one.fromMs > meant.untilMs && one.untilMs <= atMs);
  if (gap) return 'is exact, though a later fetch was not written down';
  const start = runStart(meant, all);
  if (knownFrom < start.fromMs || knownFrom > start.untilMs)
    return `is known from ${new Date(start.fromMs).toISOString()} on`;
  const seenLast = all.findLast(
    (one) => one.key === key && !one.missed && runStart(one, all) === start,
  ) as Sight;
  if (confirmedUntil < knownFrom || confirmedUntil > Math.max(knownFrom, seenLast.untilMs))
    return 'was confirmed when nobody looked';
  return seenLast.fromMs - confirmedUntil >= HOUR ? 'was seen more than an hour later, too' : null;
}

/** Looks that were written down, and those of them whose rows are certainly still kept. */
function writtenAndKept(all: readonly Sight[]): readonly (readonly Sight[])[] {
  const written = all.filter(({ missed }) => !missed);
  return [written, written.filter((one) => !mayBeThinned(one, all))];
}

/** The moment from which on all days are known: the earliest and the latest that it may be. */
function knownFrom(days: readonly (readonly Sight[])[]): readonly [earliestMs: number, latestMs: number] {
  const spans = days.map((all) => {
    const [written = [], kept = []] = writtenAndKept(all);
    return [
      Math.min(...written.map(({ fromMs }) => fromMs)),
      Math.min(...kept.map(({ untilMs }) => untilMs)),
    ] as const;
  });
  return [Math.max(...spans.map(([from]) => from)), Math.max(...spans.map(([, until]) => until))];
}

const UNKNOWN = /^No recorded data at (\S+) for ([\d, -]+?)(?: and (\d+) more days)?\. (.*)$/;
const SINCE = /^All of them are recorded from (\S+) on/;
const NEVER = /^Some were never recorded/;

/**
 * @param days by date, of a range that is said not to have been known at a moment
 * @returns what is wrong with the reason; and from when on all days are said to be known, null where they are not
 */
export function reasonOf(
  detail: string,
  atMs: number,
  days: ReadonlyMap<string, readonly Sight[]>,
): { readonly fault: string | null; readonly sinceMs: number | null } {
  const [, at = '', list = '', more = '0', rest = ''] = UNKNOWN.exec(detail) ?? [];
  const faulty = (fault: string) => ({ fault, sinceMs: null });
  if (Date.parse(at) !== atMs) return faulty('names another moment');
  const named = list.split(', ');
  const by = (sights: readonly Sight[] | undefined, end: 'fromMs' | 'untilMs') =>
    sights?.some((one) => one[end] <= atMs) ?? false;
  for (const [date, all] of days) {
    const [written, kept] = writtenAndKept(all);
    // Of the days that are not named it says only how many they are.
    const isCounted = Number(more) > 0 && date > (named.at(-1) as string);
    if (named.includes(date) && by(kept, 'untilMs')) return faulty(`names ${date}, which was known`);
    if (!named.includes(date) && !isCounted && !by(written, 'fromMs'))
      return faulty(`does not name ${date}, which was not known`);
  }
  const unknown = [...days.values()].map(writtenAndKept);
  const count = named.length + Number(more);
  if (count < unknown.filter(([written]) => !by(written, 'fromMs')).length) return faulty('counts too few');
  if (count > unknown.filter(([, kept]) => !by(kept, 'untilMs')).length) return faulty('counts too many');
  const [earliestMs, latestMs] = knownFrom([...days.values()]);
  if (NEVER.test(rest))
    return { fault: latestMs === Number.POSITIVE_INFINITY ? null : 'says never', sinceMs: null };
  const sinceMs = Date.parse(SINCE.exec(rest)?.[1] ?? '');
  const isRight = sinceMs > atMs && sinceMs >= earliestMs && sinceMs <= latestMs;
  return { fault: isRight ? null : 'says a wrong moment from which on all are known', sinceMs };
}
