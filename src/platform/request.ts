/** Requests to the platform. Token requests are sent from here, without slots, pace and circuit. */
import type { Readable } from 'node:stream';
import { type Dispatcher, errors } from 'undici';
import { randomId } from '../lib/chance.js';
import type { Clock } from '../lib/clock.js';
import { timeoutSignal } from '../lib/time.js';
import type { CallReport } from '../telemetry/trace.js';
import { GATEWAY_TEAM } from './budget.js';
import { type Headers, type InterpretRules, interpret, single } from './interpret.js';
import { readBody } from './read-body.js';

export interface Outgoing {
  readonly method: string;
  /** Path and query below the base URL, starting with `/`. */
  readonly target: string;
  readonly body?: string | Buffer | Readable | null;
  /** Sent in addition to the gateway's, which they cannot replace. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** @param token null for the token request */
export function requestOptions(
  { method, target, body = null, headers = {} }: Outgoing,
  baseUrl: URL,
  token: string | null,
): Dispatcher.RequestOptions & { readonly headers: Readonly<Record<string, string>> } {
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    origin: baseUrl.origin,
    path: baseUrl.pathname.replace(/\/$/, '') + target,
    method: method as Dispatcher.HttpMethod,
    headers: {
      ...Object.fromEntries(own),
      accept: 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      'x-request-id': randomId(),
    },
    body,
  };
}

export interface AskOptions {
  readonly agent: Dispatcher;
  readonly rules: InterpretRules;
  readonly timeoutMs: number;
  /** Ends the request early. */
  readonly signal?: AbortSignal | undefined;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  /** Called once of each request, when its headers have come or it has failed. */
  readonly onCall: (report: CallReport) => void;
}

export type Asked = Awaited<ReturnType<typeof askWithToken>>;

/**
 * Sends one request with a given token, active or not. The body must be read or dropped.
 * @throws what the connection throws
 */
export async function askWithToken(
  request: Outgoing,
  token: string | null,
  { agent, rules, timeoutMs, signal, clock, onCall }: AskOptions,
) {
  const late = timeoutSignal(timeoutMs);
  const outgoing = requestOptions(request, rules.baseUrl, token);
  const startedMs = clock.monotonicMs();
  const report = (call: Pick<CallReport, 'outcome' | 'status' | 'code'>) =>
    onCall({
      ...{ team: GATEWAY_TEAM, method: request.method, attempt: 1 },
      ...{ durationMs: clock.monotonicMs() - startedMs, ...call },
    });
  const response = await agent
    .request({ ...outgoing, signal: signal === undefined ? late : AbortSignal.any([late, signal]) })
    .catch((error: Error & { readonly code?: unknown }) => {
      const { code } = error;
      const outcome = signal?.aborted ? 'aborted' : isTimeout(error) ? 'timeout' : 'network';
      report({ outcome, status: null, ...(typeof code === 'string' ? { code } : {}) });
      throw error;
    });
  const { statusCode: status, headers, body } = response;
  const verdict = interpret(status, headers, rules, clock.now());
  report({ outcome: isPage(headers) && verdict.kind === 'answer' ? 'invalid' : verdict.kind, status });
  return {
    status,
    headers,
    verdict,
    /** @throws GatewayError `upstream_too_large`, `upstream_invalid_response`; stream errors */
    read: async (maxBytes: number): Promise<Buffer> =>
      Buffer.concat(await readBody(body, single(headers['content-encoding']), maxBytes)),
    drop: (): void => dropBody(response),
  };
}

/** The platform did not answer in time. */
export const isTimeout = (error: unknown): boolean =>
  (error as Error).name === 'TimeoutError' || error instanceof errors.ConnectTimeoutError;

/** A login page may have status 200. */
export const isPage = (headers: Headers): boolean => /html/i.test(single(headers['content-type']) ?? '');

/** Aborts an unread body; its connection is not reused. */
export function dropBody({ body }: { readonly body: Readable }): void {
  body.on('error', () => {}).destroy();
}
