/**
 * The gate before all routing: only the canonical spelling of a path is accepted. Any other (`/Report/x`, `/report//x`,
 * `%2e%2e`) would miss the guarded route, and the wildcard proxy would pass it to the platform with the token.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import { uptimeMs } from '../../lib/time.js';
import { GONE } from '../../outcome.js';
import { Trace } from '../../telemetry/trace.js';
import { corsOf, PREFLIGHT_VARY } from './cors.js';
import type { Accounted } from './finish.js';
import { noteProblem, problemAnswer } from './problem-reply.js';

// Requests that another parser might read differently: by HTTP version, host, or a body where none is expected.

/** @returns why a request is ambiguous, or null */
export function ambiguityOf(raw: IncomingMessage): GatewayError | null {
  // Node's parser takes a request line without a version for HTTP/0.9, and knows 2.0.
  if (raw.httpVersion !== '1.1' && raw.httpVersion !== '1.0')
    return ambiguous('The request line names no version, or one that is not spoken here; send HTTP/1.1.');
  const hosts = raw.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1) return ambiguous('The request names two hosts.');
  const isOld = raw.httpVersion === '1.0';
  const coding = raw.headers['transfer-encoding'];
  if (hosts === 0 && !isOld) return ambiguous('The request names no host.');
  if (isOld && coding !== undefined)
    return ambiguous('HTTP/1.0 has no transfer-encoding (RFC 9112, section 6.1); send content-length.');
  // Node only decodes chunks: for `gzip, chunked` the platform would get gzip without its header.
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked')
    return ambiguous('The only supported transfer-encoding is chunked; send the body without others.');
  const { expect } = raw.headers;
  if (!isOld && expect !== undefined && expect.toLowerCase() !== '100-continue')
    return ambiguous('The only supported expectation is 100-continue.', 417);
  if (raw.method !== 'GET' && raw.method !== 'HEAD') return null;
  const length = raw.headers['content-length'];
  if (coding === undefined && (length === undefined || length === '0')) return null;
  return ambiguous(`A ${raw.method} must have no body.`);
}

function ambiguous(detail: string, status = 400): GatewayError {
  return new GatewayError('invalid_request', { status, detail, headers: { connection: 'close' } });
}

type GateFault = 'invalid_path' | 'uri_too_long';

export interface GateRules {
  readonly maxUriBytes: number;
  /** Further characters allowed below a path prefix: pass-through routes may declare them. */
  readonly wider: readonly { readonly path: RegExp }[];
}

const PLAIN = /^(\/[A-Za-z0-9._~-]+)*\/?$/;

/** @returns why a request target (path and query, as received) is refused, or null */
export function gateFault(target: string, rules: GateRules): GateFault | null {
  if (target.length > rules.maxUriBytes) return 'uri_too_long';
  return brokenRule(target, rules.wider) === null ? null : 'invalid_path';
}

/** Accepted paths are remembered, from targets of limited length: a slice keeps its whole target in memory. */
const [MAX_REMEMBERED, MAX_TARGET_CHARS] = [500, 1024];

/** @returns the same as {@link gateFault}, without checking the characters of a known path again */
export function createGate(rules: GateRules): (target: string) => GateFault | null {
  const passed = new Set<string>();
  return (target) => {
    if (target.length > rules.maxUriBytes) return 'uri_too_long';
    const cut = target.indexOf('?');
    const path = cut < 0 ? target : target.slice(0, cut);
    if (passed.has(path) && !target.includes('#')) return null;
    const fault = gateFault(target, rules);
    if (fault === null && target.length <= MAX_TARGET_CHARS) {
      if (passed.size >= MAX_REMEMBERED) passed.clear();
      passed.add(path);
    }
    return fault;
  };
}

/** @returns path and query of a request target, as received */
export function splitTarget(target: string): [path: string, query: string] {
  const cut = target.indexOf('?');
  return cut < 0 ? [target, ''] : [target.slice(0, cut), target.slice(cut + 1)];
}

/** @returns the broken rule of the canonical form, as the rest of a sentence after "The path"; null: none */
function brokenRule(target: string, wider: GateRules['wider']): string | null {
  const [path] = splitTarget(target);
  if (!path.startsWith('/')) return 'does not start with /';
  if (target.includes('#')) return 'has a fragment (#), which clients must not send';
  if (!PLAIN.test(path) && !wider.some((wide) => wide.path.test(path))) return characterRule(path);
  // `a../` and `/..a` too: a parser that does not compare whole segments would go up a level.
  if (path.split('/').some((segment) => segment === '.' || /^\.\.|\.\.$/.test(segment)))
    return 'has a segment that is . or begins or ends with ..';
  return apiRule(path);
}

function characterRule(path: string): string {
  if (path.includes('%')) return 'is percent-encoded';
  if (path.includes('//')) return 'has an empty segment (//)';
  return 'has a character other than A-Z a-z 0-9 . _ ~ - in a segment';
}

/** Below /api, the platform may treat other spellings as the same path. */
function apiRule(path: string): string | null {
  const lower = path.toLowerCase();
  if (lower !== '/api' && !lower.startsWith('/api/')) return null;
  if (path.endsWith('/')) return 'ends with a slash';
  // The version is compared as a prefix, so that no `/api/V1x` passes; the others as whole segments.
  const fixed = ['/api', '/api/v1', '/api/v1/report'].findLast(
    (prefix) => lower === prefix || lower.startsWith(prefix === '/api/v1' ? prefix : `${prefix}/`),
  ) as string;
  return path.startsWith(fixed) ? null : `begins with ${path.slice(0, fixed.length)} instead of ${fixed}`;
}

/**
 * The paths of a pass-through route whose segments may hold further characters.
 * @param path e.g. `/api/v1/files/*`; a last segment `*` stands for one segment
 * @param chars e.g. `@:`; percent signs, slashes and backslashes are never allowed
 */
export function widerPath(path: string, chars: string): { readonly path: RegExp } {
  const safe = [...chars]
    .filter((char) => !/[%/\\?#\s]/.test(char))
    .map((char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
  const segment = `[A-Za-z0-9._~\\-${safe.join('')}]+`;
  const pattern = path
    .split('/')
    .map((part) => (part === '*' ? segment : part.replace(/[.~-]/g, '\\$&')))
    .join('/');
  return { path: new RegExp(`^${pattern}$`, 'u') };
}

// Answers refused request targets, which do not reach the router.

interface PathRefusal {
  readonly corsOrigins: readonly string[];
  readonly gate: GateRules;
  readonly onDone: (request: Accounted, status: number, durationMs: number, complete: boolean) => void;
}

/** Body, headers, log line and metrics are those of any problem. */
export function refusePath(
  fault: GateFault,
  raw: IncomingMessage,
  response: ServerResponse,
  { corsOrigins, gate, onDone }: PathRefusal,
): void {
  const startedMs = uptimeMs();
  const id = randomId();
  const request: Accounted = {
    id,
    raw,
    method: raw.method ?? '',
    originalUrl: raw.url ?? '',
    trace: new Trace(),
  };
  response.once('close', () => {
    const status = response.headersSent ? response.statusCode : GONE;
    onDone(request, status, uptimeMs() - startedMs, response.writableFinished);
  });
  const ambiguity = ambiguityOf(raw);
  const { preflight, headers: allowed } = corsOf(raw, corsOrigins);
  const own = { 'x-request-id': id, ...(ambiguity === null ? allowed : {}) };
  // The page may send its request, so that it can read the refusal.
  if (preflight && ambiguity === null) {
    response.writeHead(204, { ...own, vary: PREFLIGHT_VARY }).end();
    return;
  }
  const error = ambiguity ?? gateError(fault, raw.url ?? '', gate);
  noteProblem(request.trace, error);
  const { status, headers, body } = problemAnswer(error, id, raw);
  const vary = corsOrigins.length === 0 ? headers.vary : `${headers.vary}, origin`;
  response.writeHead(status, { ...own, ...headers, vary, 'content-length': body.length }).end(body);
}

function gateError(fault: GateFault, target: string, { wider }: GateRules): GatewayError {
  if (fault === 'uri_too_long') return new GatewayError(fault);
  return new GatewayError(fault, {
    detail: `The path is not in canonical form: it ${brokenRule(target, wider)}.`,
  });
}
