/** Reads the platform's answer to a report: rows, bytes and days, or a refusal. */
import type { EndpointRule } from '../../config/schema.js';
import { GatewayError } from '../../errors.js';
import { invalid, originCaching, single } from '../../platform/interpret.js';
import { readRefusal } from '../../platform/read-refusal.js';
import { holdsToken } from '../../platform/scrub.js';
import type { Response } from '../../platform/slot.js';
import type { WorkerPool } from '../cache/threads/worker-pool.js';
import type { Gateway } from '../gateway.js';
import { dayAt, dayNumber, daysBetween } from '../query/days.js';
import { charsetOf } from '../rows/decode-text.js';
import type { DayBlock, Digest, DigestInput, RowBlock } from '../rows/digest.js';
import {
  type BytesHeader,
  bodyHash,
  type Entry,
  type RefusalHeader,
  type RowsHeader,
} from '../rows/entry.js';
import type { Flaw } from '../rows/flaws.js';
import { type EmptyEnd, type Facts, isFinalDay, judgeEmptyDays, MAX_FUTURE_MS } from '../rows/freshness.js';
import { readPageHeaders } from '../rows/paging.js';
import { rowFilters } from '../rows/row-filters.js';
import type { RowsRule } from '../rows/rows.js';
import type {
  AnswerFacts,
  Context,
  Fetched,
  FetchedAnswer,
  FetchedRefusal,
  RequestedRange,
} from './fetched.js';

/** What a caller learns of an answer that is no report; the place and the names in it are for the log. */
const HTML = { detail: 'The platform answered with a web page (HTML) instead of a report.' };
const NOT_READ = {
  detail:
    "The platform's response cannot be read: it is not whole, not JSON, in an unknown character set, or has more levels or columns than the gateway reads.",
};
const NO_ROWS = {
  detail:
    "The platform's response is not a report: it says that it is an error, has no rows, or none of the columns that are known.",
  help: 'Report the requestId to your operator, who finds the reason in the log; if the platform renamed its columns, the new names go into report.endpoints.*.knownColumns.',
};

/** An answer that may be no report: not split, and never stored. */
function doubtful(context: Context, digest: Digest, doubt: string): FetchedAnswer {
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
function unreadable(
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
    bytes: bytesOf(context, accounts, { ...daysOf(context.asked), emptyTail: 'no' }, opaque),
    days: null,
    splittable: { ok: false, reason: 'the answer has no identifiable rows' },
    rowCount: 0,
    doubt: null,
    flaws: [],
    storable: context.storable,
  };
}

function answerOf(context: Context, digest: Digest): FetchedAnswer {
  const { asked, facts } = context;
  const { accounts, flaws } = digest;
  const emptyEnd = judgeEmptyDays(emptyDaysOf(digest, asked), facts.fetchedAt, asked.earlier);
  const days = daysOf(asked);
  const { lastDay } = days;
  const answerRows = digest.rowCount;
  const rest = { accounts, lastDay, emptyEnd, answerRows, paging: digest.paging, splitFrom: null, flaws };
  const whole = digest.whole && {
    header: { ...rowsHeader(facts, facts, digest.whole, rest), ...days },
    body: digest.whole.body,
  };
  return {
    kind: 'answer',
    range: asked.range,
    rows: whole,
    rowsFault: null,
    bytes: asked.whole
      ? bytesOf(context, accounts, { ...emptyEnd, ...days, answerRows, ...flawed(flaws) }, false)
      : null,
    days: digest.days?.map((block) => dayEntry(block, digest, context)) ?? null,
    splittable: digest.splittable,
    rowCount: digest.rowCount,
    doubt: null,
    flaws,
    storable: context.storable && digest.paging === null,
  };
}

/** The days of a whole answer. */
function daysOf({ range: { from, to } }: RequestedRange): Pick<Facts, 'firstDay' | 'lastDay'> {
  return from === null ? { lastDay: to } : { firstDay: from, lastDay: to };
}

function flawed(flaws: readonly Flaw[]): { readonly flaws?: readonly Flaw[] } {
  return flaws.length === 0 ? {} : { flaws };
}

type RowsFacts = Pick<RowsHeader, 'accounts' | 'lastDay' | 'answerRows' | 'paging' | 'splitFrom'> & {
  readonly emptyEnd: EmptyEnd;
  readonly flaws: readonly Flaw[];
};

/** Lists all members: it is made for each day, and adding to a spread object is slow in V8. */
function rowsHeader(facts: AnswerFacts, times: Times, block: RowBlock, rest: RowsFacts): RowsHeader {
  const { emptyTail, emptySince } = rest.emptyEnd;
  const header: RowsHeader = {
    order: facts.order,
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
    answerRows: rest.answerRows,
    hash: block.hash,
    lastDay: rest.lastDay,
    emptyTail,
    paging: rest.paging,
    splitFrom: rest.splitFrom,
  };
  if (emptySince === undefined && rest.flaws.length === 0) return header;
  return { ...header, ...(emptySince === undefined ? {} : { emptySince }), ...flawed(rest.flaws) };
}

/** A final day that lost its rows may be an outage, even if later days have rows: it is fetched once more. */
function isLost({ date }: DayBlock, { asked, facts, rules }: Context): boolean {
  if (!isFinalDay(dayNumber(date) as number, facts.fetchedOn, rules.restatementDays)) return false;
  const before = asked.earlier(date);
  if (before?.lastDay !== date) return false;
  return (before.rowCount ?? 0) > 0 || before.emptyTail === 'unconfirmed';
}

/**
 * Fetch time of a day: later than the earlier entry, even if that is by the clock of another replica. Different rows must not
 * have the same time.
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
  { lastDate, accounts, rowCount, flaws }: Digest,
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
      answerRows: rowCount,
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
  end: EmptyEnd & Pick<BytesHeader, 'firstDay' | 'lastDay' | 'answerRows' | 'flaws'>,
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

/** Days without rows at the end of the answer; without a split by date only of an empty answer. */
function emptyDaysOf({ rowCount, lastDate }: Digest, { report, range }: RequestedRange): readonly string[] {
  const { from, to } = range;
  if (to === null) return [];
  if (!report.split.includes('date')) return rowCount === 0 ? [to] : [];
  if (lastDate === to) return [];
  const days = from === null ? [to] : daysBetween(from, to);
  return lastDate === null ? days : days.filter((day) => day > lastDate);
}

/** Statuses that are cached for a short time. */
export const REMEMBERED: readonly number[] = [400, 404, 422];

/** An id, not an error message: `{"advertiserId": ["must be a number"]}`. */
const ID_LIKE = /^\S*\d\S*$/;

export async function readAnswer(
  g: Gateway,
  asked: RequestedRange,
  response: Response,
  chunks: readonly Buffer[],
): Promise<Fetched> {
  // What follows the answer before this one goes first.
  await g.turns.long();
  const rule = g.policy.endpoints.get(asked.report.endpoint);
  const contentType = single(response.headers['content-type']) ?? 'application/octet-stream';
  const caching = originCaching(response.headers, asked.startedAt, g.now());
  const facts: AnswerFacts = {
    order: asked.order,
    fetchStartedAt: asked.startedAt,
    fetchedAt: g.now(),
    fetchedOn: dayAt(asked.startedAt, g.policy.timezoneOf(asked.report.account)),
    kind: kindOf(asked, rule),
    originMs: rule?.freshness === 'origin' ? caching.originMs : null,
    seq: asked.seq,
  };
  const storable = rule?.freshness === 'origin' ? caching.originMs !== null : !caching.noStore;
  const { digest } = g.workerPool;
  await g.shapes.load();
  const pageHeaders = readPageHeaders(response.headers);
  const input = { ...digestInput(g, asked, rule), charset: charsetOf(contentType), pageHeaders };
  const unread = { digest, input, token: response.token };
  if (holdsToken(Buffer.from(contentType, 'latin1'), response.token))
    throw invalid('the content type contains the platform token');
  if (response.status >= 400) {
    const body = Buffer.concat(chunks);
    const accounts = (await accountsIn(body, unread)).filter((account) => ID_LIKE.test(account));
    const refusal = refusalOf(asked, response, contentType, body, { ...facts, accounts });
    return { ...refusal, storable: refusal.storable && storable };
  }
  // 206 and 304 answer conditions that were not sent, 201 and 204 are no reports.
  if (response.status !== 200 && response.status !== 203) throw invalid(`status ${response.status}`);
  if (isHtml(contentType, chunks[0] as Buffer)) throw invalid('the answer is an HTML page', HTML);
  const rules = g.policy.rulesFor(asked.report);
  const context = { asked, facts, rules, contentType, storable, status: response.status };
  if (rule === undefined && !/^[^;]*[/+]json\b/i.test(contentType)) {
    const body = Buffer.concat(chunks);
    if (holdsToken(body, response.token)) throw invalid('the answer contains the platform token');
    return unreadable({ ...context, body, hash: bodyHash(body) }, null, await accountsIn(body, unread), true);
  }
  const { outcome, bytes, hash } = await digest(chunks, input, response.token);
  const read: Context = { ...context, body: bytes, hash };
  if (outcome.kind === 'invalid') throw invalid(outcome.reason, outcome.isJson === false ? NOT_READ : {});
  if (outcome.kind === 'no-rows') {
    if (outcome.shape !== null) g.shapes.noteStranger(asked.report, outcome.shape);
    const fault = invalid(outcome.reason, NO_ROWS);
    // Its bytes may be requested, but not its days.
    if (!asked.whole) throw fault;
    return unreadable({ ...read, storable: false }, fault, outcome.accounts, false);
  }
  if (outcome.digest.rowCount > g.config.report.maxRows) {
    throw new GatewayError('upstream_too_large', {
      detail: `The platform's answer has more than ${g.config.report.maxRows} rows.`,
    });
  }
  const found = outcome.digest;
  g.shapes.note(asked.report, asked.range, found);
  return found.doubt === null ? answerOf(read, found) : doubtful(read, found, found.doubt);
}

export function rowsRuleOf(rule: EndpointRule | undefined): RowsRule {
  return { rowsPath: rule?.rowsAt, dateField: rule?.dateField, requiredColumns: rule?.requiredColumns };
}

function digestInput(
  g: Gateway,
  { report, range, whole }: RequestedRange,
  rule: EndpointRule | undefined,
): DigestInput {
  return {
    rule: rowsRuleOf(rule),
    known: g.shapes.of(report),
    period: range,
    byDate: report.split.includes('date'),
    splits: report.split.length > 0,
    filters: rowFilters(report, g.policy.accountFields),
    accountPattern: g.policy.accountPattern,
    nonAccounts: g.policy.nonAccounts,
    whole,
  };
}

function refusalOf(
  { range }: RequestedRange,
  { status, token }: Response,
  contentType: string,
  body: Buffer,
  facts: AnswerFacts & Pick<RefusalHeader, 'accounts'>,
): FetchedRefusal {
  const tainted = holdsToken(body, token);
  const header: RefusalHeader = {
    ...facts,
    form: 'refusal',
    lastDay: range.to,
    status,
    contentType,
    upstream: readRefusal(status, contentType, body, token),
    emptyTail: 'no',
    hash: bodyHash(body),
    tainted,
  };
  const refusal = { header, body: tainted ? Buffer.alloc(0) : body };
  return { kind: 'refusal', range, refusal, storable: REMEMBERED.includes(status) };
}

function kindOf(
  { report, range: { from, to } }: RequestedRange,
  rule: EndpointRule | undefined,
): Facts['kind'] {
  if (rule === undefined) return 'undeclared';
  return report.account === null || from === null || to === null ? 'open' : 'bounded';
}

function isHtml(contentType: string, body: Buffer): boolean {
  if (/^\s*(text\/html|application\/xhtml\+xml)\b/i.test(contentType)) return true;
  return /^\s*<(!doctype\s+html|html)\b/i.test(body.toString('latin1', 0, 256));
}

/** Inputs to read only the accounts of a body. */
interface Unread {
  readonly digest: WorkerPool['digest'];
  readonly input: DigestInput;
  readonly token: string;
}

/** Bytes; other data is not read to its end. */
const JSON_BEGINS_WITHIN = 256;

/** @returns none if the body is neither JSON nor lines of JSON */
async function accountsIn(body: Buffer, { digest, input, token }: Unread): Promise<readonly string[]> {
  if (!/[[{]/.test(body.toString('latin1', 0, JSON_BEGINS_WITHIN))) return [];
  for (const read of [() => body, () => asList(body)]) {
    const { outcome } = await digest([read()], input, token);
    if (outcome.kind === 'digest') return outcome.digest.accounts;
    if (outcome.kind === 'no-rows') return outcome.accounts;
  }
  return [];
}

/** Lines of JSON as one list. */
function asList(body: Buffer): Buffer {
  const lines = body.toString('latin1').split(/\r?\n/);
  return Buffer.from(`[${lines.filter((line) => line !== '').join(',')}]`, 'latin1');
}
