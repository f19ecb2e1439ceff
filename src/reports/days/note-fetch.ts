/** What a fetch changes in a month: the only rule, for what is written and for what is read while a write is under way. Pure. */
import { LRUCache } from 'lru-cache';
import { countedOrder } from '../../store/days-port.js';
import { toldAfter } from '../feed/month-changes.js';
import type { Erasures } from '../history/erasures.js';
import type { MonthReport } from '../history/revision.js';
import {
  noteMissed,
  noteFetch as noteRevision,
  type Revision,
  type Revisions,
  type SeenDay,
  voidCut,
} from '../history/revision.js';
import { type CountRules, type DayNews, noteLook } from '../learn/evidence.js';
import { dayNumber } from '../query/days.js';
import { digest as digestOf } from '../query/platform-call.js';
import { holdsTexts, joinTypes } from '../rows/column-types.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { type Facts, type FinalRules, isFinal } from '../rows/freshness.js';
import { type Check, type Day, type Month, NO_DAY, orderOf, type Passing } from './month.js';
import type { PartDay } from './part.js';

/** Days of one fetch in one month. */
export interface FetchedMonth {
  readonly days: readonly Entry<RowsHeader>[];
  /** Of fetches, by the store. */
  readonly order: number;
  /** The clock of the store now, microseconds since the epoch. */
  readonly clockUs: number;
  /** Fingerprint of the token; null without one. */
  readonly credential: string | null;
  /** Which days of the report are final, and which were cut. */
  readonly rules: FinalRules;
  /** Whether history records the report. */
  readonly isRecorded: boolean;
  /** How looks at its days are counted. */
  readonly counting: CountRules;
  readonly asked: readonly string[];
  readonly kind: Facts['kind'];
  readonly report: MonthReport;
  /** Generation whose revisions the feed of changes tells; null: none; undefined: as before. */
  readonly tells: string | null | undefined;
  /** Begin of the names of its parts; never used before. */
  readonly name: string;
  /** End of the first missed fetch of a day that is not marked yet. */
  readonly missedOf: (date: string) => number | undefined;
  /** Names of parts that cannot be read. */
  readonly unreadable: ReadonlySet<string>;
  readonly isErased: Erasures['isErased'];
}

/** What became of a fetched day; without `news` where it is no state of history. */
export interface NotedDay {
  readonly entry: Entry<RowsHeader>;
  /** late: a fetch that began later is noted, or its own order was given by a wrong clock · passing: shown for a while, not recorded */
  readonly kind: 'appended' | 'confirmed' | 'passing' | 'late';
  readonly revisions: Revisions;
  readonly news: DayNews | null;
  /** It was recorded as final, and never before. */
  readonly isFirstFinal: boolean;
}

/** A month with the earlier revisions of some days: those that a change concerns. */
export interface OpenMonth extends Month {
  readonly before: ReadonlyMap<number, Revisions>;
}

export interface NotedMonth {
  readonly month: OpenMonth;
  readonly days: readonly NotedDay[];
  /** Days of new parts, by the name of the part. */
  readonly parts: ReadonlyMap<string, readonly PartDay[]>;
}

export const dateOf = ({ header }: Entry<RowsHeader>) => header.lastDay as string;
/** Of the month, from 1. */
export const dayOf = (date: string): number => Number(date.slice(-2));

export function noteFetch(before: OpenMonth, fetched: FetchedMonth): NotedMonth {
  const { asked, kind, unreadable, isRecorded } = fetched;
  const [days, earlier] = [new Map(before.days), new Map(before.before)];
  const parts = createParts(fetched.name);
  const checkOf = createChecks(fetched);
  const noted = fetched.days.map((entry): NotedDay => {
    const at = dayOf(dateOf(entry));
    const known = withoutLead(days.get(at) ?? NO_DAY, fetched.clockUs);
    const none = { entry, revisions: [], news: null, isFirstFinal: false };
    if (isLate(fetched, known)) return { ...none, kind: 'late' };
    const check = checkOf(entry);
    const revisions = revisionsOf(before, at);
    if ((entry.header.flaws ?? entry.header.forgotten) !== undefined) {
      const shown = [...revisions, ...(known.passing === undefined ? [] : [known.passing])];
      days.set(at, { ...known, passing: passingOf(entry, check, shown, { parts, unreadable }) });
      return { ...none, kind: 'passing' };
    }
    const { counted, final, ...change } = isRecorded
      ? record({ ...known, revisions }, entry, fetched, parts)
      : { ...replace(revisions, entry, fetched, parts), counted: known.counted, final: known.final === true };
    const { latest, former } = split(change.revisions);
    if (!areSame(former, earlier.get(at) ?? [])) earlier.set(at, former);
    const line = { latest, check, ...emptyOf(entry.header), earlier: former.length };
    days.set(at, Object.assign(line, counted === undefined ? null : { counted }, final ? FINAL : null));
    return { entry, ...change };
  });
  const after = { days, before: earlier, told: before.told };
  const told = isRecorded ? toldAfter(before, after, fetched.tells) : before.told;
  const report = isRecorded ? fetched.report : before.report;
  return {
    month: { asked, kind, sizes: before.sizes, ...after, report, told },
    days: noted,
    parts: parts.all,
  };
}

const FINAL = { final: true } as const;

/** Whether a later fetch is noted. */
function isLate({ order, clockUs }: FetchedMonth, known: Day): boolean {
  return orderOf(known) > countedOrder(order, clockUs);
}

/** The day with its orders as they count. */
function withoutLead(day: Day, clockUs: number): Day {
  if (orderOf(day) === countedOrder(orderOf(day), clockUs)) return day;
  const counted = (check: Check) => ({ ...check, order: countedOrder(check.order, clockUs) });
  const { check, passing } = day;
  return {
    ...day,
    check: check === null ? null : counted(check),
    ...(passing !== undefined && { passing: { ...passing, check: counted(passing.check) } }),
  };
}

/** Of a day whose earlier revisions are at hand, oldest first. */
export function revisionsOf({ days, before }: OpenMonth, day: number): Revisions {
  const latest = days.get(day)?.latest ?? null;
  return [...(before.get(day) ?? []), ...(latest === null ? [] : [latest])];
}

function split(revisions: Revisions) {
  return { latest: revisions.at(-1) ?? null, former: revisions.slice(0, -1) };
}

function areSame(one: Revisions, other: Revisions): boolean {
  return one.length === other.length && one.every((revision, at) => revision === other[at]);
}

/** A change of a day; the other members are those of {@link NotedDay}. */
type Change = Omit<NotedDay, 'entry'>;

/** Appends or confirms a revision. */
function record(
  {
    revisions: stored,
    check,
    counted,
    final,
  }: Pick<Day, 'check' | 'counted' | 'final'> & Pick<Change, 'revisions'>,
  entry: Entry<RowsHeader>,
  fetched: FetchedMonth,
  parts: Parts,
): Change & Pick<Day, 'counted'> & { readonly final: boolean } {
  const { rules, missedOf, unreadable, counting } = fetched;
  const date = dateOf(entry);
  const missedFrom = missedOf(date);
  const seen = seenDay(entry, fetched);
  const present = withoutErased(stored, entry, fetched);
  const known = voidCut(present.filter(isKept), rules);
  const before = missedFrom === undefined ? known : noteMissed(known, missedFrom);
  const { kind, revisions } = noteRevision(before, seen);
  const latest = revisions.at(-1) as Revision;
  const part = partOf(present.at(-1), seen, unreadable) ?? parts.add(entry, seen);
  // Rows that are stored anew can be read again, for every revision that has them.
  const all = revisions.map((one) =>
    one.digest === seen.digest && isUnreadable(one, unreadable) ? { ...one, part } : one,
  );
  const wasFinal = before.some(({ finalFrom }) => finalFrom !== undefined);
  const observed = { date, before, seen, credential: check?.credential };
  // Noted again on what it has become, a fetch is no further look.
  const look =
    check?.order === fetched.order ? { counted, news: null } : noteLook(counted, observed, counting);
  return {
    ...look,
    kind,
    // Where a day is empty in one answer, that changes nothing of what is known.
    final: seen.unconfirmed ? kind === 'confirmed' && final === true : seen.isFinal,
    isFirstFinal: latest.finalFrom !== undefined && !wasFinal,
    revisions: all.with(-1, { ...latest, part, hash: seen.hash }),
  };
}

/** Of a report that history does not record: one state, which the next fetch replaces. */
function replace(stored: Revisions, entry: Entry<RowsHeader>, fetched: FetchedMonth, parts: Parts): Change {
  const seen = seenDay(entry, fetched);
  const present = withoutErased(stored, entry, fetched);
  const [former, kept] = [present.at(-1), present.filter(isKept)];
  const added = noteRevision([], seen).revisions[0] as Revision;
  const part = partOf(former, seen, fetched.unreadable) ?? parts.add(entry, seen);
  const knownFrom = Math.max(added.knownFrom, (kept.at(-1)?.knownFrom ?? 0) + 1);
  const revision = { ...added, knownFrom, id: knownFrom.toString(36), part, unrecorded: true as const };
  const kind = former?.digest === seen.digest ? 'confirmed' : 'appended';
  return { kind, revisions: [...kept, revision], news: null, isFirstFinal: false };
}

type Shown = Pick<Revision, 'part' | 'digest' | 'hash'>;

/** @returns the part that has these rows in this order; undefined: none that can be read */
function partOf(
  former: Shown | undefined,
  { digest, hash }: Pick<Revision, 'digest' | 'hash'>,
  unreadable: ReadonlySet<string>,
): string | undefined {
  const isSame = former?.digest === digest && former.hash === hash && !isUnreadable(former, unreadable);
  return isSame ? (former.part ?? undefined) : undefined;
}

function isUnreadable({ part }: Shown, unreadable: ReadonlySet<string>): boolean {
  return part !== null && unreadable.has(part);
}

const isKept = ({ unrecorded }: Revision) => unrecorded !== true;

/** Rows that were erased and are back are another state; the sweep removes the former. */
function withoutErased(
  stored: Revisions,
  { header: { splitFrom, accounts } }: Entry<RowsHeader>,
  { asked, isErased }: FetchedMonth,
): Revisions {
  const isGone = (one: Revision) =>
    one.digest === splitFrom?.sortedHash && isErased({ ...one, asked, held: accounts });
  return stored.some(isGone) ? stored.filter((one) => !isGone(one)) : stored;
}

function passingOf(
  entry: Entry<RowsHeader>,
  check: Check,
  known: readonly Shown[],
  { parts, unreadable }: { readonly parts: Parts; readonly unreadable: ReadonlySet<string> },
): Passing {
  const { hash, rowCount, splitFrom, flaws, forgotten } = entry.header;
  const digest = splitFrom?.sortedHash ?? '';
  // Rows from history are those of a revision; those of a fetch that is noted again are stored.
  const names = known.map((one) => partOf(one, { digest, hash }, unreadable));
  const part = names.findLast((name) => name !== undefined) ?? parts.add(entry, { digest, ageDays: 1 });
  return {
    part,
    digest,
    hash,
    rowCount,
    check,
    ...(flaws && { flaws }),
    ...(forgotten && { forgotten }),
  } as Passing;
}

function emptyOf({ emptyTail: tail, emptySince }: RowsHeader): Pick<Day, 'empty'> {
  const sinceMs = emptySince?.[0]?.[1];
  if (tail === 'no') return {};
  return { empty: sinceMs === undefined ? { tail } : { tail, sinceMs } };
}

/** @returns the check of a day: one object for equal ones */
function createChecks({ order, credential }: FetchedMonth): (entry: Entry<RowsHeader>) => Check {
  const known = new Map<string, Check>();
  return ({ header }) => {
    const { fetchStartedAt, fetchedAt, fetchedOn, splitFrom, answerRows, complete, seq } = header;
    const { from = '', to = '', generation = '' } = splitFrom ?? {};
    const name = `${fetchStartedAt} ${fetchedAt} ${from} ${to} ${answerRows} ${complete}`;
    const check = known.get(name) ?? {
      order,
      startedAt: fetchStartedAt,
      endedAt: fetchedAt,
      fetchedOn,
      from,
      to,
      answerRows,
      ...(complete && { complete }),
      seq,
      generation,
      credential,
    };
    known.set(name, check);
    return check;
  };
}

/** Plain rows of a part, about. */
export const PART_BYTES = 2_097_152;

type Parts = ReturnType<typeof createParts>;

/** New parts of a month. A day that is not over has one of its own, as its rows change most. */
function createParts(name: string) {
  const all = new Map<string, PartDay[]>();
  let [shared, bytes, count] = ['', 0, 0];
  const next = () => (count++ === 0 ? name : `${name}-${count}`);
  return {
    all: all as ReadonlyMap<string, readonly PartDay[]>,
    /** @returns the name of its part; null if there is nothing to store */
    add(
      { header, body }: Entry<RowsHeader>,
      { digest, ageDays }: Pick<SeenDay, 'digest' | 'ageDays'>,
    ): string | null {
      const { rowCount, columns, accounts } = header;
      if (rowCount === 0 && columns.length === 0 && accounts.length === 0) return null;
      const one: PartDay = { day: dayOf(header.lastDay as string), digest, header, body };
      const isAlone = ageDays <= 0;
      if (isAlone || shared === '' || bytes + body.length > PART_BYTES) {
        const own = next();
        all.set(own, [one]);
        if (!isAlone) [shared, bytes] = [own, body.length];
        return own;
      }
      all.get(shared)?.push(one);
      bytes += body.length;
      return shared;
    },
  };
}

/** Each member by its name: one is made for each day, and adding to what was spread is slow in V8. */
function seenDay({ header }: Entry<RowsHeader>, { credential, rules }: FetchedMonth): SeenDay {
  const { splitFrom, rowCount, answerRows, complete } = header;
  return {
    fetchedFrom: header.fetchStartedAt,
    fetchedAt: header.fetchedAt,
    ageDays: header.fetchedOn - (dayNumber(header.lastDay as string) as number),
    digest: splitFrom?.sortedHash ?? '',
    hash: header.hash,
    generation: splitFrom?.generation ?? '',
    schema: schemaOf(header),
    credential,
    rowCount,
    answerRows,
    seq: header.seq,
    unconfirmed: rowCount === 0 && header.emptyTail === 'unconfirmed',
    isFinal: isFinal(header, rules),
    ...(complete && { complete }),
  };
}

/** Memoized: reports have few schemas, and every fetched day has one. */
const schemas = new LRUCache<string, string>({ max: 1000 });

/** Identifies the columns and which of them hold text; the precision of numbers may change. */
function schemaOf(header: RowsHeader): string {
  const name = JSON.stringify([header.columns, header.types]);
  const known = schemas.get(name) ?? makeSchema(header);
  schemas.set(name, known);
  return known;
}

function makeSchema(header: RowsHeader): string {
  const types = joinTypes([header]);
  const texts = header.columns.map((column) => {
    const facts = types.get(column);
    return facts !== undefined && holdsTexts(column, facts) ? 'text' : '';
  });
  return digestOf([...header.columns, '', ...texts]).slice(0, 16);
}
