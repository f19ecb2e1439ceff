/**
 * Gathering: rows of final days that lie scattered over many parts get into few, those of their latest states apart from those of
 * earlier ones. Nothing that a report shows changes: ids, digests and hashes stay, and so do the accounts of each day. Pure, but
 * for inflating.
 */
import { groupBy } from '../../lib/group-by.js';
import { firstSeenAfterEnd, type Revision } from '../history/revision.js';
import { bodyHash } from '../rows/entry.js';
import { inflateBodies } from '../rows/segments.js';
import { NO_DAY } from './month.js';
import { type OpenMonth, PART_BYTES, revisionsOf } from './note-fetch.js';
import { type FoundDay, nameOf, type Part, type PartDay, SMALL_PART_BYTES } from './part.js';

/** More parts are gathered. */
const PARTS_LEFT = 4;

export interface Gathered {
  readonly month: OpenMonth;
  /** Days of new parts, by the name of the part. */
  readonly parts: ReadonlyMap<string, readonly PartDay[]>;
}

/** A state of a final day, and where its rows lie. */
interface State {
  readonly day: number;
  readonly revision: Revision;
  readonly part: string;
  readonly rows: FoundDay;
}

type Parts = ReadonlyMap<string, Part>;

/** @returns parts that {@link gather} needs */
export function partsToGather(month: OpenMonth): ReadonlySet<string> {
  const named = finalDays(month).flatMap((day) => [
    ...revisionsOf(month, day).map(({ part }) => part),
    month.days.get(day)?.passing?.part ?? null,
  ]);
  return new Set(named.filter((part) => part !== null));
}

/**
 * @param parts those that can be read of {@link partsToGather}. @param name begin of the names of new parts; never used before
 * @returns null if there is nothing to gather
 */
export async function gather(month: OpenMonth, parts: Parts, name: string): Promise<Gathered | null> {
  const { latest, earlier } = statesOf(month, parts);
  const groups = [
    ...pack(await chooseWhole(month, latest, parts)),
    ...pack(await chooseWhole(month, earlier, parts)),
  ];
  if (groups.length === 0) return null;
  const made = new Map(groups.map((group, at) => [at === 0 ? name : `${name}-${at + 1}`, group]));
  const moves = new Map(
    [...made].flatMap(([to, group]) => group.map((one) => [nameOf(one.day, one.digest), to] as const)),
  );
  const states = new Map([...earlier, ...latest].map((one) => [nameOf(one.day, one.revision.digest), one]));
  const rename = (day: number) => {
    return <N extends Named>(one: N): N => {
      const line = nameOf(day, one.digest);
      const [to, state] = [moves.get(line), states.get(line)];
      return to !== undefined && state !== undefined && hasRowsOf(one, state, parts)
        ? { ...one, part: to }
        : one;
    };
  };
  return { month: withNames(month, rename), parts: made };
}

/** Days that are over, and were seen final. */
function finalDays(month: OpenMonth): number[] {
  return [...month.days].flatMap(([day, { latest }]) => {
    if (latest === null || latest.unrecorded || firstSeenAfterEnd(latest) === null) return [];
    return revisionsOf(month, day).some(({ finalFrom }) => finalFrom !== undefined) ? [day] : [];
  });
}

/** @returns states of final days whose parts can be read, each digest of a day once */
function statesOf(month: OpenMonth, parts: Parts) {
  const latest: State[] = [];
  const earlier: State[] = [];
  for (const day of finalDays(month)) {
    const seen = new Set<string>();
    for (const revision of revisionsOf(month, day).toReversed()) {
      const { part, digest } = revision;
      const rows = part === null || seen.has(digest) ? undefined : parts.get(part)?.get(nameOf(day, digest));
      if (part !== null && rows !== undefined)
        (seen.size === 0 ? latest : earlier).push({ day, revision, part, rows });
      seen.add(digest);
    }
  }
  return { latest, earlier };
}

/** Of those states that lie scattered. @returns their rows, but not damaged ones */
async function chooseWhole(
  month: OpenMonth,
  states: readonly State[],
  parts: Parts,
): Promise<readonly PartDay[]> {
  // Bodies of large parts are inflated only if they are likely to be gathered.
  if (scattered(month, states, parts).length === 0) return [];
  const whole = await wholeRows(states);
  return scattered(month, [...whole.keys()], parts).map((one) => whole.get(one) as PartDay);
}

const plainLength = ({ body }: FoundDay) => (Buffer.isBuffer(body) ? body.length : body.plainLength);

/** @returns states whose parts are to be gathered: not those of a part that is full, and mostly in use */
function scattered(month: OpenMonth, states: readonly State[], parts: Parts): readonly State[] {
  const named = linesNamed(month);
  const loose = new Set<string>();
  let isAnySparse = false;
  for (const [name, some] of groupBy(states, ({ part }) => part)) {
    const sizes = some.map(({ rows }) => plainLength(rows));
    const isFull = sizes.reduce((sum, size) => sum + size, 0) >= mostBeside(Math.max(...sizes)) / 2;
    const isSparse = isSparselyNamed(parts.get(name) as Part, named.get(name) ?? new Set());
    if (isSparse) isAnySparse = true;
    if (isSparse || !isFull) loose.add(name);
  }
  if (!isAnySparse && loose.size <= PARTS_LEFT) return [];
  return states.filter(({ part }) => loose.has(part));
}

/** By part: days and digests that anything names. */
function linesNamed(month: OpenMonth): ReadonlyMap<string, ReadonlySet<string>> {
  const named = new Map<string, Set<string>>();
  for (const [day, { passing }] of month.days)
    for (const { part, digest } of [...revisionsOf(month, day), ...(passing ? [passing] : [])])
      if (part !== null) named.set(part, (named.get(part) ?? new Set()).add(nameOf(day, digest)));
  return named;
}

function isSparselyNamed(part: Part, named: ReadonlySet<string>): boolean {
  let [all, used] = [0, 0];
  for (const [line, { header }] of part) {
    all += header.rowCount;
    if (named.has(line)) used += header.rowCount;
  }
  return used * 2 < all;
}

async function wholeRows(states: readonly State[]): Promise<ReadonlyMap<State, PartDay>> {
  const stored = states.flatMap(({ rows }) => (Buffer.isBuffer(rows.body) ? [] : [rows.body]));
  const inflated = await inflateBodies(stored);
  let next = 0;
  const whole = new Map<State, PartDay>();
  for (const state of states) {
    const { rows, revision } = state;
    const body = Buffer.isBuffer(rows.body) ? rows.body : (inflated[next++] ?? null);
    const isCounted = rows.header.rowCount === revision.rowCount;
    // The hash is of the rows in their order, so it proves their digest too.
    if (body !== null && isCounted && bodyHash(body) === revision.hash) whole.set(state, { ...rows, body });
  }
  return whole;
}

/** In parts that are deflated as a whole, which takes the fewest bytes; days too large for it in parts of the usual size. */
function pack(days: readonly PartDay[]): PartDay[][] {
  const groups: PartDay[][] = [];
  const open = new Map<number, { readonly group: PartDay[]; bytes: number }>();
  for (const one of days.toSorted((a, b) => a.day - b.day)) {
    const { length } = one.body;
    const most = mostBeside(length);
    const shared = open.get(most);
    if (shared !== undefined && shared.bytes + length <= most) {
      shared.group.push(one);
      shared.bytes += length;
    } else {
      const group = [one];
      groups.push(group);
      open.set(most, { group, bytes: length });
    }
  }
  return groups;
}

/** @returns plain bytes of a part with a day of so many. So all parts but the last are more than half full, and stay */
function mostBeside(bytes: number): number {
  return bytes < SMALL_PART_BYTES / 2 ? SMALL_PART_BYTES : PART_BYTES;
}

type Named = Pick<Revision, 'part' | 'digest' | 'hash'>;

/** Whether it is shown with the very same bytes and accounts. */
function hasRowsOf(one: Named, { day, revision, part, rows }: State, parts: Parts): boolean {
  if (one.part === null || one.part === part) return one.part !== null;
  const own = parts.get(one.part)?.get(nameOf(day, one.digest));
  return one.hash === revision.hash && JSON.stringify(own?.header) === JSON.stringify(rows.header);
}

/** @param renaming of a day; it returns the same object where nothing changes */
function withNames(month: OpenMonth, renaming: (day: number) => <N extends Named>(one: N) => N): OpenMonth {
  const [days, before] = [new Map(month.days), new Map(month.before)];
  for (const day of finalDays(month)) {
    const rename = renaming(day);
    const { latest, passing, ...rest } = month.days.get(day) ?? NO_DAY;
    const named = { ...rest, latest: latest && rename(latest) };
    days.set(day, passing === undefined ? named : { ...named, passing: rename(passing) });
    const all = month.before.get(day) ?? [];
    const after = all.map(rename);
    if (after.some((one, at) => one !== all[at])) before.set(day, after);
  }
  return { ...month, days, before };
}
