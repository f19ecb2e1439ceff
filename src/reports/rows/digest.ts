/**
 * The expensive part of reading an answer: parse, normalise, split by day, hash. Runs on a worker thread for large answers.
 */
import { accountsShown } from '../query/accounts.js';
import { daysBetween } from '../query/days.js';
import { encodeTypes } from './column-types.js';
import { CharsetError, decodeText } from './decode-text.js';
import { bodyHash, joinRows, ROW_SEPARATOR } from './entry.js';
import type { Flaw } from './flaws.js';
import { JsonError, parseJson } from './json.js';
import {
  agreeOn,
  columnsIn,
  inOneOrder,
  type Normalized,
  type NormalizeInput,
  namedAlone,
  normalizeAnswer,
  typesOf,
  writeRows,
} from './normalize.js';
import type { Paging } from './paging.js';
import { camelCase } from './row-names.js';
import { RowsError, type Splittable } from './rows.js';
import { sortedHashOf } from './select-rows.js';

export interface DigestInput extends NormalizeInput {
  /** What the bytes are said to be, in lower case. Null or absent: UTF-8. */
  readonly charset?: string | null;
  /** Rows in their own order, all together, also when days can be split; needed for whole entries. */
  readonly whole: boolean;
}

/** Rows as the cache holds them. */
export interface RowBlock {
  readonly body: Buffer;
  readonly columns: readonly string[];
  /** Their members as the platform spells them, where any is spelt otherwise. */
  readonly sources: readonly string[] | undefined;
  /** What was seen of each column, in their order; see column-types.ts. */
  readonly types: readonly string[];
  readonly rowCount: number;
  /** Digest of the body. */
  readonly hash: string;
}

export interface DayBlock extends RowBlock {
  readonly date: string;
  /** Digest of the rows without regard to their order, for telling whether two answers agree on a day. */
  readonly sortedHash: string;
  /** Some row is there twice. */
  readonly repeats: boolean;
}

export interface Digest {
  readonly whole: RowBlock | null;
  /** Every day of the period, those without rows too; null when the answer may not be split. */
  readonly days: readonly DayBlock[] | null;
  readonly splittable: Splittable;
  readonly rowCount: number;
  /** Date of the last row of an answer split by date; null when it has none. */
  readonly lastDate: string | null;
  readonly accounts: readonly string[];
  readonly paging: Paging | null;
  /** Member names joined by dots, from the root to the rows. */
  readonly place: string;
  /** Of all rows. */
  readonly columns: readonly string[];
  /** Why it may be no report; null when nothing speaks against it. */
  readonly doubt: string | null;
  /** What of all of it is visibly not what was asked for. */
  readonly flaws: readonly Flaw[];
}

/** @throws JsonError, RowsError */
export function digestAnswer(text: string, ask: DigestInput): Digest {
  const answer = normalizeAnswer(text, ask);
  const { rows, accounts, splittable, paging, place, doubt, flaws } = answer;
  const { from, to } = ask.period;
  const isCut = ask.byDate && splittable.ok && from !== null && to !== null;
  const days = isCut ? splitByDay(answer, daysBetween(from, to)) : null;
  return {
    days,
    // What cannot be split is of use as a whole, though nobody asked for that.
    whole: ask.whole || days === null || doubt !== null ? wholeOf(answer) : null,
    splittable,
    rowCount: rows.length,
    lastDate: ask.byDate ? (rows.findLast(({ date }) => date !== null)?.date ?? null) : null,
    accounts,
    paging,
    place,
    columns: answer.columns,
    doubt,
    flaws: repeatsRow(answer, days) ? [...flaws, { code: 'duplicate_rows' }] : flaws,
  };
}

/** @param days the same rows, where they are split: they were sorted there */
function repeatsRow(
  { rows, drafts, types }: Pick<Normalized, 'rows' | 'drafts' | 'types'>,
  days: readonly DayBlock[] | null,
): boolean {
  const repeats = days === null ? holdsTwice(rows.map(({ json }) => json)) : days.some((day) => day.repeats);
  if (repeats) return true;
  const ordered = inOneOrder(drafts);
  return ordered !== null && holdsTwice(writeRows(ordered, types));
}

function holdsTwice(texts: readonly string[]): boolean {
  return new Set(texts).size < texts.length;
}

function wholeOf({ rows, columns, sources, types }: Normalized): RowBlock {
  const body = joinRows(rows);
  return {
    body,
    columns,
    sources,
    types: encodeTypes(columns, types),
    rowCount: rows.length,
    hash: bodyHash(body),
  };
}

/** Rows come in date order; a day without rows is a block too, for its emptiness is an answer. */
function splitByDay(answer: Normalized, dates: readonly string[]): DayBlock[] {
  const { rows, columns } = answer;
  const isSettled = columns.some((column) => column !== camelCase(column));
  let at = 0;
  return dates.map((date) => {
    const start = at;
    while (at < rows.length && rows[at]?.date === date) at += 1;
    return dayBlock(date, answer, { start, end: at, isSettled });
  });
}

/** Types and names are decided by the day's own rows: what else was asked for with it must not change a day. */
function dayBlock(
  date: string,
  answer: Normalized,
  { start, end, isSettled }: { readonly start: number; readonly end: number; readonly isSettled: boolean },
): DayBlock {
  const written = answer.rows.slice(start, end);
  const given = answer.drafts.slice(start, end);
  const drafts = isSettled ? namedAlone(given) : given;
  const named = columnsIn(drafts);
  const own = typesOf(drafts);
  const texts =
    !isSettled && agreeOn(named.columns, own, answer.types)
      ? written.map(({ json }) => json)
      : writeRows(drafts, own);
  const body = Buffer.from(texts.join(ROW_SEPARATOR));
  const sorted = texts.toSorted();
  return {
    date,
    body,
    ...named,
    types: encodeTypes(named.columns, own),
    rowCount: written.length,
    hash: bodyHash(body),
    sortedHash: sortedHashOf(sorted),
    repeats: sorted.some((text, at) => text === sorted[at + 1]),
  };
}

/** What came of an answer's bytes. Plain values, so that it can come from another thread. */
export type DigestOutcome =
  | { readonly kind: 'digest'; readonly digest: Digest }
  /** JSON, but no report, or none whose rows can be told; the accounts it names are known all the same. */
  | { readonly kind: 'no-rows'; readonly reason: string; readonly accounts: readonly string[] }
  /** Not JSON as read here, or it holds the token. */
  | { readonly kind: 'invalid'; readonly reason: string };

/**
 * Reads an answer's bytes.
 * @param isForbidden whether the text holds what may not be given, in whatever charset it came
 */
export function digestBytes(
  bytes: Uint8Array,
  ask: DigestInput,
  isForbidden: (text: Buffer) => boolean = () => false,
): DigestOutcome {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let text = '';
  try {
    text = decodeText(buffer, ask.charset ?? null);
    const isForeign = text.length * 2 === buffer.length || (ask.charset ?? 'utf-8') !== 'utf-8';
    if (isForeign && isForbidden(Buffer.from(text)))
      return { kind: 'invalid', reason: 'the answer contains the platform token' };
    return { kind: 'digest', digest: digestAnswer(text, ask) };
  } catch (error) {
    if (error instanceof JsonError || error instanceof CharsetError)
      return { kind: 'invalid', reason: error.message };
    if (!(error instanceof RowsError)) throw error;
    const accounts = [
      ...accountsShown(parseJson(text, { allowBom: true }), ask.accountPattern, ask.nonAccounts),
    ];
    return { kind: 'no-rows', reason: error.message, accounts };
  }
}
