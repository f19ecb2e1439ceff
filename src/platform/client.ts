/**
 * The one client of the platform. Every call, report or pass-through, takes this way:
 *
 *   pause → budget → token → request → judge → (retry | pause | refuse the credential) → hand over
 */
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Dispatcher, errors as undiciErrors } from 'undici';
import type { Clock } from '../clock.js';
import { asGatewayError, GatewayError } from '../errors.js';
import type { Budget } from './budget.js';
import { type Headers, type InterpretRules, interpret, type Verdict } from './interpret.js';
import type { Pause } from './pause.js';

/** Where the token comes from. The client never keeps it. */
export interface TokenSource {
  /** @throws GatewayError `credential_unavailable` when there is none */
  current(): ActiveToken;
  /**
   * Told that the platform refused this token.
   * @returns whether another token is active now, so that a read may be tried again
   */
  refused(id: string): Promise<boolean>;
}

export interface ActiveToken {
  readonly id: string;
  readonly token: string;
}

export interface Call {
  readonly method: string;
  /** Path and query below the base URL, starting with `/`. */
  readonly target: string;
  /** Sent beside the platform's own; lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | Readable | null;
  /** Who the call is charged to. */
  readonly team: string;
  /** A GET or HEAD may be tried again, a POST that reads only after its token was refused, a write never. */
  readonly kind: 'read' | 'post-read' | 'write';
  /** Whole time for it, milliseconds; tries and waiting included. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Told about every try, so that a request can say what it cost. */
  readonly onTry?: (report: CallReport) => void;
}

export interface Response {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readable;
  /** The token it was asked with, so that it can be kept out of what is passed on. */
  readonly token: string;
  /** Aborted when the call's time is over; reading the body must stop then. */
  readonly signal: AbortSignal;
}

/** How one try ended, for metrics and the request's log line. */
export interface CallReport {
  readonly team: string;
  readonly method: string;
  readonly outcome: Verdict['kind'] | 'network' | 'timeout';
  readonly status: number | null;
  readonly durationMs: number;
}

export interface PlatformClient {
  /**
   * Makes the call; `consume` takes an answer (200) or a refusal (other 4xx) and reads its body. The turn in the
   * budget is held until the body is closed. A failure inside of `consume` counts as a failed try.
   * @throws GatewayError for everything that is not an answer or a refusal
   */
  send<T>(call: Call, consume: (response: Response) => Promise<T>): Promise<T>;
}

export interface PlatformClientOptions {
  readonly agent: Dispatcher;
  readonly rules: InterpretRules;
  readonly tokens: TokenSource;
  readonly budget: Budget;
  readonly pause: Pause;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retry: { readonly attempts: number; readonly baseMs: number };
  readonly userAgent: string;
  readonly onCall: (report: CallReport) => void;
}

/** The outcome of one try: a value, or an error with what may be done about it. */
type Try<T> =
  | { readonly value: T }
  | { readonly error: GatewayError; readonly again: readonly Call['kind'][]; readonly waitMs: number | null };

/** Which calls may be repeated after a failure that the platform may or may not have acted on. */
const READS = ['read'] as const;
/** Which after a refused token: the platform did nothing. Writes stay out, by rule. */
const ALL_READS = ['read', 'post-read'] as const;

export function createPlatformClient(options: PlatformClientOptions): PlatformClient {
  const { pause, budget, tokens, clock, logger, retry } = options;

  async function send<T>(call: Call, consume: (response: Response) => Promise<T>): Promise<T> {
    const deadline = startDeadline(call);
    try {
      for (let tries = 0; ; tries++) {
        const outcome = await tryOnce(call, consume, deadline.signal);
        if ('value' in outcome) return outcome.value;
        const mayRepeat = outcome.again.includes(call.kind) && tries < retry.attempts;
        if (!mayRepeat) throw outcome.error;
        const waitMs = Math.max(outcome.waitMs ?? 0, backoffMs(tries, retry.baseMs));
        if (waitMs > deadline.leftMs()) throw outcome.error;
        logger.debug({ tries, waitMs, code: outcome.error.code }, 'platform call failed; trying again');
        await sleep(waitMs, undefined, { signal: deadline.signal }).catch(() => {
          throw outcome.error;
        });
      }
    } finally {
      deadline.stop();
    }
  }

  async function tryOnce<T>(
    call: Call,
    consume: (response: Response) => Promise<T>,
    signal: AbortSignal,
  ): Promise<Try<T>> {
    pause.check();
    const release = await budget.acquire(call.team, signal).catch((error: unknown) => {
      throw asTimeout(error, signal);
    });
    const active = currentToken(release);
    const startedMs = clock.monotonicMs();
    const report = (outcome: CallReport['outcome'], status: number | null) => {
      const durationMs = clock.monotonicMs() - startedMs;
      const made: CallReport = { team: call.team, method: call.method, outcome, status, durationMs };
      options.onCall(made);
      call.onTry?.(made);
    };
    try {
      const response = await request(call, active.token, signal);
      response.body.once('close', release);
      const verdict = interpret(response.statusCode, response.headers, options.rules, clock.now());
      if (verdict.kind === 'answer' || verdict.kind === 'rejected') {
        const value = await consume({
          status: response.statusCode,
          headers: response.headers,
          body: response.body,
          token: active.token,
          signal,
        });
        report(verdict.kind, response.statusCode);
        return { value };
      }
      report(verdict.kind, response.statusCode);
      response.body.on('error', () => {}).destroy();
      return await judge(verdict, active);
    } catch (error) {
      release();
      if (error instanceof GatewayError) return { error, again: [], waitMs: null };
      report(signal.aborted ? 'timeout' : 'network', null);
      return { error: asTimeout(error, signal), again: signal.aborted ? [] : READS, waitMs: null };
    }
  }

  function currentToken(release: () => void): ActiveToken {
    try {
      return tokens.current();
    } catch (error) {
      release();
      throw error;
    }
  }

  function request(call: Call, token: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const prefix = options.rules.baseUrl.pathname.replace(/\/$/, '');
    return options.agent.request({
      origin: options.rules.baseUrl.origin,
      path: prefix + call.target,
      method: call.method as Dispatcher.HttpMethod,
      headers: {
        accept: 'application/json',
        'user-agent': options.userAgent,
        ...call.headers,
        // Last, so that nothing above can stand in their place.
        authorization: `Bearer ${token}`,
        'x-request-id': randomUUID(),
      },
      body: call.body ?? null,
      signal,
    });
  }

  async function judge(
    verdict: Exclude<Verdict, { kind: 'answer' | 'rejected' }>,
    active: ActiveToken,
  ): Promise<Try<never>> {
    switch (verdict.kind) {
      case 'credential-refused': {
        const healed = await tokens.refused(active.id);
        const error = new GatewayError('credential_unavailable', { retryAfterS: 5 });
        return { error, again: healed ? ALL_READS : [], waitMs: 0 };
      }
      case 'rate-limited':
        pause.open(verdict.retryAfterMs);
        return { error: pause.error(), again: [], waitMs: null };
      case 'failed':
        return { error: verdict.error, again: verdict.retryable ? READS : [], waitMs: verdict.retryAfterMs };
      case 'invalid':
        return { error: verdict.error, again: [], waitMs: null };
    }
  }

  return { send };
}

interface Deadline {
  readonly signal: AbortSignal;
  leftMs(): number;
  stop(): void;
}

function startDeadline(call: Call): Deadline {
  const controller = new AbortController();
  const endsAt = performance.now() + call.timeoutMs;
  const timer = setTimeout(() => controller.abort(new GatewayError('upstream_timeout')), call.timeoutMs);
  const signal =
    call.signal === undefined ? controller.signal : AbortSignal.any([controller.signal, call.signal]);
  return { signal, leftMs: () => endsAt - performance.now(), stop: () => clearTimeout(timer) };
}

/** Full jitter, so that callers who failed together do not come back together. */
function backoffMs(tries: number, baseMs: number): number {
  return Math.random() * baseMs * 2 ** tries;
}

function asTimeout(error: unknown, signal: AbortSignal): GatewayError {
  if (signal.aborted) return asGatewayError(signal.reason);
  if (error instanceof GatewayError) return error;
  if (error instanceof undiciErrors.ConnectTimeoutError)
    return new GatewayError('upstream_timeout', { cause: error });
  return new GatewayError('upstream_error', {
    detail: 'The platform could not be reached, or broke off its answer.',
    cause: error,
  });
}
