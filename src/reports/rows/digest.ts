/** The expensive part of reading an answer: parse, normalise, split by day, hash. On a worker thread for large answers. */
import { accountsShown } from '../query/accounts.js';
import { daysBetween } from '../query/days.js';
import { type ColumnTypes, encodeTypes } from './column-types.js';
import { CharsetError, decodeText } from './decode-text.js';
import { bodyHash, ROW_SEPARATOR } from './entry.js';
import { JsonError } from './json.js';
import {
  agreeOn,
  columnsIn,
  inOneOrder,
  type Normalized,
  type NormalizeInput,
  namedAlone,
  normalizeAnswer,
  parseAnswer,
  plansOf,
  typesOf,
  writeRows,
} from './normalize.js';
import { RowsError } from './rows.js';
import { sortedHashOf } from './select-rows.js';

export interface DigestInput extends NormalizeInput {
  /** Declared charset, in lower case. Null or absent: UTF-8. */
  readonly charset?: string | null;
  /** Also all rows together in their own order, for whole entries. */
  readonly whole: boolean;
}

/** The members of a `RowsHeader` that depend on the rows (entry.ts), and the body. */
export type RowBlock = Readonly<ReturnType<typeof blockOf>>;

export interface DayBlock extends RowBlock {
  readonly date: string;
  /** See {@link sortedHashOf}. */
  readonly sortedHash: string;
  /** Whether a row occurs twice. */
  readonly repeats: boolean;
}

export interface Digest
  extends Pick<Normalized, 'splittable' | 'accounts' | 'paging' | 'place' | 'columns' | 'doubt' | 'flaws'> {
  readonly whole: RowBlock | null;
  /** All days of the period; null if the answer may not be split. */
  readonly days: readonly DayBlock[] | null;
  readonly rowCount: number;
  /** Date of the last row if split by date; null if there is none. */
  readonly lastDate: string | null;
}

/** @throws JsonError, RowsError */
export function digestAnswer(text: string, ask: DigestInput): Digest {
  const answer = normalizeAnswer(text, ask);
  const { rows, accounts, splittable, paging, place, doubt, flaws } = answer;
  const { from, to } = ask.period;
  const isCut = ask.byDate && splittable.ok && from !== null && to !== null;
  const days = isCut ? splitByDay(answer, daysBetween(from, to)) : null;
  const isWhole = ask.whole || days === null || doubt !== null;
  return {
    days,
    whole: isWhole
      ? blockOf(
          answer.rows.map(({ json }) => json),
          answer,
          answer.types,
        )
      : null,
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

/** @param days the same rows, if split: they have been checked */
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

function blockOf(
  texts: readonly string[],
  { columns, sources }: Pick<Normalized, 'columns' | 'sources'>,
  types: ColumnTypes,
) {
  const body: Buffer = Buffer.from(texts.join(ROW_SEPARATOR));
  const rowCount = texts.length;
  return { body, columns, sources, types: encodeTypes(columns, types), rowCount, hash: bodyHash(body) };
}

/** Rows are in date order. A day without rows is a block too. */
function splitByDay(answer: Normalized, dates: readonly string[]): DayBlock[] {
  const { rows, drafts } = answer;
  const isSettled = [...plansOf(drafts)].some((plan) => plan.isSettled);
  let at = 0;
  return dates.map((date) => {
    const start = at;
    while (at < rows.length && rows[at]?.date === date) at += 1;
    return dayBlock(date, answer, { start, end: at, isSettled });
  });
}

/** Types and names depend on the day's own rows only, not on the other days of the request. */
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
  const sorted = texts.toSorted();
  return Object.assign(blockOf(texts, named, own), {
    date,
    sortedHash: sortedHashOf(sorted),
    repeats: sorted.some((text, at) => text === sorted[at + 1]),
  });
}

/** Plain values: it may come from another thread. */
export type DigestOutcome =
  | { readonly kind: 'digest'; readonly digest: Digest }
  /** JSON without identifiable rows. */
  | { readonly kind: 'no-rows'; readonly reason: string; readonly accounts: readonly string[] }
  /** No valid JSON, or it contains the token. */
  | { readonly kind: 'invalid'; readonly reason: string };

/** @param isForbidden whether the decoded text contains the token */
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
    const document = parseAnswer(text);
    const accounts = accountsShown(document, ask.accountPattern, ask.nonAccounts);
    return { kind: 'no-rows', reason: error.message, accounts: [...accounts] };
  }
}
