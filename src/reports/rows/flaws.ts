/**
 * Flaws: how an answer visibly differs from the query. Its rows are passed on with a warning; they are not final, are stored
 * for five minutes at most, and nothing is learned from them. Pure.
 */
import type { Period } from '../query/period.js';
import { isJsonArray, type Json, JsonError, JsonNumber, JsonObject, parseJson } from './json.js';

// Signs that an answer with status 200 is an error: some platforms answer so when a layer of theirs fails. Names of members are
// compared in lower case without separators. What a text says is not read, but for single words of states.

/** Objects around a report that may describe the call. */
const WRAPPERS = new Set(
  'data result results response meta status header head body report payload'.split(' '),
);
const DEEPEST = 3;

const SUCCESS_FLAGS = new Set(['success', 'ok', 'succeeded', 'successful']);
const FAILURE_FLAGS = new Set(['iserror', 'haserror', 'haserrors', 'isfailed', 'failed', 'isfault']);
const HTTP_STATUSES = new Set(
  'status code statuscode httpstatus httpcode httpstatuscode errorcode'.split(' '),
);
const STATUSES = new Set(
  'status state result outcome statuscode httpstatus httpcode httpstatuscode'.split(' '),
);
const FAULTS = new Set(
  'error errors err fault faults exception exceptions errormessage errormsg errordescription'.split(' '),
);
const CODES = new Set('code errorcode errcode errno resultcode returncode retcode statuscode'.split(' '));
const TRACES = new Set('trace stack stacktrace backtrace'.split(' '));
const REASONS = new Set([...FAULTS, 'message', 'messages', 'msg', 'reason', 'reasons']);
/** Without rows, a text under these may say why. */
const TELLS_WHY = new Set([...STATUSES, ...REASONS, 'info', 'notice', 'detail', 'details']);
const UNFINISHED = /^(?:is)?(?:partial|incomplete|truncated|throttled)$/;
/** Names that describe a call; `file`, `line` etc. are of a stack trace. */
const OF_A_CALL = new Set([
  ...[...TELLS_WHY, ...SUCCESS_FLAGS, ...FAILURE_FLAGS, ...CODES, ...TRACES],
  ...'description warning warnings links hint type class file line function requestid traceid'.split(' '),
]);

/** Whole values that say nothing, or that the call went well. */
const WELL =
  /^(?:ok|okay|success|successful|succeeded|done|completed?|finished|ready|none|null|false|no[ _](?:data|errors?)|[a-z]?0+)?\s*[.!]?$/i;
/** Words of a state, as `INTERNAL_ERROR`; `error` and `fail` are those of JSend. */
const FAILED = /(?:^|[^a-z])(?:error|fail|failed|failure)(?:[^a-z]|$)/i;

/** `error_message`, `errorMessage` and `Error-Message` are equal. */
function bareWord(name: string): string {
  return name.toLowerCase().replace(/[_.\-\s]/g, '');
}

/**
 * @param hasRows whether the answer seems to have rows; then an unusual code is no sign, and a number under `errors` is a count, as that under `error` is none
 * @param rows the found rows, which are not searched
 * @returns the name of the member that identifies the answer as an error
 */
export function findErrorSign(document: Json, rows: Json | null, hasRows: boolean): string | null {
  return firstMember(document, rows, (object) => signIn(object, rows, hasRows));
}

/** Whether a member is the wanted one, by its {@link bareWord} and value. */
type IsWanted = (word: string, value: Json) => boolean;

/** @returns the name of the first wanted member in the objects around a report; null if there is none */
function firstMember(
  document: Json,
  rows: Json | null,
  wantedIn: (object: JsonObject) => IsWanted,
): string | null {
  for (const object of wrappersOf(document, rows)) {
    const name = memberOf(object, wantedIn(object));
    if (name !== null) return name;
  }
  return null;
}

function memberOf({ names, values }: JsonObject, isWanted: IsWanted): string | null {
  return names.find((name, at) => isWanted(bareWord(name), values[at] as Json)) ?? null;
}

/** The objects around a report that may describe the call, level by level. */
function wrappersOf(document: Json, rows: Json | null): readonly JsonObject[] {
  const all: JsonObject[] = [];
  let level: Json[] = [document];
  for (let depth = 0; depth < DEEPEST; depth += 1) {
    const objects = level.filter((value) => value instanceof JsonObject);
    all.push(...objects);
    level = objects.flatMap(({ names, values }) =>
      values.filter((value, at) => value !== rows && WRAPPERS.has(bareWord(names[at] as string))),
    );
  }
  return all;
}

/** @returns the member with a reason or an error code */
export function findRefusal(object: JsonObject): string | null {
  const isWell = hasGoodReason(object);
  return memberOf(object, (word, value) =>
    CODES.has(word) ? !isWell && isErrorCode(value) : REASONS.has(word) && isSaid(value),
  );
}

/** @returns the member that may say why there are no rows: a text that is no word of success, `partial`, a code of 1 */
export function findDoubt(document: Json, rows: Json): string | null {
  return firstMember(document, rows, (object) => {
    const success = memberOf(object, (word, value) =>
      SUCCESS_FLAGS.has(word) ? isTrue(value) : TELLS_WHY.has(word) && textsOf(value).some(saysWell),
    );
    return (word, value) => {
      if (UNFINISHED.test(word)) return isTrue(value);
      // A success for some platforms, a failure for others; as the status of the document it is a flag of success.
      if ((CODES.has(word) || (STATUSES.has(word) && object !== document)) && scalarText(value) === '1')
        return success === null;
      return TELLS_WHY.has(word) && textsOf(value).some((text) => !isNumeric(text) && !saysWell(text));
    };
  });
}

/** @returns a code that is neither a number nor a word for success */
export function findWordedCode(document: Json, rows: Json): string | null {
  const isWorded: IsWanted = (word, value) =>
    CODES.has(word) && textsOf(value).some((text) => !isNumeric(text) && !saysWell(text));
  return firstMember(document, rows, () => isWorded);
}

/** Whether a member describes a call, not a report. */
export function isCallMetadata(name: string): boolean {
  const word = bareWord(name);
  return OF_A_CALL.has(word) || word.startsWith('retry');
}

/** Whether a member tells how a call went, or how far a job is. */
export function isState(name: string): boolean {
  const word = bareWord(name);
  return [STATUSES, CODES, SUCCESS_FLAGS, FAILURE_FLAGS].some((words) => words.has(word));
}

function signIn(object: JsonObject, rows: Json | null, hasRows: boolean): IsWanted {
  const isWell = hasGoodReason(object);
  return (word, value) =>
    value !== rows &&
    value !== null &&
    ((SUCCESS_FLAGS.has(word) && isFalse(value)) ||
      (FAILURE_FLAGS.has(word) && isTrue(value) && isFault(value, hasRows)) ||
      (HTTP_STATUSES.has(word) && /^[45]\d\d$/.test(scalarText(value) ?? '')) ||
      (STATUSES.has(word) && (value === false || textsOf(value).some(saysFailed))) ||
      (FAULTS.has(word) && isFault(value, hasRows && word !== 'error')) ||
      (TRACES.has(word) && isJsonArray(value) && isSaid(value)) ||
      (CODES.has(word) && !hasRows && !isWell && isErrorCode(value)));
}

function hasGoodReason(object: JsonObject): boolean {
  const isGood: IsWanted = (word, value) =>
    REASONS.has(word) && typeof value === 'string' && value.trim() !== '' && saysWell(value);
  return memberOf(object, isGood) !== null;
}

function isFalse(value: Json): boolean {
  const text = scalarText(value);
  return text === 'false' || text === '0';
}

/** A higher number is a count. */
function isTrue(value: Json): boolean {
  const text = scalarText(value);
  return text === 'true' || text === '1';
}

/** @param hasRows then a number may be a count */
function isFault(value: Json, hasRows: boolean): boolean {
  return isSaid(value) && !(hasRows && value instanceof JsonNumber);
}

/** 0, 1, 2xx and 200xx are usual codes of success. */
function isErrorCode(value: Json): boolean {
  const text = scalarText(value);
  if (text === null || typeof value === 'boolean') return false;
  return isNumeric(text) ? !/^(?:0+|1|2\d\d|200\d{2,3})$/.test(text) : saysFailed(text);
}

/** Whether there is content: `{"code":0,"message":""}`, `[]` and `"none"` have none. */
function isSaid(value: Json): boolean {
  if (isJsonArray(value)) return value.some(isSaid);
  if (value instanceof JsonObject) return value.values.some(isSaid);
  const text = scalarText(value);
  return text !== null && !saysWell(text);
}

function saysWell(text: string): boolean {
  return WELL.test(text.trim());
}

function saysFailed(text: string): boolean {
  return FAILED.test(text.replaceAll('_', ' '));
}

function isNumeric(text: string): boolean {
  return /^\s*[-+]?\d+\s*$/.test(text);
}

function textsOf(value: Json): readonly string[] {
  return (isJsonArray(value) ? value : [value]).filter((one) => typeof one === 'string');
}

function scalarText(value: Json): string | null {
  if (value instanceof JsonNumber) return value.text;
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? value.trim() : null;
}

/** False for other data than JSON: a path that is no report may return anything. */
export function saysError(body: Buffer): boolean {
  const document = parsed(body.toString());
  const held = document instanceof JsonObject ? document.values.flatMap(listIn) : listIn(document);
  const hasRows = held.some((value) => value instanceof JsonObject);
  if (findErrorSign(document, null, hasRows) !== null) return true;
  return !hasRows && document instanceof JsonObject && findRefusal(document) !== null;
}

function listIn(value: Json): readonly Json[] {
  return isJsonArray(value) ? value : [];
}

function parsed(text: string): Json {
  try {
    return parseJson(text, { allowBom: true });
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}

export const FLAW_CODES = [
  'duplicate_rows',
  'pages_left',
  'platform_warning',
  'rows_capped',
  'rows_of_other_advertisers',
  'rows_of_other_campaigns',
  'rows_outside_filter',
  'rows_outside_range',
  'undated_rows',
] as const;

export interface Flaw {
  readonly code: (typeof FLAW_CODES)[number];
  /** Text of the platform, bounded and escaped. */
  readonly text?: string;
  /** Row count at which the platform truncated the answer. */
  readonly rows?: number;
}

/** Maximum freshness of a flawed answer. */
export const FLAWED_MS = 300_000;

interface DatedRow {
  /** Null: no date that is a whole day. */
  readonly date: string | null;
  readonly values: readonly Json[];
  /** `dateAt` is negative if no member is the date. */
  readonly plan: { readonly dateAt: number };
}

export function dateFlaws(rows: readonly DatedRow[], { from, to }: Period): readonly Flaw[] {
  const dates = new Set(rows.map(({ date }) => date));
  const isDated = dates.size > (dates.has(null) ? 1 : 0);
  const isOutside = (date: string | null) =>
    date !== null && ((from !== null && date < from) || (to !== null && date > to));
  const isUndated = ({ date, values, plan: { dateAt } }: DatedRow) =>
    date === null && !holdsDate(values[dateAt]) && !((dateAt < 0 || !isDated) && values.some(startsWithDay));
  return [
    ...([...dates].some(isOutside) ? [{ code: 'rows_outside_range' as const }] : []),
    // If no member is the date, or none can be read, another member may contain it.
    ...(dates.has(null) && rows.some(isUndated) ? [{ code: 'undated_rows' as const }] : []),
  ];
}

/** Also a date in an unknown format; not a text without a digit, such as `Total`. */
function holdsDate(value: Json | undefined): boolean {
  return value !== undefined && value !== null && (typeof value !== 'string' || /\d/.test(value));
}

const STARTS_WITH_DAY = /^(?:\d{4}([-/.]?)\d\d\1\d\d|\d\d?([-/.])\d\d?\2\d{4})/;

function startsWithDay(value: Json | undefined): boolean {
  const text = value instanceof JsonNumber ? value.text : value;
  return typeof text === 'string' && STARTS_WITH_DAY.test(text);
}

const WARNINGS = new Set(['warning', 'warnings']);
const MAX_TEXTS = 3;
const MAX_CHARS = 200;
const CONTROL = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu;

/** Warnings next to the rows. A number may be a count of something else. */
export function platformWarning(document: Json, rows: Json): Flaw | null {
  for (const { names, values } of wrappersOf(document, rows)) {
    const at = values.findIndex(
      (value, index) => WARNINGS.has(bareWord(names[index] as string)) && value !== rows && isSaid(value),
    );
    const value = values[at];
    if (value === undefined || value instanceof JsonNumber) continue;
    const text = textsIn(value).slice(0, MAX_TEXTS).map(escaped).join('; ');
    return { code: 'platform_warning', ...(text === '' ? {} : { text }) };
  }
  return null;
}

function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value];
  const held = isJsonArray(value) ? value : value instanceof JsonObject ? value.values : [];
  return held.slice(0, MAX_TEXTS).flatMap(textsIn);
}

function escaped(text: string): string {
  const short = [...text.slice(0, 2 * MAX_CHARS)].slice(0, MAX_CHARS).join('');
  const shown = short.replace(CONTROL, (one) => `\\u{${(one.codePointAt(0) as number).toString(16)}}`);
  return JSON.stringify(short.length < text.length ? `${shown}…` : shown);
}

/** Each code once. */
export function joinFlaws(
  parts: readonly { readonly flaws?: readonly Flaw[] | undefined }[],
): readonly Flaw[] {
  const all = new Map<string, Flaw>();
  for (const { flaws } of parts)
    for (const flaw of flaws ?? []) if (!all.has(flaw.code)) all.set(flaw.code, flaw);
  return [...all.values()];
}
