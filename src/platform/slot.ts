/**
 * A slot for one platform request, see `client.ts`:
 *
 *   pause → circuit → the team's share is charged → request → verdict → answer
 */
import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { asGatewayError, GatewayError, type GatewayErrorOptions } from '../errors.js';
import type { Clock } from '../lib/clock.js';
import type { CallReport } from '../telemetry/trace.js';
import type { Budget } from './budget.js';
import type { Circuit } from './circuit.js';
import { type CallDeadline, within } from './deadline.js';
import { asFailure, CallFailed, failureOf, NoAnswer, outcomeOf } from './failure.js';
import { type Headers, type InterpretRules, interpret } from './interpret.js';
import type { Pace, Pause } from './pace.js';
import { dropBody, type Outgoing, requestOptions } from './request.js';

export interface PlatformRequest extends Outgoing {
  /** Called when the request ended. */
  readonly onCall?: (report: CallReport) => void;
  /** Makes the request instead of the agent, e.g. by another library. */
  readonly ask?: (call: OutgoingCall) => Promise<PlatformAnswer>;
}

/** A request with the token. */
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
  /** The token of the request, to be removed from everything passed on. */
  readonly token: string;
  /** Aborted at the deadline; then reading the body must stop. */
  readonly signal: AbortSignal;
  /**
   * To be called for a 200 that is not an answer, for some platforms reject a token that way.
   * @param isReadable false: the call failed
   */
  readonly doubt: (isReadable: boolean) => void;
}

export interface ActiveToken {
  readonly id: string;
  readonly token: string;
}

/** The source of the platform token. Callers must not keep the token. */
export interface TokenSource {
  /** @throws GatewayError `credential_unavailable` without one */
  current(): ActiveToken | Promise<ActiveToken>;
  /**
   * Reports that the platform rejected this token.
   * @returns whether another token is active now, so that a read may be retried
   */
  refused(id: string): Promise<boolean>;
  /** Why there is no token that the platform accepts, and what to do, for callers; empty: not known. */
  why(): Pick<GatewayErrorOptions, 'detail' | 'help'>;
  /** Reports that the platform accepted this token. */
  accepted(id: string): void;
}

/** Daily shares of platform calls by team. */
export interface Shares {
  /** `upstream_budget_exhausted` if a team's share is used up, as known; else null. */
  exhausted(team: string): Promise<GatewayError | null>;
  /** Charges a call before it is made. @throws GatewayError `upstream_budget_exhausted` */
  take(team: string): Promise<Charge>;
}

export interface Charge {
  /** To be called once, if the call was not made. */
  putBack(): void;
}

export interface PlatformOptions {
  readonly agent: Dispatcher;
  readonly rules: InterpretRules;
  readonly budget: Pick<Budget, 'acquire'>;
  readonly pace: Pick<Pace, 'waitMs' | 'started' | 'ended'>;
  readonly pause: Pause;
  readonly circuit: Pick<Circuit, 'check' | 'run' | 'leftMs'>;
  readonly shares: Shares;
  readonly tokens: TokenSource;
  readonly retry: { readonly attempts: number; readonly baseMs: number };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly userAgent: string;
  readonly onCall: (report: CallReport) => void;
}

interface Admission {
  readonly team: string;
  readonly active: ActiveToken;
  readonly deadline: CallDeadline;
  /** Frees the place in the queue; idempotent. */
  readonly leave: () => void;
}

export class Slot {
  readonly #admission: Admission;
  readonly #options: PlatformOptions;
  #isUsed = false;
  #charging: Promise<Charge> | null = null;
  /** Null until the request is sent. */
  #startedMs: number | null = null;
  #response: PlatformAnswer | null = null;

  constructor(admission: Admission, options: PlatformOptions) {
    this.#admission = admission;
    this.#options = options;
  }

  /** Charges the team's share, once, as `send` does. At the same time as other calls of the store it costs no trip. */
  async charge(): Promise<void> {
    this.#charging ??= this.#options.shares.take(this.#admission.team);
    await this.#charging;
  }

  /** Returns it unused, with the charge. No effect after a request was sent; idempotent. */
  release(): void {
    if (this.#isUsed) return;
    this.#isUsed = true;
    this.#admission.leave();
    this.#putBack();
  }

  /**
   * Makes one request. The slot ends with the response body or the failure.
   * @param consume reads the body of an answer (200) or a refusal (other 4xx); if it fails, the request failed
   * @throws CallFailed for anything else
   */
  async send<T>(request: PlatformRequest, consume: (response: Response) => Promise<T>): Promise<T> {
    this.#isUsed = true;
    try {
      return await this.#send(request, consume);
    } catch (error) {
      if (this.#response !== null) dropBody(this.#response);
      this.#admission.leave();
      throw error;
    }
  }

  async #send<T>(request: PlatformRequest, consume: (response: Response) => Promise<T>): Promise<T> {
    const { active, deadline } = this.#admission;
    const { pause, circuit } = this.#options;
    try {
      pause.check();
      await this.#charged();
      const result = await circuit.run(
        () => this.#exchange(request, consume),
        (error) => this.#isPlatformFault(error, request),
      );
      if (result instanceof NoAnswer) throw result;
      return result;
    } catch (error) {
      if (error instanceof NoAnswer) throw failureOf(error.verdict, active.id, pause);
      if (this.#startedMs === null) {
        this.#putBack();
        throw asGatewayError(error);
      }
      this.#report(request, outcomeOf(error, deadline.signal), error);
      const isFinal = deadline.signal.aborted || error instanceof GatewayError;
      throw new CallFailed(asFailure(error, deadline.signal), isFinal ? 'never' : 'network');
    }
  }

  async #charged(): Promise<void> {
    const { signal } = this.#admission.deadline;
    await within(signal, () => this.charge()).catch((error: unknown) => {
      throw asFailure(error, signal);
    });
  }

  #putBack(): void {
    void this.#charging?.then((charge) => charge.putBack()).catch(() => {});
  }

  /**
   * Sends the request and reads its response.
   * @returns NoAnswer for a rejected token, a 429 or an invalid response, which are no failures of the platform
   * @throws NoAnswer for a 5xx or 408; the error that ended the exchange
   */
  async #exchange<T>(
    request: PlatformRequest,
    consume: (response: Response) => Promise<T>,
  ): Promise<T | NoAnswer> {
    const { clock, rules, tokens } = this.#options;
    const { active, deadline, leave } = this.#admission;
    const response = await this.#request(request);
    const { statusCode: status, headers, body } = response;
    body.once('close', leave);
    const verdict = interpret(status, headers, rules, clock.now());
    if (verdict.kind !== 'answer' && verdict.kind !== 'rejected') {
      this.#report(request, verdict.kind);
      dropBody(response);
      if (verdict.kind === 'failed') throw new NoAnswer(verdict);
      return new NoAnswer(verdict);
    }
    let [isDoubted, isReadable] = [false, true];
    const doubt: Response['doubt'] = (readable) => {
      [isDoubted, isReadable] = [true, readable];
    };
    const { signal } = deadline;
    const result = await consume({ status, headers, body, token: active.token, signal, doubt });
    this.#report(request, isReadable ? verdict.kind : 'invalid');
    // Other 4xx say nothing about the token: they may precede its check.
    if (verdict.kind === 'answer' && !isDoubted) tokens.accepted(active.id);
    return result;
  }

  async #request(request: PlatformRequest): Promise<PlatformAnswer> {
    const { agent, clock, pace, rules, userAgent } = this.#options;
    const { active, deadline } = this.#admission;
    const headers = { 'user-agent': userAgent, ...request.headers };
    this.#startedMs = clock.monotonicMs();
    pace.started();
    try {
      const outgoing = requestOptions({ ...request, headers }, rules.baseUrl, active.token);
      const { ask = (call: OutgoingCall) => agent.request(call) } = request;
      this.#response = await ask({ ...outgoing, signal: deadline.signal });
      return this.#response;
    } finally {
      pace.ended(this.#response?.headers ?? null);
    }
  }

  /**
   * Whether an error is a failure of the platform. Not if the caller aborted, the timeout was mostly waiting for a slot, or
   * the request body broke off.
   */
  #isPlatformFault(error: unknown, request: PlatformRequest): boolean {
    if (error instanceof NoAnswer) return true;
    const { signal, totalMs } = this.#admission.deadline;
    const outcome = outcomeOf(error, signal);
    if (outcome === 'timeout') return this.#elapsedMs() >= totalMs / 2;
    return outcome === 'network' && !isStreamed(request.body);
  }

  #report({ method, onCall }: PlatformRequest, outcome: CallReport['outcome'], error?: unknown): void {
    const { team, deadline } = this.#admission;
    const { code } = (error ?? {}) as { code?: unknown };
    const report: CallReport = {
      team,
      method,
      outcome,
      status: this.#response?.statusCode ?? null,
      durationMs: this.#elapsedMs(),
      waitedMs: Math.max(0, deadline.totalMs - deadline.leftMs() - this.#elapsedMs()),
      attempt: deadline.attempt,
      ...(outcome === 'network' && typeof code === 'string' ? { code } : {}),
    };
    this.#options.onCall(report);
    onCall?.(report);
  }

  #elapsedMs(): number {
    return this.#startedMs === null ? 0 : this.#options.clock.monotonicMs() - this.#startedMs;
  }
}

/** A streamed body can be sent only once. */
export function isStreamed(body: PlatformRequest['body']): boolean {
  return typeof body === 'object' && body !== null && !Buffer.isBuffer(body);
}
