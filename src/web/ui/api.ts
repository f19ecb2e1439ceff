/** Calls of the gateway, with the session's cookie; a refusal becomes an error that can be shown. */
import type { Problem as Written } from '../../lib/http/problem.js';
import { toldTimes } from './format.js';

export type { FieldFault as Fault } from '../../errors.js';

/** A problem document (RFC 9457) of the gateway, or of a proxy before it. */
export type Problem = Pick<Written, 'title' | 'detail' | 'status' | 'errors'> &
  Partial<Pick<Written, 'help' | 'known' | 'requestId' | 'upstream'>> & { readonly code: string };

export class Refused extends Error {
  constructor(
    readonly problem: Problem,
    /** Seconds; null without the header. */
    readonly retryAfter: number | null = null,
  ) {
    super(problem.detail);
    this.name = 'Refused';
  }
}

/** There was no response. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

export interface Answer {
  readonly headers: Headers;
  readonly text: string;
}

export interface CallOptions {
  readonly body?: unknown;
  /** The session's token, required by writes. */
  readonly csrf?: string;
  readonly signal?: AbortSignal;
  /** Asks for numbers that are fetched now, which takes a scope. */
  readonly isFresh?: boolean;
}

/**
 * @param path below this page's origin, `/admin/v1/status`
 * @throws Refused, Unreachable; an AbortError by the signal
 */
export async function call(
  method: Method,
  path: string,
  { body, csrf, signal, isFresh = false }: CallOptions = {},
): Promise<Answer> {
  const request: RequestInit = {
    method,
    headers: {
      // Without one a browser sends no-cache, for which the gateway would call the platform each time.
      'cache-control': isFresh ? 'no-cache' : 'no-store',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(csrf === undefined ? {} : { 'x-csrf-token': csrf }),
    },
    cache: 'no-store',
    credentials: 'same-origin',
    redirect: 'error',
    signal: signal ?? null,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, request);
    text = await response.text();
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new Unreachable('The gateway does not respond.', { cause: error });
  }
  if (!response.ok) throw new Refused(problemOf(text, response.status), secondsOf(response.headers));
  return { headers: response.headers, text };
}

function secondsOf(headers: Headers): number | null {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds : null;
}

/** Members of a problem that people read. */
const READ: ReadonlySet<string> = new Set(['detail', 'help', 'message']);

function problemOf(text: string, status: number): Problem {
  try {
    const problem = JSON.parse(text, (name, value) =>
      typeof value === 'string' && READ.has(name) ? toldTimes(value) : value,
    ) as Problem;
    if (typeof problem.title === 'string') return problem;
  } catch {
    // Not from the gateway.
  }
  return {
    title: 'No response from the gateway',
    detail: `A proxy before the gateway answered with status ${status}.`,
    status,
    code: 'unknown',
    help: 'Try again; if it persists, check the proxy before the gateway.',
  };
}

/** As {@link wordsOf}, with the id of the request where they ask for it: people do not see the answer. */
export function wordsWithId(error: unknown): string {
  const { requestId } = error instanceof Refused ? error.problem : {};
  const words = wordsOf(error);
  return requestId === undefined ? words : words.replace(/the `?requestId`?/, `the request id ${requestId}`);
}

/** An error in sentences, which are equal for equal errors. */
export function wordsOf(error: unknown): string {
  if (error instanceof Unreachable)
    return 'The gateway does not respond. Check that it is running and reachable.';
  if (!(error instanceof Refused)) return `This page failed: ${String(error)}. Reload it.`;
  const { code, detail, help, errors = [], status, upstream } = error.problem;
  if (code === 'upstream_rejected') {
    const said = (upstream as { message?: unknown } | undefined)?.message;
    return typeof said === 'string'
      ? `The platform says: ${/[.!?]$/.test(said) ? said : `${said}.`} Change the request accordingly.`
      : `The platform gave no reason, only status ${status}. Change the request, or ask your operator.`;
  }
  const others = errors.slice(1).map(({ param, message }) => `${param} ${message}.`);
  return [detail, ...others, help ?? ''].join(' ').trim();
}
