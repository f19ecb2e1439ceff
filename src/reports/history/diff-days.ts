/**
 * Differences between two states of a day, by row and column. Pure.
 *
 * Rows are matched by date, ids and the dimensions of the split. Names are attributes: a renamed campaign is a changed row,
 * not a removed and an added one.
 */
import { type GatewayError, invalidQuery } from '../../errors.js';
import { groupBy } from '../../lib/group-by.js';
import { type Decimal, decimalOf, isSame, percentOf, shownAs, subtract } from '../rows/decimal.js';
import type { RowsHeader } from '../rows/entry.js';
import { holdsId, holdsText, isVersion } from '../rows/row-names.js';
import type { Row } from '../rows/sums.js';
import { kindsOf } from '../rows/warnings.js';
import { guarded, type Readable, readStates, type StatesWanted, sumRows } from './read.js';
import type { DayStates, Revision } from './revision.js';

export interface DayRows {
  readonly rows: readonly Row[];
  readonly columns: readonly string[];
}

interface CellDiff {
  readonly old: unknown;
  readonly new: unknown;
  /** For numbers: new minus old. */
  readonly diff?: number | string;
  /** In percent of the old value, to 4 places; null from 0. */
  readonly percent?: number | string | null;
}

export interface RowDiff {
  readonly dimensions: ReadonlyMap<string, unknown>;
  readonly changed: ReadonlyMap<string, CellDiff>;
  /** method: columns or token differ, so the platform need not have changed the data */
  readonly kind: 'changed' | 'added' | 'removed' | 'method';
}

interface DiffRules {
  readonly date: string;
  /** E.g. `['date', 'campaign']`. */
  readonly split: readonly string[];
  readonly isMethod: boolean;
}

/** @returns rows that differ, in the order of the newer state; removed ones last */
export function diffDay(old: DayRows, now: DayRows, rules: DiffRules): RowDiff[] {
  const isDimension = dimensionsOf(old, now, rules);
  const compared = comparedColumns(old, now, isDimension);
  const before = byIdentity(old.rows, isDimension);
  const diffs: RowDiff[] = [];
  const dimensions = (row: Row): ReadonlyMap<string, unknown> =>
    new Map([['date', rules.date], ...[...row].filter(([column]) => isDimension(column))]);
  const whole = (row: Row, side: 'old' | 'new') =>
    new Map(
      [...row]
        .filter(([column]) => !isDimension(column))
        .map(([column, value]): [string, CellDiff] => [
          column,
          side === 'old' ? { old: value, new: null } : { old: null, new: value },
        ]),
    );
  const kindOf = (kind: RowDiff['kind']) => (rules.isMethod ? 'method' : kind);
  for (const [identity, rows] of byIdentity(now.rows, isDimension)) {
    const { pairs, rest, gone } = pairUp(before.get(identity) ?? [], rows, compared);
    before.set(identity, gone);
    for (const [one, other] of pairs) {
      const changed = changedCells(one, other, compared);
      if (changed.size > 0) diffs.push({ dimensions: dimensions(other), changed, kind: kindOf('changed') });
    }
    for (const row of rest)
      diffs.push({ dimensions: dimensions(row), changed: whole(row, 'new'), kind: kindOf('added') });
  }
  for (const row of [...before.values()].flat())
    diffs.push({ dimensions: dimensions(row), changed: whole(row, 'old'), kind: kindOf('removed') });
  return diffs;
}

function dimensionsOf(old: DayRows, now: DayRows, { date, split }: DiffRules): (column: string) => boolean {
  const rows = [...old.rows, ...now.rows];
  const known = new Map<string, boolean>();
  const look = (column: string) =>
    holdsId(column) ||
    split.includes(column) ||
    rows.every((row) => !row.has(column) || row.get(column) === date);
  return (column) => {
    const found = known.get(column) ?? look(column);
    known.set(column, found);
    return found;
  };
}

/** Columns of both states; the columns of a state without rows are unknown. */
function comparedColumns(old: DayRows, now: DayRows, isDimension: (column: string) => boolean): string[] {
  const either = new Set([...now.columns, ...old.columns]);
  const inBoth = (column: string) => old.columns.includes(column) && now.columns.includes(column);
  return [...either].filter((column) => !isDimension(column) && inBoth(column));
}

function byIdentity(rows: readonly Row[], isDimension: (column: string) => boolean): Map<string, Row[]> {
  return groupBy(rows, (row) => {
    // An id may be text in one answer and a number in another.
    const own = [...row]
      .filter(([column]) => isDimension(column))
      .map(([column, value]) => [column, String(value)]);
    return JSON.stringify(own.sort(([a = ''], [b = '']) => (a < b ? -1 : 1)));
  });
}

/** Pairs rows of one identity, usually one on each side; several are paired by equal texts. */
function pairUp(old: readonly Row[], now: readonly Row[], columns: readonly string[]) {
  const pairs: [old: Row, now: Row][] = [];
  if (old.length <= 1 && now.length <= 1) {
    const [one, other] = [old[0], now[0]];
    if (one === undefined || other === undefined) return { pairs, rest: now, gone: [...old] };
    return { pairs: [[one, other]], rest: [], gone: [] };
  }
  // Reversed, so that pop() takes the first in O(1): without ids there may be tens of thousands of rows.
  const byTexts = groupBy([...old].reverse(), (row) => textsOf(row, columns));
  const open: Row[] = [];
  for (const row of now) {
    const one = byTexts.get(textsOf(row, columns))?.pop();
    if (one === undefined) open.push(row);
    else pairs.push([one, row]);
  }
  const paired = new Set(pairs.map(([one]) => one));
  const left = old.filter((row) => !paired.has(row));
  for (const [at, row] of open.slice(0, left.length).entries()) pairs.push([left[at] as Row, row]);
  return { pairs, rest: open.slice(left.length), gone: left.slice(open.length) };
}

/** Equal for rows with equal texts. */
function textsOf(row: Row, columns: readonly string[]): string {
  const texts = columns.map((column) => {
    const value = row.get(column);
    return typeof value === 'string' && decimalOf(value) === null ? value : null;
  });
  return JSON.stringify(texts);
}

function changedCells(old: Row, now: Row, columns: readonly string[]): Map<string, CellDiff> {
  const changed = new Map<string, CellDiff>();
  for (const column of columns) {
    const [before, after] = [old.get(column) ?? null, now.get(column) ?? null];
    const cell = diffCell(column, before, after);
    if (cell !== null) changed.set(column, cell);
  }
  return changed;
}

function diffCell(column: string, before: unknown, after: unknown): CellDiff | null {
  const [one, other] = [quantityOf(column, before), quantityOf(column, after)];
  if (one !== null && other !== null) {
    if (isSame(one, other)) return null;
    const diff = subtract(other, one);
    const percent = percentOf(one, diff);
    return {
      old: before,
      new: after,
      diff: shownAs(diff),
      percent: percent === null ? null : shownAs(percent),
    };
  }
  return JSON.stringify(before) === JSON.stringify(after) ? null : { old: before, new: after };
}

/** Text in a column of names is no number, even if it looks like one. */
function quantityOf(column: string, value: unknown): Decimal | null {
  return holdsText(column, column) || isVersion(column) ? null : decimalOf(value);
}

interface Shaped {
  readonly revision: Pick<Revision, 'schema' | 'credential'>;
  /** Null if the rows can no longer be read. */
  readonly header: Pick<RowsHeader, 'columns' | 'types' | 'rowCount'> | null;
}

/**
 * Whether two revisions differ by platform data only, not by method: same token, and columns of equal names and types. A day
 * without rows matches any columns.
 */
export function isSameMethod(a: Shaped, b: Shaped): boolean {
  if (a.revision.credential !== b.revision.credential) return false;
  if (a.revision.schema === b.revision.schema) return true;
  const [one, other] = [a.header, b.header];
  if (one === null || other === null) return false;
  return one.rowCount === 0 || other.rowCount === 0 || haveSameColumns(one, other);
}

type Columns = NonNullable<Shaped['header']>;

function haveSameColumns(a: Columns, b: Columns): boolean {
  if (a.columns.length !== b.columns.length) return false;
  const kinds = kindsOf(b);
  return [...kindsOf(a)].every(([column, kind]) => {
    const other = kinds.get(column);
    return other !== undefined && (kind === 'nothing' || other === 'nothing' || kind === other);
  });
}

export interface RevisionsWanted extends StatesWanted {
  /** Of the kind; revisions of another one are void. */
  readonly generation: string;
  /** Whether the kind is proven divisible. */
  readonly isProven: boolean;
}

export interface ListedRevision {
  readonly revision: Revision;
  /** first: first valid one · method: columns or token differ from the previous one · void: no longer valid */
  readonly kind: 'first' | 'changed' | 'method' | 'void';
  /** Why it is void. */
  readonly void: string | null;
  /** Null if void, or if its rows can no longer be read. */
  readonly totals: Readonly<Record<string, number | string>> | null;
}

const MAX_LISTED = 5_000;
const READ_AT_ONCE = 10;

/**
 * @returns also the account ids in any of the rows
 * @throws GatewayError `not_known_then`, `not_ready`; `invalid_query` if there are too many
 */
export async function listRevisions(g: Readable, wanted: RevisionsWanted) {
  const { series, dates } = wanted;
  return guarded(g, async () => {
    const states = await readStates(g, wanted);
    const known = states.map(({ asked, revisions }) =>
      // If the report names no account, the rows tell whether it was erased; see readSums.
      revisions.filter((one) => asked.length === 0 || !g.isErased({ ...one, asked, held: [] })),
    );
    const count = known.flat().length;
    if (count > MAX_LISTED) throw tooMany(count);
    const wantedRows = known.flatMap((revisions, at) =>
      revisions
        .filter((revision) => voidOf(revision, wanted) === null)
        .map((revision) => ({ day: dates[at] as string, revision, asked: (states[at] as DayStates).asked })),
    );
    const { sums, erased } = await readSums(g, series, wantedRows);
    const days = known.map((revisions, at) => {
      const shown = revisions.filter((one) => !erased.has(one));
      return { date: dates[at] as string, revisions: judge(shown, sums, wanted) };
    });
    const accounts = [...sums.values()].flatMap(({ header }) => header.accounts);
    return { days, accounts: [...new Set(accounts)] };
  });
}

interface Summed {
  readonly header: RowsHeader;
  readonly totals: Readonly<Record<string, number | string>>;
}

/** @returns sums of readable revisions, and the erased revisions */
async function readSums(
  { days, isErased }: Readable,
  series: string,
  wanted: readonly { readonly day: string; readonly revision: Revision; readonly asked: readonly string[] }[],
) {
  const sums = new Map<Revision, Summed>();
  const erased = new Set<Revision>();
  for (let from = 0; from < wanted.length; from += READ_AT_ONCE) {
    const some = wanted.slice(from, from + READ_AT_ONCE);
    const entries = await days.rows(series, some);
    for (const [at, { revision, asked }] of some.entries()) {
      const entry = entries[at] ?? null;
      if (entry === null) continue;
      const { header } = entry;
      if (isErased({ ...revision, asked, held: header.accounts })) erased.add(revision);
      else sums.set(revision, { header, totals: await sumRows(entry) });
    }
  }
  return { sums, erased };
}

function judge(
  revisions: readonly Revision[],
  sums: ReadonlyMap<Revision, Summed>,
  wanted: RevisionsWanted,
): ListedRevision[] {
  const shaped = (revision: Revision) => ({ revision, header: sums.get(revision)?.header ?? null });
  let before: Revision | null = null;
  return revisions.map((revision) => {
    const why = voidOf(revision, wanted);
    if (why !== null) return { revision, kind: 'void', void: why, totals: null };
    const isSame = before !== null && isSameMethod(shaped(before), shaped(revision));
    const kind = before === null ? 'first' : isSame ? 'changed' : 'method';
    before = revision;
    return { revision, kind, void: null, totals: sums.get(revision)?.totals ?? null };
  });
}

function voidOf(revision: Revision, { generation, isProven }: RevisionsWanted): string | null {
  if (revision.void !== undefined) return revision.void;
  if (revision.generation !== generation) return 'refuted';
  return isProven ? null : 'not_proven';
}

function tooMany(count: number): GatewayError {
  return invalidQuery({
    param: 'query.dateTo',
    message: `ends a period with ${count} revisions; the limit is ${MAX_LISTED}: request fewer days`,
  });
}
