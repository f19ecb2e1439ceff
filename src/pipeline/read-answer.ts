/** Stage: makes parts of the platform's answer to a report: rows, bytes, days, or a refusal. */
import type { EndpointRule } from '../config/schema.js';
import { GatewayError } from '../errors.js';
import { invalid, originCaching, single } from '../platform/interpret.js';
import { readRefusal } from '../platform/read-refusal.js';
import { holdsToken } from '../platform/scrub.js';
import type { Response } from '../platform/slot.js';
import { dayAt } from '../report/days.js';
import { charsetOf } from '../report/decode-text.js';
import type { DigestInput } from '../report/digest.js';
import { bodyHash, type RefusalHeader } from '../report/entry.js';
import type { Facts } from '../report/freshness.js';
import { rowFilters } from '../report/row-filters.js';
import type { RowsRule } from '../report/rows.js';
import type { ReportPolicy } from '../report-policy.js';
import type { WorkerPool } from '../workers/worker-pool.js';
import { accountsIn } from './accounts-in.js';
import { answerOf, doubtful, unreadable } from './answer-parts.js';
import type { AnswerFacts, AskedReport, Context, Fetched, FetchedRefusal } from './fetched.js';
import type { KnownShapes } from './known-shapes.js';

export interface ReadOptions {
  /** Parses, normalises and cuts; large answers on another thread. */
  readonly workerPool: Pick<WorkerPool, 'digest'>;
  readonly now: () => number;
  readonly policy: ReportPolicy;
  readonly maxRows: number;
  readonly shapes: KnownShapes;
}

/** Statuses that are remembered for a short time. */
export const REMEMBERED: readonly number[] = [400, 404, 422];

/** An id, and not what is said of a field: `{"advertiserId": ["must be a number"]}`. */
const ID_LIKE = /^\S*\d\S*$/;

export async function readAnswer(
  asked: AskedReport,
  response: Response,
  chunks: readonly Buffer[],
  options: ReadOptions,
): Promise<Fetched> {
  const rule = options.policy.endpoints.get(asked.report.endpoint);
  const contentType = single(response.headers['content-type']) ?? 'application/octet-stream';
  const caching = originCaching(response.headers, asked.startedAt, options.now());
  const facts: AnswerFacts = {
    fetchStartedAt: asked.startedAt,
    fetchedAt: options.now(),
    fetchedOn: dayAt(asked.startedAt, options.policy.timezoneOf(asked.report.account)),
    kind: kindOf(asked, rule),
    originMs: rule?.freshness === 'origin' ? caching.originMs : null,
    seq: asked.seq,
  };
  const storable = rule?.freshness === 'origin' ? caching.originMs !== null : !caching.noStore;
  const { digest } = options.workerPool;
  await options.shapes.load();
  const input = { ...digestInput(asked, rule, options), charset: charsetOf(contentType) };
  const unread = { digest, input, token: response.token };
  if (holdsToken(Buffer.from(contentType, 'latin1'), response.token))
    throw invalid('the content type holds the platform token');
  if (response.status >= 400) {
    const body = Buffer.concat(chunks);
    const accounts = (await accountsIn(body, unread)).filter((account) => ID_LIKE.test(account));
    const refusal = refusalOf(asked, response, contentType, body, { ...facts, accounts });
    return { ...refusal, storable: refusal.storable && storable };
  }
  // 206 and 304 answer conditions that were not put, 201 and 204 are no reports.
  if (response.status !== 200 && response.status !== 203) throw invalid(`status ${response.status}`);
  if (isHtml(contentType, chunks[0] as Buffer)) throw invalid('the answer is an HTML page');
  const rules = options.policy.rulesFor(asked.report);
  const context = { asked, facts, rules, contentType, storable, status: response.status };
  if (rule === undefined && !isJson(contentType)) {
    const body = Buffer.concat(chunks);
    if (holdsToken(body, response.token)) throw invalid('the answer holds the platform token');
    return unreadable({ ...context, body, hash: bodyHash(body) }, null, await accountsIn(body, unread), true);
  }
  const { outcome, bytes, hash } = await digest(chunks, input, response.token);
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
  const found = outcome.digest;
  if (found.doubt === null) options.shapes.note(asked.report, found);
  return found.doubt === null ? answerOf(read, found) : doubtful(read, found, found.doubt);
}

/** What the configuration says of where an endpoint's rows are. */
export function rowsRuleOf(rule: EndpointRule | undefined): RowsRule {
  return { rowsPath: rule?.rowsAt, dateField: rule?.dateField, requiredColumns: rule?.requiredColumns };
}

function digestInput(
  { report, range, whole, earlier }: AskedReport,
  rule: EndpointRule | undefined,
  options: ReadOptions,
): DigestInput {
  return {
    rule: rowsRuleOf(rule),
    known: options.shapes.of(report, earlier(range.to)?.columns ?? []),
    period: range,
    byDate: report.split.includes('date'),
    splits: report.split.length > 0,
    filters: rowFilters(report, options.policy.accountFields),
    accountPattern: options.policy.accountPattern,
    nonAccounts: options.policy.nonAccounts,
    whole,
  };
}

function refusalOf(
  { range }: AskedReport,
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

function kindOf({ report, range: { from, to } }: AskedReport, rule: EndpointRule | undefined): Facts['kind'] {
  if (rule === undefined) return 'undeclared';
  return report.account === null || from === null || to === null ? 'open' : 'bounded';
}

function isJson(contentType: string): boolean {
  return /^[^;]*[/+]json\b/i.test(contentType);
}

function isHtml(contentType: string, body: Buffer): boolean {
  if (/^\s*(text\/html|application\/xhtml\+xml)\b/i.test(contentType)) return true;
  return /^\s*<(!doctype\s+html|html)\b/i.test(body.toString('latin1', 0, 256));
}
