/**
 * The one client of the platform. Every call, report or pass-through, takes this way:
 *
 *   turn (turn.ts) → request → judge → (retry | pause | refuse the credential) → hand over
 */
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import type { Clock } from '../clock.js';
import { asGatewayError, GatewayError } from '../errors.js';
import { buildRequest } from './build-request.js';
import type { Circuit } from './circuit.js';
import { type Deadline, startDeadline, within } from './deadline.js';
import { asFailure, type Failure, outcomeOf } from './failure.js';
import { type Headers, type InterpretRules, interpret, type Verdict } from './interpret.js';
import type { Pace } from './pace.js';
import type { Pause } from './pause.js';
import { createTakeTurn, type Turn, type TurnOptions } from './turn.js';

/** Where the token comes from. The client never keeps it. */
export interface TokenSource {
  /** @throws GatewayError `credential_unavailable` when there is none, and none could be had */
  current(): ActiveToken | Promise<ActiveToken>;
  /**
   * Told that the platform refused this token.
   * @returns whether another token is active now, so that a read may be tried again
   */
  refused(id: string): Promise<boolean>;
  /** Told that the platform answered to this token. */
  accepted(id: string): void;
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

/** When a call's time is over, waiting and tries included. */
export type CallDeadline = Pick<Deadline, 'signal' | 'leftMs'>;

export interface Call {
  readonly method: string;
  /**
   * What to ask. A function is called once, when it is the call's turn, and told how long the call may still take;
   * when it gives null, nothing is left to be asked and the call ends without having been made. What it is granted
   * after the signal was aborted it has to give back itself: nobody waits for it any more.
   */
  readonly request: Asked | ((deadline: CallDeadline) => Promise<Asked | null>);
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

export interface PlatformClientOptions extends TurnOptions<ActiveToken> {
  readonly agent: Dispatcher;
  readonly rules: InterpretRules;
  readonly tokens: TokenSource;
  readonly pause: Pause;
  readonly circuit: Circuit;
  readonly pace: Pace;
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
  const { pause, tokens, circuit, pace, clock, logger, retry } = options;
  const takeTurn = createTakeTurn(options);

  async function send<T>(call: Call, consume: (response: Response) => Promise<T>): Promise<T | null> {
    const deadline = startDeadline(call.timeoutMs, call.signal);
    const asked = onceAsked(call.request, deadline);
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
    const turn = await takeTurn(call.team, asked, signal);
    if (turn === null) return { value: null };
    const attempt: Attempt = { turn, startedMs: null, response: null };
    let ended: { readonly value: T } | NoAnswer;
    try {
      ended = await circuit.run(
        () => converse(call, attempt, consume, signal),
        (error) => saysPlatformIsIll(error, call, elapsedMs(attempt), signal),
      );
    } catch (error) {
      letGo(attempt.response);
      turn.release();
      if (!(error instanceof NoAnswer)) return breakOff(error, call, attempt, signal);
      ended = error;
    }
    return ended instanceof NoAnswer ? judge(ended.verdict, turn.active, signal) : ended;
  }

  /** Sends the request and reads the answer. @throws NoAnswer when the platform failed, or what broke it off */
  async function converse<T>(
    call: Call,
    attempt: Attempt,
    consume: (response: Response) => Promise<T>,
    signal: AbortSignal,
  ): Promise<{ readonly value: T } | NoAnswer> {
    const { active, what, release } = attempt.turn;
    attempt.startedMs = clock.monotonicMs();
    pace.started();
    try {
      attempt.response = await request(call, what, active.token, signal);
    } finally {
      pace.ended(attempt.response?.headers ?? null);
    }
    const { statusCode: status, headers, body } = attempt.response;
    body.once('close', release);
    const verdict = interpret(status, headers, options.rules, clock.now());
    if (verdict.kind === 'answer' || verdict.kind === 'rejected') {
      const value = await consume({ status, headers, body, token: active.token, signal });
      report(call, attempt, verdict.kind);
      // What a 4xx says is not about the token, and may come before anybody looked at it.
      if (verdict.kind === 'answer') tokens.accepted(active.id);
      return { value };
    }
    report(call, attempt, verdict.kind);
    letGo(attempt.response);
    const none = new NoAnswer(verdict);
    if (verdict.kind === 'failed') throw none;
    return none;
  }

  function breakOff(error: unknown, call: Call, attempt: Attempt, signal: AbortSignal): Try<never> {
    if (attempt.startedMs === null) {
      attempt.turn.charge.putBack();
      throw asGatewayError(error);
    }
    report(call, attempt, outcomeOf(error, signal));
    const again = signal.aborted || error instanceof GatewayError ? 'never' : 'network';
    return { error: asFailure(error, signal), again, waitMs: null };
  }

  function report(call: Call, attempt: Attempt, outcome: CallReport['outcome']): void {
    const { team, method } = call;
    const status = attempt.response?.statusCode ?? null;
    const made: CallReport = { team, method, outcome, status, durationMs: elapsedMs(attempt) };
    options.onCall(made);
    call.onTry?.(made);
  }

  function elapsedMs({ startedMs }: Attempt): number {
    return startedMs === null ? 0 : clock.monotonicMs() - startedMs;
  }

  function request(call: Call, asked: Asked, token: string, signal: AbortSignal) {
    const { method, headers = {} } = call;
    const { target, body = null } = asked;
    const outgoing = { method, target, headers, body, token, userAgent: options.userAgent };
    return options.agent.request({ ...buildRequest(options.rules.baseUrl, outgoing), signal });
  }

  async function judge(
    verdict: NoAnswer['verdict'],
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
function onceAsked(request: Call['request'], deadline: CallDeadline): () => Promise<Asked | null> {
  if (typeof request !== 'function') return () => Promise.resolve(request);
  let first: Promise<Asked | null> | null = null;
  return () => {
    first ??= request(deadline);
    return first;
  };
}

/** One try under way. */
interface Attempt {
  readonly turn: Turn<ActiveToken, Asked>;
  /** Null while it was not sent. */
  startedMs: number | null;
  response: Dispatcher.ResponseData | null;
}

/** The platform answered, with nothing to hand over. */
class NoAnswer extends Error {
  constructor(readonly verdict: Exclude<Verdict, { kind: 'answer' | 'rejected' }>) {
    super(verdict.kind);
  }
}

/**
 * Not what the caller broke off, nor a time-out most of which was spent on waiting for a turn, nor a body that breaks
 * off on its way from the caller.
 */
function saysPlatformIsIll(error: unknown, call: Call, elapsedMs: number, signal: AbortSignal): boolean {
  if (error instanceof NoAnswer) return true;
  const failure = outcomeOf(error, signal);
  if (failure === 'timeout') return elapsedMs >= call.timeoutMs / 2;
  return failure === 'network' && !streams(call);
}

/** A body that streams is gone after the first try. */
function mayRepeat(call: Call, kinds: readonly Call['kind'][]): boolean {
  return kinds.includes(call.kind) && !streams(call);
}

function streams({ request }: Call): boolean {
  const body = typeof request === 'function' ? null : request.body;
  return typeof body === 'object' && body !== null && !Buffer.isBuffer(body);
}

/** Breaks off what nobody will read; the connection is not used again. */
function letGo(response: Dispatcher.ResponseData | null): void {
  response?.body.on('error', () => {}).destroy();
}

/** Full jitter, so that callers who failed together do not come back together. */
function backoffMs(retries: number, baseMs: number): number {
  return Math.random() * baseMs * 2 ** (retries - 1);
}
