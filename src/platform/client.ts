/**
 * The platform client. Every call, report or pass-through, takes this path:
 *
 *   acquire → send (slot.ts) → (retry | pause | report a rejected token) → answer
 */
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { ProxySettings } from '../config/load.js';
import {
  asGatewayError,
  type ErrorCode,
  GatewayError,
  type GatewayErrorOptions,
  SILENT_S,
} from '../errors.js';
import { randomShare } from '../lib/chance.js';
import { sleep } from '../lib/time.js';
import { type CallDeadline, startDeadline, within } from './deadline.js';
import { asFailure, CallFailed } from './failure.js';
import {
  isStreamed,
  type PlatformOptions,
  type PlatformRequest,
  type Response,
  Slot,
  type TokenSource,
} from './slot.js';

/**
 * read: a GET or HEAD, may be retried · post-read: a POST that reads, retried only after a rejected token · write: never
 * retried, nor any streamed body
 */
export type CallKind = 'read' | 'post-read' | 'write';

export interface Call extends PlatformRequest {
  /** Who the call is charged to. */
  readonly team: string;
  readonly kind: CallKind;
  /** Deadline, milliseconds, including retries and waiting. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Awaited after a slot was acquired, before each attempt. If it throws, nothing is sent. */
  readonly onSlot?: () => void | Promise<void>;
}

export type PlatformClient = ReturnType<typeof createPlatformClient>;

export function createPlatformClient(options: PlatformOptions) {
  const acquire = createAcquire(options);

  /**
   * Makes attempts until one succeeds or no retry is allowed. Each attempt acquires its own slot and locks.
   * @param timeoutMs deadline, including retries and waiting
   * @param attempt acquires and sends; gets the previous failure, or null
   * @param caller aborts it
   * @throws GatewayError of the last attempt
   */
  async function retrying<T>(
    kind: CallKind,
    timeoutMs: number,
    attempt: Attempt<T>,
    caller?: AbortSignal,
  ): Promise<T> {
    const deadline = startDeadline(timeoutMs, caller);
    try {
      return await tryUntil(kind, deadline, attempt, options);
    } finally {
      deadline.stop();
    }
  }

  return {
    acquire,
    retrying,
    /**
     * Acquires a slot, makes the call, and retries if its kind allows. The slot is held until the response body is closed.
     * @param consume reads the body of an answer (200) or a refusal (other 4xx)
     * @throws GatewayError for anything else
     */
    async send<T>(call: Call, consume: (response: Response) => Promise<T>): Promise<T> {
      const kind = isStreamed(call.body) ? 'write' : call.kind;
      const attempt = async (deadline: CallDeadline) => {
        const slot = await acquire(call.team, deadline);
        try {
          await call.onSlot?.();
        } catch (error) {
          slot.release();
          throw error;
        }
        return await slot.send(call, consume);
      };
      return await retrying(kind, call.timeoutMs, attempt, call.signal);
    },
  };
}

/**
 * The conditions before a call is sent:
 *
 *   pause → circuit → the team's share, as known → a place in the queue → pause and circuit again → token
 *
 * `Slot.send` charges the share, unless `Slot.charge` has. A caller that finds the same call running elsewhere returns
 * its slot with the charge.
 */
export function createAcquire(options: PlatformOptions) {
  const { pause, circuit, shares, budget, pace, tokens } = options;
  const check = () => {
    pause.check();
    circuit.check();
  };

  /**
   * @param waitsForAll the call waits for those of all teams, whoever is charged
   * @throws GatewayError `upstream_rate_limited`, `upstream_circuit_open`, `upstream_budget_exhausted`, `overloaded`,
   *   `upstream_timeout`, `credential_unavailable`; then nothing is held
   */
  return async function acquire(team: string, deadline: CallDeadline, waitsForAll = false): Promise<Slot> {
    const { signal } = deadline;
    check();
    const exhausted = await within(signal, () => shares.exhausted(team)).catch((error: unknown) => {
      throw asFailure(error, signal);
    });
    // A team without a share must not delay others.
    if (exhausted !== null) throw exhausted;
    const leave = await budget.acquire(team, signal, waitsForAll).catch((error: unknown) => {
      throw whyNoSlot(asFailure(error, signal), pace.waitMs(), deadline);
    });
    try {
      // The platform may have paused, or the circuit opened, during the wait.
      check();
      const active = await within(signal, async () => tokens.current());
      return new Slot({ team, active, deadline, leave }, options);
    } catch (error) {
      leave();
      throw asGatewayError(error);
    }
  };
}

/** A timeout in the queue says nothing about the platform; while the pace delays all calls it is due to the rate limit. */
function whyNoSlot(error: GatewayError, paceMs: number, { totalMs, attempt }: CallDeadline): GatewayError {
  if (error.code !== 'upstream_timeout') return error;
  if (paceMs === 0 && attempt === 1)
    return changed(error, {
      detail: `The call waited ${totalMs / 1000} s for a free slot.`,
      noSlot: true,
      cause: error,
    });
  if (paceMs === 0) return error;
  return new GatewayError('upstream_rate_limited', { retryAfterS: Math.ceil(paceMs / 1000), cause: error });
}

type Attempt<T> = (deadline: CallDeadline, after: CallFailed | null) => Promise<T>;

async function tryUntil<T>(
  kind: CallKind,
  deadline: CallDeadline,
  attempt: Attempt<T>,
  { tokens, retry, circuit, logger }: PlatformOptions,
): Promise<T> {
  let retries = 0;
  let replaced: string | null = null;
  let after: CallFailed | null = null;
  for (;;) {
    try {
      return await attempt(deadline, after);
    } catch (failure) {
      if (!(failure instanceof CallFailed))
        throw kind === 'write' ? failure : repeatable(failure, circuit.leftMs());
      const { error, advice } = failure;
      const next = await whatNext(failure, deadline, tokens);
      const { refusedToken = null } = advice;
      // A shared attempt may have started before the token was replaced; it counts once.
      if (next === 'token' && kind !== 'write' && (replaced ?? refusedToken) === refusedToken)
        replaced = refusedToken;
      else if (next === 'network' && kind === 'read' && retries < retry.attempts) retries += 1;
      else if (refusedToken !== null) throw changed(error, tokens.why());
      else if (kind === 'write') throw error;
      else
        throw repeatable(error, Math.max(advice.waitMs ?? 0, circuit.leftMs(), retry.baseMs * 2 ** retries));
      // Full jitter, so that failed callers do not retry together.
      const backoffMs = () => randomShare() * retry.baseMs * 2 ** (retries - 1);
      const waitMs = next === 'token' ? 0 : Math.max(advice.waitMs ?? 0, backoffMs());
      if (waitMs > deadline.leftMs()) throw repeatable(error, waitMs);
      logger.debug({ retries, waitMs, code: error.code }, 'platform call failed; retrying');
      await sleep(waitMs, { signal: deadline.signal }).catch(() => {
        throw error;
      });
      after = failure;
      deadline.attempt += 1;
    }
  }
}

/** With `retry-after` for a platform that failed or was silent; not for a write, which may have been done. */
function repeatable<T>(error: T, waitMs: number): T | GatewayError {
  const leastS = error instanceof GatewayError ? LEAST_ADVISED_S.get(error.code) : undefined;
  if (!(error instanceof GatewayError) || leastS === undefined) return error;
  const adviceS = Math.min(MAX_ADVISED_S, Math.max(leastS, Math.ceil(waitMs / 1000)));
  return changed(error, { retryAfterS: error.options.retryAfterS ?? adviceS });
}

const LEAST_ADVISED_S: ReadonlyMap<ErrorCode, number> = new Map([
  ['upstream_error', 1],
  ['upstream_timeout', SILENT_S],
]);

/** A platform that asks for a longer wait is not believed. */
const MAX_ADVISED_S = 900;

const changed = (error: GatewayError, options: GatewayErrorOptions): GatewayError =>
  new GatewayError(error.code, { ...error.options, status: error.status, ...options });

/** A rejected token is always reported to the credential, which replaces it or stops calls. */
async function whatNext(
  { retry, advice: { refusedToken } }: CallFailed,
  { signal }: CallDeadline,
  tokens: TokenSource,
): Promise<CallFailed['retry']> {
  if (refusedToken === undefined) return retry;
  const recovered = await within(signal, () => tokens.refused(refusedToken)).catch((error: unknown) => {
    throw asGatewayError(error);
  });
  return recovered ? 'token' : 'never';
}

/**
 * The connection pool of the platform, for pass-through and report calls. Uses `HTTPS_PROXY` and `NO_PROXY`; never follows
 * redirects.
 * @param connections sockets: the budget of calls, plus streamed writes
 */
export function createAgent(proxy: ProxySettings, connections: number): Dispatcher {
  const options: Agent.Options = {
    connections,
    pipelining: 1,
    connect: { timeout: 10_000 },
    keepAliveTimeout: 30_000,
    maxHeaderSize: 65_536,
    // Deadlines are set for each call, from connect to the last byte.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const proxied = proxy.httpProxy !== undefined || proxy.httpsProxy !== undefined;
  if (!proxied) return new Agent(options);
  // Empty: undici would read an absent one from the environment by itself.
  return new EnvHttpProxyAgent({ ...options, httpProxy: '', httpsProxy: '', noProxy: '', ...proxy });
}
