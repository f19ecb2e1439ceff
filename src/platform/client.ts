/**
 * The one client of the platform. Every call, report or pass-through, takes this way:
 *
 *   pause → budget → token → request → judge → (retry | pause | refuse the credential) → hand over
 */
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import type { Clock } from '../clock.js';
import { asGatewayError, GatewayError } from '../errors.js';
import type { Budget } from './budget.js';
import { startDeadline, within } from './deadline.js';
import { asFailure, type Failure, outcomeOf } from './failure.js';
import { type Headers, type InterpretRules, interpret, type Verdict } from './interpret.js';
import type { Pause } from './pause.js';

/** Where the token comes from. The client never keeps it. */
export interface TokenSource {
  /** @throws GatewayError `credential_unavailable` when there is none, and none could be had */
  current(): ActiveToken | Promise<ActiveToken>;
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

export interface Asked {
  /** Path and query below the base URL, starting with `/`. */
  readonly target: string;
  readonly body?: string | Buffer | Readable | null;
}

export interface Call {
  readonly method: string;
  /**
   * What to ask. A function is called once, when it is the call's turn; when it gives null, nothing is left to be
   * asked and the call ends without having been made.
   */
  readonly request: Asked | (() => Promise<Asked | null>);
  /** Sent beside the gateway's own, which they cannot replace. */
  readonly headers?: Readonly<Record<string, string>>;
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
  readonly outcome: Verdict['kind'] | Failure;
  readonly status: number | null;
  readonly durationMs: number;
}

export interface PlatformClient {
  send<T>(call: Call & { readonly request: Asked }, consume: (response: Response) => Promise<T>): Promise<T>;
  /**
   * Makes the call; `consume` takes an answer (200) or a refusal (other 4xx) and reads its body. The turn in the
   * budget is held until the body is closed. A failure inside of `consume` counts as a failed try.
   * @returns null when the call's `request` gave null
   * @throws GatewayError for everything that is not an answer or a refusal
   */
  send<T>(call: Call, consume: (response: Response) => Promise<T>): Promise<T | null>;
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
  | { readonly error: GatewayError; readonly again: Again; readonly waitMs: number | null };

/**
 * When a failed try may be followed by another. `network`: the platform may or may not have acted, so reads alone,
 * as often as the settings say. `token`: it did nothing, and another token is there, so any read, once.
 */
type Again = 'never' | 'network' | 'token';

export function createPlatformClient(options: PlatformClientOptions): PlatformClient {
  const { pause, budget, tokens, clock, logger, retry } = options;

  async function send<T>(call: Call, consume: (response: Response) => Promise<T>): Promise<T | null> {
    const deadline = startDeadline(call.timeoutMs, call.signal);
    const asked = onceAsked(call.request);
    let [retries, newTokens] = [0, 0];
    try {
      for (;;) {
        const outcome = await tryOnce(call, asked, consume, deadline.signal);
        if ('value' in outcome) return outcome.value;
        const { error, again } = outcome;
        if (again === 'token' && newTokens === 0 && mayRepeat(call, ['read', 'post-read'])) newTokens += 1;
        else if (again === 'network' && retries < retry.attempts && mayRepeat(call, ['read'])) retries += 1;
        else throw error;
        const waitMs =
          again === 'token' ? 0 : Math.max(outcome.waitMs ?? 0, backoffMs(retries, retry.baseMs));
        if (waitMs > deadline.leftMs()) throw error;
        logger.debug({ retries, waitMs, code: error.code }, 'platform call failed; trying again');
        await sleep(waitMs, undefined, { signal: deadline.signal }).catch(() => {
          throw error;
        });
      }
    } finally {
      deadline.stop();
    }
  }

  async function tryOnce<T>(
    call: Call,
    asked: () => Promise<Asked | null>,
    consume: (response: Response) => Promise<T>,
    signal: AbortSignal,
  ): Promise<Try<T | null>> {
    const { release, active, what } = await takeTurn(call, asked, signal);
    if (what === null) return { value: null };
    const startedMs = clock.monotonicMs();
    const report = (outcome: CallReport['outcome'], status: number | null) => {
      const durationMs = clock.monotonicMs() - startedMs;
      const made: CallReport = { team: call.team, method: call.method, outcome, status, durationMs };
      options.onCall(made);
      call.onTry?.(made);
    };
    let response: Dispatcher.ResponseData | null = null;
    let verdict: Verdict;
    try {
      response = await request(call, what, active.token, signal);
      response.body.once('close', release);
      const { statusCode: status, headers, body } = response;
      verdict = interpret(status, headers, options.rules, clock.now());
      if (verdict.kind === 'answer' || verdict.kind === 'rejected') {
        const value = await consume({ status, headers, body, token: active.token, signal });
        report(verdict.kind, status);
        return { value };
      }
      report(verdict.kind, status);
      letGo(response);
    } catch (error) {
      letGo(response);
      release();
      report(outcomeOf(error, signal), response?.statusCode ?? null);
      const again = signal.aborted || error instanceof GatewayError ? 'never' : 'network';
      return { error: asFailure(error, signal), again, waitMs: null };
    }
    return judge(verdict, active, signal);
  }

  /**
   * A turn in the budget, the token to use it with, and the question. Whoever waited looks again whether there is a
   * pause. Without token or question the turn goes to the next in line.
   */
  async function takeTurn(
    call: Call,
    asked: () => Promise<Asked | null>,
    signal: AbortSignal,
  ): Promise<Turn> {
    pause.check();
    const release = await budget.acquire(call.team, signal).catch((error: unknown) => {
      throw asFailure(error, signal);
    });
    try {
      pause.check();
      const active = await within(signal, async () => tokens.current());
      const what = await within(signal, asked);
      if (what === null) release();
      return { release, active, what };
    } catch (error) {
      release();
      throw asGatewayError(error);
    }
  }

  function request(
    call: Call,
    { target, body }: Asked,
    token: string,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const prefix = options.rules.baseUrl.pathname.replace(/\/$/, '');
    return options.agent.request({
      origin: options.rules.baseUrl.origin,
      path: prefix + target,
      method: call.method as Dispatcher.HttpMethod,
      headers: {
        'user-agent': options.userAgent,
        ...lowerCase(call.headers ?? {}),
        // Last, so that nothing above can stand in their place.
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        'x-request-id': randomUUID(),
      },
      body: body ?? null,
      signal,
    });
  }

  async function judge(
    verdict: Exclude<Verdict, { kind: 'answer' | 'rejected' }>,
    active: ActiveToken,
    signal: AbortSignal,
  ): Promise<Try<never>> {
    switch (verdict.kind) {
      case 'credential-refused': {
        const healed = await within(signal, () => tokens.refused(active.id)).catch((error: unknown) => {
          throw asGatewayError(error);
        });
        const error = new GatewayError('credential_unavailable', { retryAfterS: 5 });
        return { error, again: healed ? 'token' : 'never', waitMs: null };
      }
      case 'rate-limited':
        pause.open(verdict.retryAfterMs);
        return { error: pause.error(), again: 'never', waitMs: null };
      case 'failed':
        return {
          error: verdict.error,
          again: verdict.retryable ? 'network' : 'never',
          waitMs: verdict.retryAfterMs,
        };
      case 'invalid':
        return { error: verdict.error, again: 'never', waitMs: null };
    }
  }

  return { send: send as PlatformClient['send'] };
}

/** A second try asks the same again: what was claimed for the first stays claimed. */
function onceAsked(request: Call['request']): () => Promise<Asked | null> {
  if (typeof request !== 'function') return () => Promise.resolve(request);
  let first: Promise<Asked | null> | null = null;
  return () => {
    first ??= request();
    return first;
  };
}

interface Turn {
  readonly release: () => void;
  readonly active: ActiveToken;
  /** Null when nothing is left to be asked. */
  readonly what: Asked | null;
}

/** A body that streams is gone after the first try. */
function mayRepeat({ kind, request }: Call, kinds: readonly Call['kind'][]): boolean {
  const body = typeof request === 'function' ? null : request.body;
  const isStream = typeof body === 'object' && body !== null && !Buffer.isBuffer(body);
  return kinds.includes(kind) && !isStream;
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Breaks off what nobody will read; the connection is not used again. */
function letGo(response: Dispatcher.ResponseData | null): void {
  response?.body.on('error', () => {}).destroy();
}

/** Full jitter, so that callers who failed together do not come back together. */
function backoffMs(retries: number, baseMs: number): number {
  return Math.random() * baseMs * 2 ** (retries - 1);
}
