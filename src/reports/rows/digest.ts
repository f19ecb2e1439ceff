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
  type Drafted,
  draftAnswer,
  inOneOrder,
  type Normalized,
  type NormalizeInput,
  namedAlone,
  parseAnswer,
  plansOf,
  typesOf,
  writeAnswer,
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
  extends Pick<
    Normalized,
    'splittable' | 'accounts' | 'paging' | 'place' | 'columns' | 'newFigures' | 'doubt' | 'flaws'
  > {
  readonly whole: RowBlock | null;
  /** All days of the period; null if the answer may not be split. */
  readonly days: readonly DayBlock[] | null;
  readonly rowCount: number;
  /** Date of the last row if split by date; null if there is none. */
  readonly lastDate: string | null;
}

/** @throws JsonError, RowsError */
export function digestAnswer(text: string, ask: DigestInput): Digest {
  const drafted = draftAnswer(text, ask);
  const { drafts, accounts, splittable, paging, place, columns, newFigures, doubt, flaws } = drafted;
  const { from, to } = ask.period;
  const dates = ask.byDate && splittable.ok && from !== null && to !== null ? daysBetween(from, to) : null;
  const isWhole = ask.whole || dates === null || doubt !== null;
  // Days alone are written as days alone: their types are their own.
  const whole = isWhole ? writeAnswer(drafted) : null;
  const days = dates === null ? null : splitByDay(drafted, whole, dates);
  return {
    days,
    whole: whole === null ? null : blockOf(textsOf(whole.rows), whole, whole.types),
    splittable,
    rowCount: drafts.length,
    lastDate: ask.byDate ? (drafts.findLast(({ date }) => date !== null)?.date ?? null) : null,
    accounts,
    paging,
    place,
    columns,
    newFigures,
    doubt,
    flaws: repeatsRow(drafted, whole, days) ? [...flaws, { code: 'duplicate_rows' }] : flaws,
  };
}

const textsOf = (rows: Normalized['rows']) => rows.map(({ json }) => json);

/** @param days the same rows, if split: they have been checked */
function repeatsRow(
  { drafts }: Pick<Drafted, 'drafts'>,
  whole: Pick<Normalized, 'rows'> | null,
  days: readonly DayBlock[] | null,
): boolean {
  const repeats = days === null ? holdsTwice(textsOf(whole?.rows ?? [])) : days.some((day) => day.repeats);
  if (repeats) return true;
  const ordered = inOneOrder(drafts);
  return ordered !== null && holdsTwice(writeRows(ordered, typesOf(drafts)));
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

/** Rows are in date order. A day without rows is a block too. @param whole all rows, if they are written */
function splitByDay(
  { drafts }: Pick<Drafted, 'drafts'>,
  whole: Pick<Normalized, 'rows' | 'types'> | null,
  dates: readonly string[],
): DayBlock[] {
  const isSettled = [...plansOf(drafts)].some((plan) => plan.isSettled);
  let at = 0;
  return dates.map((date) => {
    const start = at;
    while (at < drafts.length && drafts[at]?.date === date) at += 1;
    const given = drafts.slice(start, at);
    if (isSettled || whole === null) return dayBlock(date, isSettled ? namedAlone(given) : given, null);
    return dayBlock(date, given, { texts: textsOf(whole.rows.slice(start, at)), types: whole.types });
  });
}

/**
 * Types and names depend on the day's own rows only, not on the other days of the request.
 * @param written texts of the same rows with the types of the answer; null: none
 */
function dayBlock(
  date: string,
  drafts: Drafted['drafts'],
  written: { readonly texts: readonly string[]; readonly types: ColumnTypes } | null,
): DayBlock {
  const named = columnsIn(drafts);
  const own = typesOf(drafts);
  const isWritten = written !== null && agreeOn(named.columns, own, written.types);
  const texts = isWritten ? written.texts : writeRows(drafts, own);
  const block = blockOf(texts, named, own);
  // Mostly: then the digest in any order is that of the body.
  const isInOrder = texts.every((text, at) => at === 0 || (texts[at - 1] as string) < text);
  return Object.assign(block, {
    date,
    sortedHash: isInOrder ? block.hash : sortedHashOf(texts),
    repeats: !isInOrder && holdsTwice(texts),
  });
}

/** Plain values: it may come from another thread. */
export type DigestOutcome =
  | { readonly kind: 'digest'; readonly digest: Digest }
  /** JSON without identifiable rows. */
  | {
      readonly kind: 'no-rows';
      readonly reason: string;
      readonly accounts: readonly string[];
      /** See {@link RowsError}. */
      readonly shape: string | null;
    }
  /** It contains the token, or is no valid JSON, which `isJson: false` says. */
  | { readonly kind: 'invalid'; readonly reason: string; readonly isJson?: false };

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
      return { kind: 'invalid', reason: error.message, isJson: false };
    if (!(error instanceof RowsError)) throw error;
    const document = parseAnswer(text);
    const accounts = accountsShown(document, ask.accountPattern, ask.nonAccounts);
    return { kind: 'no-rows', reason: error.message, accounts: [...accounts], shape: error.shape };
  }
}
