/** Days of a month as entries: what a plain report shows, and revisions of history. Pure, but for inflating. */

import type { Revision } from '../history/revision.js';
import { dayNumber } from '../query/days.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { FLAWED_MS } from '../rows/flaws.js';
import { inflateBodies, type StoredBody } from '../rows/segments.js';
import type { Check, Day, Month } from './month.js';
import { type FoundDay, nameOf, type Part } from './part.js';

/** What a plain report shows of a day. */
export interface ShownDay {
  readonly check: Check;
  readonly part: string | null;
  readonly digest: string;
  /** All members but those that are of its rows. */
  readonly header: Omit<RowsHeader, keyof FoundDay['header']> & Pick<RowsHeader, 'rowCount'>;
}

/** @returns null if nothing is known of it */
export function shownDay(
  { kind }: Pick<Month, 'kind'>,
  date: string,
  day: Day,
  nowMs: number,
): ShownDay | null {
  const { latest, check, passing, empty } = day;
  if (passing !== undefined && isShown(passing, check, nowMs)) {
    const { part, digest, hash, rowCount, flaws, forgotten } = passing;
    const header = headerOf(passing.check, { kind, date, digest, hash, rowCount, emptyTail: 'no' });
    const marks = { ...(flaws && { flaws }), ...(forgotten && { forgotten }) };
    return { check: passing.check, part, digest, header: { ...header, ...marks } };
  }
  if (latest === null || check === null) return null;
  const { part, digest, hash, rowCount } = latest;
  const header = headerOf(check, { kind, date, digest, hash, rowCount, emptyTail: empty?.tail ?? 'no' });
  const since = empty?.sinceMs;
  return {
    check,
    part,
    digest,
    header: since === undefined ? header : { ...header, emptySince: [[date, since]] },
  };
}

function isShown(passing: NonNullable<Day['passing']>, check: Check | null, nowMs: number): boolean {
  // A state that is recorded drops it: with an equal order it was noted after that.
  if (check !== null && passing.check.order < check.order) return false;
  return passing.flaws === undefined || nowMs - passing.check.endedAt < FLAWED_MS;
}

type Known = Pick<RowsHeader, 'kind' | 'hash' | 'rowCount' | 'emptyTail'> & {
  readonly date: string;
  readonly digest: string;
};

function headerOf(check: Check, known: Known): ShownDay['header'] {
  const { order, startedAt, endedAt, fetchedOn, from, to, answerRows, complete, seq, generation } = check;
  const header = {
    order,
    fetchStartedAt: startedAt,
    fetchedAt: endedAt,
    fetchedOn,
    kind: known.kind,
    originMs: null,
    seq,
    form: 'rows' as const,
    rowCount: known.rowCount,
    answerRows,
    hash: known.hash,
    lastDay: known.date,
    emptyTail: known.emptyTail,
    paging: null,
    splitFrom: { from, to, sortedHash: known.digest, generation },
  };
  return complete ? { ...header, complete } : header;
}

/** The header of a recorded state, as the fetch that first saw it had it. */
export function headerOfRevision(
  { kind }: Pick<Month, 'kind'>,
  date: string,
  revision: Revision,
): ShownDay['header'] {
  const { fetchedFrom, knownFrom, ageDays, answerRows, complete, seq, generation } = revision;
  const fetchedOn = (dayNumber(date) as number) + ageDays;
  const times = { startedAt: fetchedFrom, endedAt: knownFrom, fetchedOn };
  const check = { order: 0, ...times, from: date, to: date, answerRows, seq, generation };
  const { digest, hash, rowCount, unconfirmed } = revision;
  const tail = rowCount > 0 ? 'no' : unconfirmed ? 'unconfirmed' : 'confirmed';
  const known = { kind, date, digest, hash, rowCount, emptyTail: tail } as const;
  return headerOf(complete ? { ...check, complete } : check, known);
}

/** A day whose rows are wanted. */
export interface WantedRows {
  /** Of the month. */
  readonly day: number;
  readonly part: string | null;
  readonly digest: string;
  readonly header: ShownDay['header'];
}

const NO_ROWS = { columns: [], types: [], accounts: [] };
const NOTHING = Buffer.alloc(0);

/** @returns in order; null where the rows are missing or damaged */
export async function entriesOf(wanted: readonly WantedRows[], parts: FindPart) {
  const found = wanted.map((one) => findDay(one, parts));
  const stored = found.flatMap((day) => (day === null || Buffer.isBuffer(day.body) ? [] : [day.body]));
  if (stored.length === 0) return entriesAtOnce(wanted, parts);
  const inflated = await inflateBodies(stored);
  let next = 0;
  return wanted.map((one, at) => {
    const day = found[at] ?? null;
    if (day === null || Buffer.isBuffer(day.body)) return entryAtOnce(one, day);
    const body = inflated[next++] ?? null;
    if (body === null) return null;
    const header = withRows(one.header, day.header);
    return day.body.isDeflated ? { header, body, segment: segmentOf(day.body) } : { header, body };
  });
}

type FindPart = (name: string) => Part | undefined;

/** {@link entriesOf} of rows that this process is writing, or of small parts. */
export function entriesAtOnce(wanted: readonly WantedRows[], parts: FindPart): (Entry<RowsHeader> | null)[] {
  return wanted.map((one) => entryAtOnce(one, findDay(one, parts)));
}

function findDay({ part, day, digest }: WantedRows, parts: FindPart): FoundDay | null {
  return part === null ? null : (parts(part)?.get(nameOf(day, digest)) ?? null);
}

function entryAtOnce({ part, header }: WantedRows, day: FoundDay | null): Entry<RowsHeader> | null {
  if (part === null) return { header: { ...header, ...NO_ROWS }, body: NOTHING };
  return day !== null && Buffer.isBuffer(day.body)
    ? { header: withRows(header, day.header), body: day.body }
    : null;
}

const segmentOf = ({ bytes, plainLength, plainCrc }: StoredBody) => ({ bytes, plainLength, plainCrc });

function withRows(header: ShownDay['header'], rows: FoundDay['header']): RowsHeader {
  const { columns, sources, types, accounts } = rows;
  const whole = { ...header, columns, accounts };
  const named = sources === undefined ? whole : { ...whole, sources };
  return types === undefined ? named : { ...named, types };
}
