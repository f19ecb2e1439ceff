/** Stage: makes parts of the platform's answer to a report: rows, bytes, days, or a refusal. */
import type { EndpointRule } from '../config/schema.js';
import { GatewayError } from '../errors.js';
import { holdsToken } from '../platform/holds-token.js';
import { invalid, originCaching, single } from '../platform/interpret.js';
import { readRefusal } from '../platform/read-refusal.js';
import type { Response } from '../platform/slot.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import { dayAt, dayNumber, daysBetween } from '../report/days.js';
import { charsetOf } from '../report/decode-text.js';
import type { DayBlock, Digest, DigestAsk, RowBlock } from '../report/digest.js';
import { type EmptyEnd, judgeEmptyDays } from '../report/empty-days.js';
import { type Facts, type FreshnessRules, isFinalDay } from '../report/freshness.js';
import {
  type BytesHeader,
  bodyHash,
  type Part,
  type RefusalHeader,
  type RowsHeader,
} from '../report/part.js';
import type { Range } from '../report/period.js';
import type { Cuttable, RowsRule } from '../report/rows.js';
import type { ReportPolicy } from '../report-policy.js';
import type { Crew } from '../workers/crew.js';
import type { SeenPlaces } from './seen-places.js';
export interface FetchedAnswer {
  readonly kind: 'answer';
  readonly range: Range;
  /** Null when only days were wanted and there are some, when it is not JSON, or when it is no report (`rowsFault`). */
  readonly rows: Part<RowsHeader> | null;
  readonly rowsFault: GatewayError | null;
  /** Null when only days were wanted. */
  readonly bytes: Part<BytesHeader> | null;
  /** One part a day, empty days too; null when the answer may not be cut. */
  readonly days: readonly Part<RowsHeader>[] | null;
  readonly cuttable: Cuttable;
  readonly rowCount: number;
  /** Why it may be no report; null when nothing speaks against it. */
  readonly doubt: string | null;
  /**
   * False when the platform said `no-store`, when RFC 9111 forbids it where that decides, and for what is no report
   * or may be none.
   */
  readonly storable: boolean;
}

export interface FetchedRefusal {
  readonly kind: 'refusal';
  readonly range: Range;
  readonly refusal: Part<RefusalHeader>;
  readonly storable: boolean;
}

export type Fetched = FetchedAnswer | FetchedRefusal;

export interface ReadOptions {
  /** Parses, normalises and cuts; large answers on another thread. */
  readonly crew: Pick<Crew, 'digest'>;
  readonly now: () => number;
  readonly policy: ReportPolicy;
  readonly maxRows: number;
  readonly places: SeenPlaces;
}

/** What is known of an earlier look: of a day, or of a whole answer. */
export type Earlier = Facts & { readonly rowCount?: number };

/** A call under way: what it asked for, and when. */
export interface AskedReport {
  readonly report: CanonicalReport;
  /** Rows all together, and the platform's bytes, beside the days. */
  readonly whole: boolean;
  /** Generation of the kind's divisibility; cut days carry it. */
  readonly generation: string;
  /** What is known already of a day, from a part that holds it, to tell an empty day that stays empty. */
  readonly earlier: (lastDay: string | null) => Earlier | null;
  readonly range: Range;
  readonly startedAt: number;
  /** The newest purge known when the platform was asked. */
  readonly seq: number;
}

/** Statuses that are remembered for a short time. */
export const REMEMBERED: readonly number[] = [400, 404, 422];

export async function readAnswer(
  asked: AskedReport,
  response: Response,
  chunks: readonly Buffer[],
  options: ReadOptions,
): Promise<Fetched> {
  const rule = options.policy.endpoints.get(asked.report.endpoint);
  const contentType = single(response.headers['content-type']) ?? 'application/octet-stream';
  const caching = originCaching(response.headers, options.now());
  const facts: AnswerFacts = {
    fetchStartedAt: asked.startedAt,
    fetchedAt: options.now(),
    fetchedOn: dayAt(asked.startedAt, options.policy.timezoneOf(asked.report.account)),
    kind: kindOf(asked, rule),
    originMs: rule?.freshness === 'origin' ? caching.originMs : null,
    seq: asked.seq,
  };
  if (contentType.includes(response.token)) throw invalid('the content type holds the platform token');
  if (response.status >= 400) {
    const refusal = refusalOf(asked, response, contentType, Buffer.concat(chunks), facts);
    return { ...refusal, storable: refusal.storable && !caching.noStore };
  }
  // 206 and 304 answer conditions that were not put, 201 and 204 are no reports.
  if (response.status !== 200 && response.status !== 203) throw invalid(`status ${response.status}`);
  if (isHtml(contentType, chunks[0] as Buffer)) throw invalid('the answer is an HTML page');
  const storable = rule?.freshness === 'origin' ? caching.originMs !== null : !caching.noStore;
  const { freshness: rules } = options.policy;
  const context = { asked, facts, rules, contentType, storable, status: response.status };
  if (rule === undefined && !isJson(contentType)) {
    const body = Buffer.concat(chunks);
    if (holdsToken(body, response.token)) throw invalid('the answer holds the platform token');
    return unreadable({ ...context, body, hash: bodyHash(body) }, null, [], true);
  }
  const { outcome, bytes, hash } = await options.crew.digest(
    chunks,
    { ...digestAsk(asked, rule, options), charset: charsetOf(contentType) },
    response.token,
  );
  const read: Context = { ...context, body: bytes, hash };
  if (outcome.kind === 'invalid') throw invalid(outcome.reason);
  if (outcome.kind === 'no-rows') {
    const fault = invalid(outcome.reason);
    // Where days are wanted there is nothing in it for anybody; as a whole it may be wanted byte for byte.
    if (!asked.whole) throw fault;
    return unreadable({ ...read, storable: false }, fault, outcome.accounts, false);
  }
  if (outcome.digest.rowCount > options.maxRows) {
    throw new GatewayError('upstream_too_large', {
      detail: `The platform's answer has more than ${options.maxRows} rows.`,
    });
  }
  const { digest } = outcome;
  if (digest.doubt === null && digest.rowCount > 0) options.places.note(asked.report, digest.place);
  return digest.doubt === null ? answerOf(read, digest) : doubtful(read, digest, digest.doubt);
}

/** An answer that may be no report: whole, uncut, and never kept. */
function doubtful(context: Context, digest: Digest, doubt: string): FetchedAnswer {
  const answer = answerOf({ ...context, storable: false }, digest);
  const { rows } = answer;
  return {
    ...answer,
    rows: rows === null ? null : { ...rows, header: { ...rows.header, doubt } },
    days: null,
    cuttable: { ok: false, reason: doubt },
    doubt,
  };
}

/** What the configuration says of where an endpoint's rows are. */
export function rowsRuleOf(rule: EndpointRule | undefined): RowsRule {
  return { rowsPath: rule?.rowsAt, dateField: rule?.dateField, requiredColumns: rule?.requiredColumns };
}

/** What is known of an answer before it is read. */
type AnswerFacts = Omit<Facts, keyof EmptyEnd | 'lastDay'> & { readonly seq: number };

interface Context {
  readonly asked: AskedReport;
  readonly facts: AnswerFacts;
  readonly rules: Pick<FreshnessRules, 'restatementDays'>;
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  /** Digest of the body; empty when only days are wanted. */
  readonly hash: string;
  readonly storable: boolean;
}

function digestAsk(
  { report, range, whole }: AskedReport,
  rule: EndpointRule | undefined,
  options: ReadOptions,
): DigestAsk {
  const { from, to } = range;
  return {
    rule: rowsRuleOf(rule),
    seenAt: options.places.of(report),
    period: from === null || to === null ? null : { from, to },
    byDate: report.split.includes('date'),
    splits: report.split.length > 0,
    accountPattern: options.policy.accountPattern,
    whole,
  };
}

function refusalOf(
  { range }: AskedReport,
  { status, token }: Response,
  contentType: string,
  body: Buffer,
  facts: AnswerFacts,
): FetchedRefusal {
  const tainted = holdsToken(body, token);
  const header: RefusalHeader = {
    ...facts,
    form: 'refusal',
    lastDay: range.to,
    status,
    contentType,
    upstream: readRefusal(status, contentType, body, token),
    accounts: [],
    emptyTail: 'no',
    hash: bodyHash(body),
    tainted,
  };
  const refusal = { header, body: tainted ? Buffer.alloc(0) : body };
  return { kind: 'refusal', range, refusal, storable: REMEMBERED.includes(status) };
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
    bytes: bytesOf(context, accounts, { emptyTail: 'no' }, opaque),
    days: null,
    cuttable: { ok: false, reason: 'the answer has no rows that can be told' },
    rowCount: 0,
    doubt: null,
    storable: context.storable,
  };
}

function answerOf(context: Context, digest: Digest): FetchedAnswer {
  const { asked, facts, storable } = context;
  const { accounts } = digest;
  const emptyEnd = judgeEmptyDays(emptyDaysOf(digest, asked), facts.fetchedAt, asked.earlier);
  const whole: Part<RowsHeader> | null =
    digest.whole === null
      ? null
      : {
          header: {
            ...rowsHeader(facts, digest.whole, accounts),
            lastDay: asked.range.to,
            ...emptyEnd,
            paging: digest.paging,
            cut: null,
          },
          body: digest.whole.body,
        };
  return {
    kind: 'answer',
    range: asked.range,
    rows: whole,
    rowsFault: null,
    bytes: asked.whole ? bytesOf(context, accounts, emptyEnd, false) : null,
    days: digest.days?.map((block) => dayPart(block, digest, context)) ?? null,
    cuttable: digest.cuttable,
    rowCount: digest.rowCount,
    doubt: null,
    storable,
  };
}

function rowsHeader(facts: AnswerFacts, block: RowBlock, accounts: readonly string[]) {
  const { columns, types, rowCount, hash } = block;
  return { ...facts, form: 'rows' as const, accounts, columns, types, rowCount, hash };
}

/** A final day whose rows are gone may be an outage, too, though rows follow: it is looked at once more. */
function isLost({ date }: DayBlock, { asked, facts, rules }: Context): boolean {
  if (!isFinalDay(dayNumber(date) as number, facts.fetchedOn, rules.restatementDays)) return false;
  const before = asked.earlier(date);
  if (before?.lastDay !== date) return false;
  return (before.rowCount ?? 0) > 0 || before.emptyTail === 'unconfirmed';
}

function dayPart(block: DayBlock, { lastDate, accounts }: Digest, context: Context): Part<RowsHeader> {
  const { asked, facts } = context;
  const { range, generation } = asked;
  const isAtEnd = lastDate === null || block.date > lastDate;
  const empty = block.rowCount === 0 && (isAtEnd || isLost(block, context));
  return {
    header: {
      ...rowsHeader(facts, block, accounts),
      lastDay: block.date,
      ...judgeEmptyDays(empty ? [block.date] : [], facts.fetchedAt, asked.earlier),
      paging: null,
      cut: { from: range.from as string, to: range.to as string, sortedHash: block.sortedHash, generation },
    },
    body: block.body,
  };
}

function bytesOf(
  { facts, asked, status, contentType, body, hash }: Context,
  accounts: readonly string[],
  emptyEnd: EmptyEnd,
  opaque: boolean,
): Part<BytesHeader> {
  const lastDay = asked.range.to;
  return {
    header: {
      ...facts,
      form: 'bytes',
      lastDay,
      opaque,
      status,
      contentType,
      accounts,
      ...emptyEnd,
      hash,
    },
    body,
  };
}

function kindOf({ report, range: { from, to } }: AskedReport, rule: EndpointRule | undefined): Facts['kind'] {
  if (rule === undefined) return 'undeclared';
  return report.account === null || from === null || to === null ? 'open' : 'bounded';
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

function isJson(contentType: string): boolean {
  return /^[^;]*[/+]json\b/i.test(contentType);
}

function isHtml(contentType: string, body: Buffer): boolean {
  if (/^\s*(text\/html|application\/xhtml\+xml)\b/i.test(contentType)) return true;
  return /^\s*<(!doctype\s+html|html)\b/i.test(body.toString('latin1', 0, 256));
}
