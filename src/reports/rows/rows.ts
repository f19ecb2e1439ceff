/**
 * Finds the rows in a platform answer of undocumented shape: by rule, or by configuration. Ambiguity is an error: a wrong guess
 * would be served as a report.
 */
import type { Period } from '../query/period.js';
import { isJsonArray, type Json, type JsonArray, JsonNumber, JsonObject } from './json.js';
import { type PageHeaders, type Paging, readPaging } from './paging.js';

/** Usual names of the rows, most usual first. */
export const PREFERRED = 'data rows items results records list report reports campaigns'.split(' ');
const SINGLE_ROW: readonly string[] = ['data', 'result', 'report'];
/** Members about the call or the page. */
const ABOUT_THE_CALL: ReadonlySet<string> = new Set(
  'message messages error errors warning warnings status code success ok links'.split(' '),
);
/** Lists of objects that describe a report or an error. */
const NEVER_ROWS: ReadonlySet<string> = new Set(
  'columns fields headers header schema dimensions metrics measures filters sorts trace stack exceptions debug'.split(
    ' ',
  ),
);

/** Configuration of an endpoint's answers. Names in either spelling. */
export interface RowsRule {
  /** Member names joined by dots, from the root to the rows; `''` or `.` is the root. Absent: see {@link findRows}. */
  readonly rowsPath?: string | undefined;
  /** Absent: `date`, else `day`. */
  readonly dateField?: string | undefined;
  /** Members of every row; an answer without one is no report. */
  readonly requiredColumns?: readonly string[] | undefined;
}

export interface RowsInput {
  readonly rule: RowsRule;
  readonly period: Period;
  readonly byDate: boolean;
  /** Whether any split was requested. */
  readonly splits: boolean;
  /** Absent: the headers say nothing of pages. */
  readonly pageHeaders?: PageHeaders;
}

/** The message is for the log: names of members, no values. */
export class RowsError extends Error {
  override readonly name = 'RowsError';

  /** @param shape of the rows, if they are refused for their columns: equal for equal columns */
  constructor(
    message: string,
    readonly shape: string | null = null,
  ) {
    super(message);
  }
}

export interface FoundRows {
  readonly rows: readonly JsonObject[];
  /** The array of rows, or the one object. */
  readonly value: Json;
  /** One object, as an unsplit report may be. */
  readonly single: boolean;
  /** Path from the root: member names joined by dots. */
  readonly at: string;
  /** An empty list has a more usual name. */
  readonly beside: boolean;
  readonly paging: Paging | null;
  /** Why the answer may not be split by day, apart from dates; null: it may. */
  readonly obstacle: string | null;
}

export type Splittable = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** A value in the document, and the path from the root to it. */
interface Place {
  readonly value: Json;
  readonly steps: readonly Step[];
  readonly beside?: boolean;
}

interface Step {
  readonly container: JsonObject;
  readonly member: string;
}

const SEARCH_DEPTH = 3;

/**
 * Rows are: the array at the configured path; else the root array; else the root's `data`; else, within three levels, the only
 * array of objects (empty ones count last), or the one with a usual name. An unsplit report may be one object: the root, or
 * its `data`, `result` or `report`.
 * @throws RowsError if there are none, or several candidates
 */
export function findRows(document: Json, { rule, byDate, splits, pageHeaders }: RowsInput): FoundRows {
  const place = rule.rowsPath === undefined ? search(document, splits) : follow(document, rule.rowsPath);
  const rows = rowsAt(place, splits);
  const containers = place.steps.map((step) => step.container);
  const paging = readPaging(containers, rows.length, pageHeaders);
  const obstacle = obstacleOf(place, byDate, paging);
  return {
    rows,
    paging,
    obstacle,
    value: place.value,
    single: !isJsonArray(place.value),
    at: place.steps.map((step) => step.member).join('.'),
    beside: place.beside ?? false,
  };
}

/** @param dates ISO date of each row; null: none */
export function judgeSplittable(
  found: FoundRows,
  dates: readonly (string | null)[],
  period: Period,
): Splittable {
  const reason = found.obstacle ?? dateFault(dates, period);
  return reason === null ? { ok: true } : { ok: false, reason };
}

function dateFault(dates: readonly (string | null)[], { from, to }: Period): string | null {
  if (from === null || to === null) return 'no period was requested';
  const undated = dates.indexOf(null);
  if (undated >= 0) return `row ${undated} has no date that is a whole day`;
  const outside = dates.findIndex((date) => date !== null && (date < from || date > to));
  return outside < 0 ? null : `the date of row ${outside} is outside the requested period`;
}

function obstacleOf({ value, steps }: Place, byDate: boolean, paging: Paging | null): string | null {
  if (!byDate) return 'the report is not split by date';
  if (!isJsonArray(value)) return 'the report is one object';
  if (paging !== null) return 'the answer is one page of several';
  for (const { container, member } of steps) {
    const varying = container.names.find(
      (name, index) => name !== member && mayVary(container.values[index] as Json),
    );
    if (varying !== undefined) return `${show(varying)} beside the rows may vary with the period`;
  }
  return null;
}

/** Totals, counts and pages are numbers, or lists and objects of them. */
function mayVary(value: Json): boolean {
  return typeof value === 'object' && value !== null;
}

function rowsAt({ value, steps }: Place, splits: boolean): readonly JsonObject[] {
  const where = steps.length === 0 ? 'the root' : steps.map((step) => show(step.member)).join('.');
  if (isJsonArray(value)) {
    if (!isRows(value)) throw new RowsError(`${where} contains an element that is not an object`);
    return value;
  }
  if (splits) throw new RowsError(`${where} is not an array of rows, although a split was requested`);
  if (!(value instanceof JsonObject) || !hasFigure(value)) {
    throw new RowsError(`${where} is neither an array of rows nor an object with figures`);
  }
  return [value];
}

function isRows(value: JsonArray): value is readonly JsonObject[] {
  return value.every((item) => item instanceof JsonObject);
}

/** Whether a scalar member could be of a report. */
function hasFigure({ names, values }: JsonObject): boolean {
  return names.some((name, index) => {
    const value = values[index] as Json;
    if (value === null) return !SINGLE_ROW.includes(name);
    return (typeof value !== 'object' || value instanceof JsonNumber) && !ABOUT_THE_CALL.has(name);
  });
}

function follow(document: Json, rowsPath: string): Place {
  const steps: Step[] = [];
  let value = document;
  for (const member of ['', '.'].includes(rowsPath) ? [] : rowsPath.split('.')) {
    const next = value instanceof JsonObject ? value.get(member) : undefined;
    if (!(value instanceof JsonObject) || next === undefined) {
      throw new RowsError(`the configured path ${show(rowsPath)} ends before ${show(member)}`);
    }
    steps.push({ container: value, member });
    value = next;
  }
  return { value, steps };
}

function search(document: Json, splits: boolean): Place {
  if (!(document instanceof JsonObject)) return { value: document, steps: [] };
  const data = document.get('data');
  if (isJsonArray(data)) return { value: data, steps: [{ container: document, member: 'data' }] };
  const arrays = findArrays(document);
  const candidates = arrays.filter(({ value }) => isRows(value));
  if (candidates.length > 0) return choose(candidates);
  if (splits || arrays.length > 0) throw new RowsError('there is no array of objects');
  return singleObject(document);
}

interface ArrayPlace extends Place {
  readonly value: JsonArray;
}

/** All arrays in objects, level by level from the root. */
function findArrays(root: JsonObject): ArrayPlace[] {
  const found: ArrayPlace[] = [];
  let level: Place[] = [{ value: root, steps: [] }];
  for (let depth = 1; depth <= SEARCH_DEPTH; depth += 1) {
    const children = level.flatMap(childrenOf);
    for (const { value, steps } of children) if (isJsonArray(value)) found.push({ value, steps });
    level = children;
  }
  return found;
}

function childrenOf({ value, steps }: Place): Place[] {
  if (!(value instanceof JsonObject)) return [];
  const children = value.values.map((child, index): Place => {
    return { value: child, steps: [...steps, { container: value, member: value.names[index] as string }] };
  });
  return children.filter((child) => {
    const name = lastMember(child);
    return mayVary(child.value) && !ABOUT_THE_CALL.has(name) && !NEVER_ROWS.has(name.toLowerCase());
  });
}

function lastMember({ steps }: Place): string {
  return steps.at(-1)?.member ?? '';
}

function choose(candidates: readonly ArrayPlace[]): Place {
  const filled = candidates.filter(({ value }) => value.length > 0);
  const pool = filled.length > 0 ? filled : candidates;
  const usual = pool.filter((place) => PREFERRED.includes(lastMember(place)));
  const [first, second] = (pool.length > 1 ? usual : pool).toSorted(byDepthThenName);
  if (first === undefined || (second !== undefined && byDepthThenName(first, second) === 0)) {
    throw new RowsError('several arrays could be the rows; set report.endpoints.*.rowsAt');
  }
  const isUsual = PREFERRED.includes(lastMember(first));
  return !isUsual && candidates.some((place) => PREFERRED.includes(lastMember(place)))
    ? { ...first, beside: true }
    : first;
}

function byDepthThenName(a: Place, b: Place): number {
  const rank = (place: Place): number => PREFERRED.indexOf(lastMember(place));
  return a.steps.length - b.steps.length || rank(a) - rank(b);
}

function singleObject(root: JsonObject): Place {
  for (const member of SINGLE_ROW) {
    const value = root.get(member);
    if (value instanceof JsonObject && hasFigure(value))
      return { value, steps: [{ container: root, member }] };
  }
  return { value: root, steps: [] };
}

function show(name: string): string {
  return JSON.stringify(name.slice(0, 40));
}
