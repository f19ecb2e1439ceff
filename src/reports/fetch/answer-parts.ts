import type { GatewayError } from '../../errors.js';
import { dayNumber, daysBetween } from '../query/days.js';
import type { DayBlock, Digest, RowBlock } from '../rows/digest.js';
import { type EmptyEnd, judgeEmptyDays } from '../rows/empty-days.js';
import type { BytesHeader, Entry, RowsHeader } from '../rows/entry.js';
import type { Flaw } from '../rows/flaws.js';
import { isFinalDay, MAX_FUTURE_MS } from '../rows/freshness.js';
import type { AnswerFacts, AskedReport, Context, FetchedAnswer } from './fetched.js';

/** An answer that may be no report: whole, unsplit, and never kept. */
export function doubtful(context: Context, digest: Digest, doubt: string): FetchedAnswer {
  // What may be no report cannot be held against what was asked for.
  const answer = answerOf({ ...context, storable: false }, { ...digest, flaws: [] });
  const { rows } = answer;
  return {
    ...answer,
    rows: rows === null ? null : { ...rows, header: { ...rows.header, doubt } },
    days: null,
    splittable: { ok: false, reason: doubt },
    doubt,
  };
}

/** An answer without rows: not JSON at all, or JSON that is no report. */
export function unreadable(
  context: Context,
  rowsFault: GatewayError | null,
  accounts: readonly string[],
  opaque: boolean,
): FetchedAnswer {
  return {
    kind: 'answer',
    range: context.asked.range,
    rows: null,
    rowsFault,
    bytes: bytesOf(context, accounts, { emptyTail: 'no', lastDay: context.asked.range.to }, opaque),
    days: null,
    splittable: { ok: false, reason: 'the answer has no rows that can be told' },
    rowCount: 0,
    doubt: null,
    flaws: [],
    storable: context.storable,
  };
}

export function answerOf(context: Context, digest: Digest): FetchedAnswer {
  const { asked, facts } = context;
  const { accounts, flaws } = digest;
  const emptyEnd = judgeEmptyDays(emptyDaysOf(digest, asked), facts.fetchedAt, asked.earlier);
  const lastDay = asked.range.to;
  const rest = { accounts, lastDay, emptyEnd, paging: digest.paging, splitFrom: null, flaws };
  const whole = digest.whole && {
    header: rowsHeader(facts, facts, digest.whole, rest),
    body: digest.whole.body,
  };
  return {
    kind: 'answer',
    range: asked.range,
    rows: whole,
    rowsFault: null,
    bytes: asked.whole ? bytesOf(context, accounts, { ...emptyEnd, lastDay, ...flawed(flaws) }, false) : null,
    days: digest.days?.map((block) => dayEntry(block, digest, context)) ?? null,
    splittable: digest.splittable,
    rowCount: digest.rowCount,
    doubt: null,
    flaws,
    // Of several pages one is not the report.
    storable: context.storable && digest.paging === null,
  };
}

/** A header says nothing of flaws where there are none. */
function flawed(flaws: readonly Flaw[]): { readonly flaws?: readonly Flaw[] } {
  return flaws.length === 0 ? {} : { flaws };
}

type RowsFacts = Pick<RowsHeader, 'accounts' | 'lastDay' | 'paging' | 'splitFrom'> & {
  readonly emptyEnd: EmptyEnd;
  readonly flaws: readonly Flaw[];
};

/** Each member by its name: one is made for each day, and adding to what was spread is slow in V8. */
function rowsHeader(facts: AnswerFacts, times: Times, block: RowBlock, rest: RowsFacts): RowsHeader {
  const { emptyTail, emptySince } = rest.emptyEnd;
  const header: RowsHeader = {
    fetchStartedAt: times.fetchStartedAt,
    fetchedAt: times.fetchedAt,
    fetchedOn: facts.fetchedOn,
    kind: facts.kind,
    originMs: facts.originMs,
    seq: facts.seq,
    form: 'rows',
    accounts: rest.accounts,
    columns: block.columns,
    sources: block.sources,
    types: block.types,
    rowCount: block.rowCount,
    hash: block.hash,
    lastDay: rest.lastDay,
    emptyTail,
    paging: rest.paging,
    splitFrom: rest.splitFrom,
  };
  if (emptySince === undefined && rest.flaws.length === 0) return header;
  return { ...header, ...(emptySince === undefined ? {} : { emptySince }), ...flawed(rest.flaws) };
}

/** A final day whose rows are gone may be an outage, too, though rows follow: it is looked at once more. */
function isLost({ date }: DayBlock, { asked, facts, rules }: Context): boolean {
  if (!isFinalDay(dayNumber(date) as number, facts.fetchedOn, rules.restatementDays)) return false;
  const before = asked.earlier(date);
  if (before?.lastDay !== date) return false;
  return (before.rowCount ?? 0) > 0 || before.emptyTail === 'unconfirmed';
}

/**
 * When a day was fetched: after what was known of it before, which other rows must not share a moment with. What was known was
 * fetched before this fetch began; a clock that says otherwise is that of another replica, and differs from this one.
 */
function timesOf(block: DayBlock, { asked, facts }: Context): Times {
  const before = asked.earlier(block.date);
  const isKnown = before?.lastDay === block.date && before.splitFrom;
  if (!isKnown || before.fetchedAt > facts.fetchedAt + MAX_FUTURE_MS) return facts;
  const isSame = isKnown.sortedHash === block.sortedHash && isKnown.generation === asked.generation;
  const leastMs = isSame ? 0 : 1;
  return {
    fetchStartedAt: Math.max(facts.fetchStartedAt, before.fetchStartedAt + leastMs),
    fetchedAt: Math.max(facts.fetchedAt, before.fetchedAt + leastMs),
  };
}

type Times = Pick<AnswerFacts, 'fetchStartedAt' | 'fetchedAt'>;

function dayEntry(
  block: DayBlock,
  { lastDate, accounts, flaws }: Digest,
  context: Context,
): Entry<RowsHeader> {
  const { asked, facts } = context;
  const { range, generation } = asked;
  const isAtEnd = lastDate === null || block.date > lastDate;
  const empty = block.rowCount === 0 && (isAtEnd || isLost(block, context));
  return {
    header: rowsHeader(facts, timesOf(block, context), block, {
      accounts,
      lastDay: block.date,
      emptyEnd: judgeEmptyDays(empty ? [block.date] : [], facts.fetchedAt, asked.earlier),
      paging: null,
      flaws,
      splitFrom: {
        from: range.from as string,
        to: range.to as string,
        sortedHash: block.sortedHash,
        generation,
      },
    }),
    body: block.body,
  };
}

function bytesOf(
  { facts, status, contentType, body, hash }: Context,
  accounts: readonly string[],
  end: EmptyEnd & Pick<BytesHeader, 'lastDay' | 'flaws'>,
  opaque: boolean,
): Entry<BytesHeader> {
  return {
    header: {
      ...facts,
      form: 'bytes',
      opaque,
      status,
      contentType,
      accounts,
      ...end,
      hash,
    },
    body,
  };
}

/** Days at the end of the answer that have no rows. Without a split by date only an empty answer tells. */
function emptyDaysOf({ rowCount, lastDate }: Digest, { report, range }: AskedReport): readonly string[] {
  const { from, to } = range;
  if (to === null) return [];
  if (!report.split.includes('date')) return rowCount === 0 ? [to] : [];
  if (lastDate === to) return [];
  const days = from === null ? [to] : daysBetween(from, to);
  return lastDate === null ? days : days.filter((day) => day > lastDate);
}
