/** Stage: asks the platform for a report and makes parts of its answer. */
import type { EndpointRule } from '../config/schema.js';
import { GatewayError } from '../errors.js';
import type { CallReport, PlatformClient, Response } from '../platform/client.js';
import { invalid, originCaching, single } from '../platform/interpret.js';
import { readBody } from '../platform/read-body.js';
import { readRefusal } from '../platform/read-refusal.js';
import { collectAccounts } from '../report/accounts.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import { dayAt } from '../report/days.js';
import { emptyTailOf, type Facts } from '../report/freshness.js';
import { parseJson } from '../report/json.js';
import { JsonError } from '../report/json-error.js';
import { type Normalized, normalizeAnswer } from '../report/normalize.js';
import {
  type BytesHeader,
  bodyHash,
  joinRows,
  type Part,
  type RefusalHeader,
  type RowsHeader,
} from '../report/part.js';
import { buildPlatformCall } from '../report/platform-call.js';
import { RowsError } from '../report/rows.js';
import { holdsToken } from './holds-token.js';

export interface FetchAsk {
  readonly report: CanonicalReport;
  readonly from: string | null;
  readonly to: string | null;
  /** Who pays for the call. */
  readonly team: string;
  /** The newest purge known now. */
  readonly seq: number;
  /** What is cached already, to tell an empty day that stays empty. */
  readonly earlier: Facts | null;
  readonly onTry?: (report: CallReport) => void;
}

export interface FetchedAnswer {
  readonly kind: 'answer';
  /** Null when the answer is not JSON (its bytes are `opaque`), or its rows cannot be told (`rowsFault` says why). */
  readonly rows: Part<RowsHeader> | null;
  readonly rowsFault: GatewayError | null;
  readonly bytes: Part<BytesHeader>;
  /** False when the platform said `no-store`, or RFC 9111 forbids it where that decides. */
  readonly storable: boolean;
}

export interface FetchedRefusal {
  readonly kind: 'refusal';
  readonly refusal: Part<RefusalHeader>;
  readonly storable: boolean;
}

export type Fetched = FetchedAnswer | FetchedRefusal;

export interface FetchOptions {
  readonly platform: PlatformClient;
  readonly now: () => number;
  readonly timezoneOf: (account: string | null) => string;
  readonly endpoints: Readonly<Record<string, EndpointRule>>;
  readonly accountPattern: RegExp;
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
  readonly maxRows: number;
}

/** Statuses that are remembered for a short time. */
const REMEMBERED = [400, 404, 422];

export type FetchReport = (ask: FetchAsk) => Promise<Fetched>;

export function createFetchReport(options: FetchOptions): FetchReport {
  return async function fetchReport(ask) {
    const { method, target, body } = buildPlatformCall(ask.report, ask.from, ask.to);
    const startedAt = options.now();
    return options.platform.send<Fetched>(
      {
        method,
        target,
        body,
        headers: {
          'accept-encoding': 'gzip',
          ...(body === null ? {} : { 'content-type': 'application/json' }),
        },
        team: ask.team,
        kind: method === 'GET' ? 'read' : 'post-read',
        timeoutMs: options.timeoutMs,
        ...(ask.onTry === undefined ? {} : { onTry: ask.onTry }),
      },
      async (response) => {
        const encoding = single(response.headers['content-encoding']);
        const body = await readBody(response.body, encoding, options.maxAnswerBytes);
        return readAnswer(ask, response, body, startedAt, options);
      },
    );
  };
}

function readAnswer(
  ask: FetchAsk,
  response: Response,
  body: Buffer,
  startedAt: number,
  options: FetchOptions,
): Fetched {
  const rule = ruleOf(ask.report.endpoint, options);
  const contentType = single(response.headers['content-type']) ?? 'application/octet-stream';
  const caching = originCaching(response.headers, options.now());
  const facts: AnswerFacts = {
    fetchStartedAt: startedAt,
    fetchedAt: options.now(),
    lastDay: ask.to,
    fetchedOn: dayAt(startedAt, options.timezoneOf(ask.report.account)),
    kind: kindOf(ask, rule),
    originMs: rule?.freshness === 'origin' ? caching.originMs : null,
    seq: ask.seq,
  };
  if (contentType.includes(response.token)) throw invalid('the content type holds the platform token');
  if (response.status >= 400) return refusalOf(response, contentType, body, facts, caching.noStore);
  // 206 and 304 answer conditions that were not put, 201 and 204 are no reports.
  if (response.status !== 200 && response.status !== 203) throw invalid(`status ${response.status}`);
  if (holdsToken(body, response.token)) throw invalid('the answer holds the platform token');
  if (isHtml(contentType, body)) throw invalid('the answer is an HTML page');

  const storable = rule?.freshness === 'origin' ? caching.originMs !== null : !caching.noStore;
  const bytes = (
    accounts: readonly string[],
    emptyTail: Facts['emptyTail'],
    opaque = false,
  ): Part<BytesHeader> => ({
    header: {
      ...facts,
      form: 'bytes',
      opaque,
      status: response.status,
      contentType,
      accounts,
      emptyTail,
      hash: bodyHash(body),
    },
    body,
  });
  if (rule === undefined && !isJson(contentType)) {
    return { kind: 'answer', rows: null, rowsFault: null, bytes: bytes([], 'no', true), storable };
  }
  const read = normalize(ask, body.toString('utf8'), rule, options);
  if ('fault' in read) {
    return { kind: 'answer', rows: null, rowsFault: read.fault, bytes: bytes(read.accounts, 'no'), storable };
  }
  const rows = rowsOf(read.normalized, ask, facts);
  return {
    kind: 'answer',
    rows,
    rowsFault: null,
    bytes: bytes(rows.header.accounts, rows.header.emptyTail),
    storable,
  };
}

/** What is known of an answer before it is read. */
type AnswerFacts = Omit<Facts, 'emptyTail'> & { readonly seq: number };

function refusalOf(
  response: Response,
  contentType: string,
  body: Buffer,
  facts: AnswerFacts,
  noStore: boolean,
): FetchedRefusal {
  const { status, token } = response;
  const tainted = holdsToken(body, token);
  const header: RefusalHeader = {
    ...facts,
    form: 'refusal',
    status,
    contentType,
    upstream: readRefusal(status, contentType, body, token),
    accounts: [],
    emptyTail: 'no',
    hash: bodyHash(body),
    tainted,
  };
  return {
    kind: 'refusal',
    refusal: { header, body: tainted ? Buffer.alloc(0) : body },
    storable: REMEMBERED.includes(status) && !noStore,
  };
}

function rowsOf(normalized: Normalized, ask: FetchAsk, facts: AnswerFacts): Part<RowsHeader> {
  const body = joinRows(normalized.rows);
  const header: RowsHeader = {
    ...facts,
    form: 'rows',
    emptyTail: emptyTailOf(isEmptyAtEnd(normalized, ask), facts.fetchedAt, ask.earlier),
    hash: bodyHash(body),
    accounts: normalized.accounts,
    columns: normalized.columns,
    rowCount: normalized.rows.length,
    paging: normalized.paging,
  };
  return { header, body };
}

/** An endpoint is a path of the caller's; `constructor` is not declared. */
function ruleOf(endpoint: string, { endpoints }: FetchOptions): EndpointRule | undefined {
  return Object.hasOwn(endpoints, endpoint) ? endpoints[endpoint] : undefined;
}

function kindOf({ report, from, to }: FetchAsk, rule: EndpointRule | undefined): Facts['kind'] {
  if (rule === undefined) return 'undeclared';
  return report.account === null || from === null || to === null ? 'open' : 'bounded';
}

type Read =
  | { readonly normalized: Normalized }
  | { readonly fault: GatewayError; readonly accounts: readonly string[] };

function normalize(ask: FetchAsk, text: string, rule: EndpointRule | undefined, options: FetchOptions): Read {
  const { report, from, to } = ask;
  try {
    const normalized = normalizeAnswer(text, {
      rule: { rowsPath: rule?.rows, dateField: rule?.dateField },
      period: from === null || to === null ? null : { from, to },
      byDate: report.split.includes('date'),
      splits: report.split.length > 0,
      accountPattern: options.accountPattern,
    });
    if (normalized.rows.length > options.maxRows) {
      throw new GatewayError('upstream_too_large', {
        detail: `The platform's answer has more than ${options.maxRows} rows.`,
      });
    }
    return { normalized };
  } catch (error) {
    if (error instanceof JsonError) throw invalid(error.message, error);
    if (!(error instanceof RowsError)) throw error;
    const accounts = [...collectAccounts(parseJson(text, { allowBom: true }), options.accountPattern)];
    return { fault: invalid(error.message, error), accounts };
  }
}

/** Whether the last day of the answer has no rows. Without a split by date only an empty answer tells. */
function isEmptyAtEnd({ rows }: Normalized, { report, to }: FetchAsk): boolean {
  if (!report.split.includes('date')) return rows.length === 0;
  return to !== null && rows.at(-1)?.date !== to;
}

function isJson(contentType: string): boolean {
  return /^[^;]*[/+]json\b/i.test(contentType);
}

function isHtml(contentType: string, body: Buffer): boolean {
  if (/^\s*(text\/html|application\/xhtml\+xml)\b/i.test(contentType)) return true;
  return /^\s*<(!doctype\s+html|html)\b/i.test(body.toString('latin1', 0, 256));
}
