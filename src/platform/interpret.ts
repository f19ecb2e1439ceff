/** Classifies a platform response by status and headers (`docs/contract.md`, "Errors"). Pure. */
import { GatewayError, type GatewayErrorOptions } from '../errors.js';
import { readDirectives } from '../lib/http/cache-directives.js';

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

export type Verdict =
  /** 2xx, or 304 to a conditional request that was passed through: to be read. */
  | { readonly kind: 'answer' }
  /** 401, or a redirect to a login path. */
  | { readonly kind: 'credential-refused' }
  /** 429. */
  | { readonly kind: 'rate-limited'; readonly retryAfterMs: number | null }
  /** Another 4xx. */
  | { readonly kind: 'rejected' }
  /** 5xx or 408. */
  | {
      readonly kind: 'failed';
      readonly retryable: boolean;
      readonly retryAfterMs: number | null;
      readonly error: GatewayError;
    }
  /** A response that the gateway cannot handle, such as another redirect. */
  | { readonly kind: 'invalid'; readonly error: GatewayError };

export interface InterpretRules {
  /** The platform's base URL, against which locations are resolved. */
  readonly baseUrl: URL;
  readonly loginPaths: readonly string[];
}

/** @param nowMs wall time, for `retry-after` given as a date */
export function interpret(status: number, headers: Headers, rules: InterpretRules, nowMs: number): Verdict {
  if ((status >= 200 && status < 300) || status === 304) return { kind: 'answer' };
  if (status === 401) return { kind: 'credential-refused' };
  if (status >= 300 && status < 400) return redirect(status, single(headers.location), rules);
  const retryAfterMs = parseRetryAfter(single(headers['retry-after']), nowMs, headers);
  if (status === 429) return { kind: 'rate-limited', retryAfterMs };
  if (status === 408) {
    const error = new GatewayError('upstream_timeout', { internal: 'status 408' });
    return { kind: 'failed', retryable: false, retryAfterMs, error };
  }
  if (status >= 400 && status < 500) return { kind: 'rejected' };
  if (status >= 500) {
    const detail = `The platform answered with status ${status}.`;
    const error = new GatewayError('upstream_error', { detail });
    return { kind: 'failed', retryable: status >= 502 && status <= 504, retryAfterMs, error };
  }
  return { kind: 'invalid', error: invalid(`status ${status}`) };
}

function redirect(status: number, location: string | undefined, rules: InterpretRules): Verdict {
  if (location !== undefined && URL.canParse(location, rules.baseUrl.href)) {
    const path = new URL(location, rules.baseUrl).pathname;
    const prefix = rules.baseUrl.pathname.replace(/\/$/, '');
    if (rules.loginPaths.some((login) => path === login || path === prefix + login))
      return { kind: 'credential-refused' };
  }
  return { kind: 'invalid', error: invalid(`status ${status}, a redirect not to a login; none is followed`) };
}

/**
 * @param internal the reason, for the log only
 * @param told what callers learn of it, instead of the code's own words
 */
export function invalid(
  internal: string,
  told: Pick<GatewayErrorOptions, 'detail' | 'help'> = {},
): GatewayError {
  return new GatewayError('upstream_invalid_response', { internal, ...told });
}

export function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/**
 * Seconds or an HTTP date (RFC 9110, section 10.2.3).
 * @param headers of the answer, whose `date` tells the platform's clock
 * @returns milliseconds, or null for neither
 */
export function parseRetryAfter(
  value: string | undefined,
  nowMs: number,
  headers: Headers = {},
): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER);
  const date = parseHttpDate(text, nowMs);
  return date === null ? null : untilTime(date, headers, nowMs);
}

/**
 * The wait until a time sent by the platform, by this machine's clock or the platform's (`date`), whichever is shorter.
 * @returns milliseconds; 0 if the time has passed
 */
export function untilTime(timeMs: number, headers: Headers, nowMs: number): number {
  const waits = [timeMs - nowMs, timeMs - dateOf(headers, nowMs)].filter((wait) => wait > 0);
  return waits.length === 0 ? 0 : Math.min(...waits);
}

/** The platform's clock by its `date` header, else this machine's. */
function dateOf(headers: Headers, nowMs: number): number {
  return parseHttpDate(single(headers.date), nowMs) ?? nowMs;
}

const CURRENT_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const RFC_850_DATE = /^[A-Z][a-z]+, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/** The three forms of RFC 9110, section 5.6.7; `Date.parse` would take almost anything, `-5` too. */
function parseHttpDate(value: string | undefined, nowMs: number): number | null {
  const text = value?.trim() ?? '';
  let usual: string | null = null;
  if (CURRENT_DATE.test(text)) usual = text;
  else if (RFC_850_DATE.test(text)) usual = inItsCentury(text, nowMs);
  else if (ASCTIME_DATE.test(text)) usual = `${text} GMT`;
  const date = usual === null ? Number.NaN : Date.parse(usual);
  return Number.isNaN(date) ? null : date;
}

/** A two-digit year is at most 50 years ahead. */
function inItsCentury(rfc850: string, nowMs: number): string {
  return rfc850.replace(/-(\d{2}) /, (_, digits: string) => {
    const thisYear = new Date(nowMs).getUTCFullYear();
    const year = thisYear - (thisYear % 100) + Number(digits);
    if (year > thisYear + 50) return `-${year - 100} `;
    return `-${year <= thisYear - 50 ? year + 100 : year} `;
  });
}

/**
 * RFC 9111, sections 3, 4.2 and 5.2.2; there is no heuristic freshness.
 * @param startedMs when the call began, by the clock of `nowMs`, when its answer was complete
 * @returns noStore: the answer is not cached; originMs: freshness for a shared cache, for endpoints set to
 *   `freshness: origin`; null: not to be stored
 */
export function originCaching(headers: Headers, startedMs: number, nowMs: number) {
  const directives = readDirectives(joined(headers['cache-control']));
  const noStore = directives.has('no-store');
  const varies = joined(headers.vary)
    .split(',')
    .some((name) => name.trim() === '*');
  if (noStore || directives.has('private') || varies) return { noStore, originMs: null };
  if (directives.has('no-cache')) return { noStore, originMs: 0 };
  const leftMs = lifetimeMs(directives, headers, nowMs) - initialAgeMs(headers, startedMs, nowMs);
  return { noStore, originMs: Math.max(0, leftMs) };
}

/** RFC 9111, section 4.2.3. The first of several ages counts; an invalid one is ignored (section 5.1). */
function initialAgeMs(headers: Headers, startedMs: number, nowMs: number): number {
  const [first = ''] = joined(headers.age).split(',', 1);
  const ageMs = /^\d+$/.test(first.trim()) ? Number(first) * 1000 : 0;
  // Whole seconds, the resolution of `date`.
  const apparentMs = Math.floor(Math.max(0, nowMs - dateOf(headers, nowMs)) / 1000) * 1000;
  return Math.max(apparentMs, ageMs + Math.max(0, nowMs - startedMs));
}

/** An invalid lifetime counts as stale (RFC 9111, section 4.2.1). */
function lifetimeMs(directives: ReadonlyMap<string, string>, headers: Headers, nowMs: number): number {
  const said = directives.get('s-maxage') ?? directives.get('max-age');
  if (said !== undefined) return /^\d+$/.test(said) ? Math.min(Number(said), MAX_AGE_S) * 1000 : 0;
  const expires = parseHttpDate(single(headers.expires), nowMs);
  return expires === null ? 0 : expires - dateOf(headers, nowMs);
}

/** RFC 9111, section 1.2.2. */
const MAX_AGE_S = 2 ** 31;

function joined(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(',') : (value ?? '');
}
