/**
 * One place among the platform's calls, see `client.ts`. With it one request is made:
 *
 *   pause → circuit → the team's share is charged → request → verdict → hand over
 */
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { asGatewayError, GatewayError } from '../errors.js';
import { randomId } from '../lib/chance.js';
import type { Clock } from '../lib/clock.js';
import type { CallReport } from '../telemetry/trace.js';
import type { Circuit } from './circuit.js';
import { type CallDeadline, within } from './deadline.js';
import { asFailure, CallFailed, failureOf, NoAnswer, outcomeOf } from './failure.js';
import { type Headers, type InterpretRules, interpret } from './interpret.js';
import type { Pace } from './pace.js';
import type { Pause } from './pause.js';

export interface PlatformRequest {
  readonly method: string;
  /** Path and query below the base URL, starting with `/`. */
  readonly target: string;
  readonly body?: string | Buffer | Readable | null;
  /** Sent beside the gateway's own, which they cannot replace. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Told how the request ended, so that its caller can say what it cost. */
  readonly onCall?: (report: CallReport) => void;
  /** Makes the request where another library does so; without it the agent is asked here. */
  readonly ask?: (call: OutgoingCall) => Promise<PlatformAnswer>;
}

/** A request as it goes out, with the token. */
export interface OutgoingCall extends Dispatcher.RequestOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export type PlatformAnswer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'> & {
  readonly body: Readable;
};

export interface Response {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readable;
  /** The token it was asked with, so that it can be kept out of what is passed on. */
  readonly token: string;
  /** Aborted when the call's time is over; reading the body must stop then. */
  readonly signal: AbortSignal;
  /** To be called of a 200 that is no answer after all: it may be all that the platform says to a wrong token. */
  readonly doubt: () => void;
}

export interface Slot {
  /**
   * Makes one request, once. `consume` takes an answer (200) or a refusal (other 4xx) and reads its body; a failure
   * inside of it counts as a failed request. The slot ends with the platform's body, or with the failure.
   * @throws CallFailed for everything that is not an answer or a refusal
   */
  send<T>(request: PlatformRequest, consume: (response: Response) => Promise<T>): Promise<T>;
  /** Gives it back unused; once a request was sent, or more than once, it does nothing. */
  release(): void;
}

export interface ActiveToken {
  readonly id: string;
  readonly token: string;
}

/** Where the platform's token comes from. Who calls the platform never keeps it. */
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

/** How many calls a team may cause. */
export interface Shares {
  /** `upstream_budget_exhausted` when nothing is left of a team's share, as far as is known; else null. */
  exhausted(team: string): Promise<GatewayError | null>;
  /** Charges a call that is about to be made. @throws GatewayError `upstream_budget_exhausted` */
  take(team: string): Promise<Charge>;
}

export interface Charge {
  /** Of a call that was not made after all; to be called once. */
  putBack(): void;
}

export interface SendOptions {
  readonly agent: Dispatcher;
  readonly rules: InterpretRules;
  readonly pause: Pause;
  readonly circuit: Pick<Circuit, 'check' | 'run'>;
  readonly shares: Shares;
  readonly pace: Pick<Pace, 'started' | 'ended'>;
  /** Told that the platform answered to a token. */
  readonly tokens: { accepted(id: string): void };
  readonly clock: Clock;
  readonly userAgent: string;
  readonly onCall: (report: CallReport) => void;
}

/** What a slot was given by `acquire`. */
export interface Admission {
  readonly team: string;
  readonly active: ActiveToken;
  readonly deadline: CallDeadline;
  /** Frees the place in the queue; more than once does no harm. */
  readonly leave: () => void;
}

/** One request under way. */
interface Attempt {
  readonly request: PlatformRequest;
  /** Null while it was not sent. */
  startedMs: number | null;
  response: PlatformAnswer | null;
}

export function openSlot(admission: Admission, options: SendOptions): Slot {
  const { leave } = admission;
  let isSent = false;
  return {
    async send(request, consume) {
      isSent = true;
      const attempt: Attempt = { request, startedMs: null, response: null };
      try {
        return await sendOnce(attempt, consume, admission, options);
      } catch (error) {
        letGo(attempt.response);
        leave();
        throw error;
      }
    },
    release() {
      if (!isSent) leave();
    },
  };
}

async function sendOnce<T>(
  attempt: Attempt,
  consume: (response: Response) => Promise<T>,
  admission: Admission,
  options: SendOptions,
): Promise<T> {
  const { signal } = admission.deadline;
  options.pause.check();
  const charge = await chargeShare(admission, options);
  try {
    const outcome = await options.circuit.run(
      () => converse(attempt, consume, admission, options),
      (error) => saysPlatformIsIll(error, attempt, admission, options),
    );
    if (outcome instanceof NoAnswer) throw outcome;
    return outcome.value;
  } catch (error) {
    if (error instanceof NoAnswer) throw failureOf(error.verdict, admission.active, options.pause);
    if (attempt.startedMs === null) {
      charge.putBack();
      throw asGatewayError(error);
    }
    report(attempt, outcomeOf(error, signal), admission, options);
    const retry = signal.aborted || error instanceof GatewayError ? 'never' : 'network';
    throw new CallFailed(asFailure(error, signal), retry);
  }
}

async function chargeShare({ team, deadline }: Admission, { shares }: SendOptions): Promise<Charge> {
  const { signal } = deadline;
  const charging = shares.take(team);
  return await within(signal, () => charging).catch((error: unknown) => {
    if (signal.aborted) void charging.then((late) => late.putBack()).catch(() => {});
    throw asFailure(error, signal);
  });
}

/** Sends the request and reads the answer. @throws NoAnswer when the platform failed, or what broke it off */
async function converse<T>(
  attempt: Attempt,
  consume: (response: Response) => Promise<T>,
  admission: Admission,
  options: SendOptions,
): Promise<{ readonly value: T } | NoAnswer> {
  const { clock, pace, agent, rules, tokens } = options;
  const { active, deadline, leave } = admission;
  attempt.startedMs = clock.monotonicMs();
  pace.started();
  try {
    const { signal } = deadline;
    const request = outgoingOf(attempt.request, rules.baseUrl, active, options.userAgent);
    const { ask = (call: OutgoingCall) => agent.request(call) } = attempt.request;
    attempt.response = await ask({ ...request, signal });
  } finally {
    pace.ended(attempt.response?.headers ?? null);
  }
  const { statusCode: status, headers: answered, body: content } = attempt.response;
  content.once('close', leave);
  const verdict = interpret(status, answered, rules, clock.now());
  if (verdict.kind === 'answer' || verdict.kind === 'rejected') {
    const { signal } = deadline;
    let doubted = false;
    const doubt = () => {
      doubted = true;
    };
    const { token } = active;
    const value = await consume({ status, headers: answered, body: content, token, signal, doubt });
    report(attempt, verdict.kind, admission, options);
    // What a 4xx says is not about the token, and may come before anybody looked at it.
    if (verdict.kind === 'answer' && !doubted) tokens.accepted(active.id);
    return { value };
  }
  report(attempt, verdict.kind, admission, options);
  letGo(attempt.response);
  const none = new NoAnswer(verdict);
  if (verdict.kind === 'failed') throw none;
  return none;
}

/** A call as it goes out: the gateway's own headers stand above the caller's. */
function outgoingOf(
  { method, target, body = null, headers = {} }: PlatformRequest,
  baseUrl: URL,
  { token }: ActiveToken,
  userAgent: string,
): Omit<OutgoingCall, 'signal'> {
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    origin: baseUrl.origin,
    path: baseUrl.pathname.replace(/\/$/, '') + target,
    method: method as Dispatcher.HttpMethod,
    headers: {
      'user-agent': userAgent,
      ...Object.fromEntries(given),
      // Last, so that nothing above can stand in their place.
      accept: 'application/json',
      authorization: `Bearer ${token}`,
      'x-request-id': randomId(),
    },
    body,
  };
}

function report(
  attempt: Attempt,
  outcome: CallReport['outcome'],
  { team, deadline }: Admission,
  { clock, onCall }: SendOptions,
): void {
  const { request, response } = attempt;
  const status = response?.statusCode ?? null;
  const durationMs = elapsedMs(attempt, clock);
  const { attempt: tried } = deadline;
  const made: CallReport = { team, method: request.method, outcome, status, durationMs, attempt: tried };
  onCall(made);
  request.onCall?.(made);
}

function elapsedMs({ startedMs }: Attempt, clock: Clock): number {
  return startedMs === null ? 0 : clock.monotonicMs() - startedMs;
}

/**
 * Not what the caller broke off, nor a time-out most of which was spent on waiting for a slot, nor a body that breaks
 * off on its way from the caller.
 */
function saysPlatformIsIll(
  error: unknown,
  attempt: Attempt,
  { deadline }: Admission,
  { clock }: SendOptions,
): boolean {
  if (error instanceof NoAnswer) return true;
  const failure = outcomeOf(error, deadline.signal);
  if (failure === 'timeout') return elapsedMs(attempt, clock) >= deadline.totalMs / 2;
  return failure === 'network' && !isStreamed(attempt.request.body);
}

/** A body that streams is gone after the first try. */
export function isStreamed(body: PlatformRequest['body']): boolean {
  return typeof body === 'object' && body !== null && !Buffer.isBuffer(body);
}

/** Breaks off what nobody will read; the connection is not used again. */
function letGo(response: PlatformAnswer | null): void {
  response?.body.on('error', () => {}).destroy();
}
