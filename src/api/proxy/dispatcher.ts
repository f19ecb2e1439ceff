/**
 * What @fastify/http-proxy asks in the place of an HTTP agent. It sends what passed every check, and nothing else: the
 * passage travels beside the call, which is made in one turn, so that no header can stand for one.
 */
import { type ErrorCode, GatewayError } from '../../errors.js';
import { uptimeMs } from '../../lib/time.js';
import type { PlatformClient } from '../../platform/client.js';
import type { PlatformRequest, Response } from '../../platform/slot.js';
import type { StreamPlaces } from '../../platform/traffic.js';
import type { Reservation } from '../../teams/write-guard/types.js';
import type { CallReport } from '../../telemetry/trace.js';
import { certainlyNotExecuted } from './certainly-not-executed.js';
import { becameOf, becameOfFailure, type Charging } from './charge-write.js';
import { isWrite } from './checks.js';
import { type CleanAnswer, type CleanOptions, cleanAnswer } from './clean-answer.js';
import type { Idempotency } from './idempotency.js';
import type { Passage } from './passage.js';
import { KEPT_MAX_BYTES, takeAnswer } from './take-answer.js';

// What a caller is told of a write that failed, when the platform may have carried it out all the same. Pure.

/** Where the catalogue speaks of reports, and of a cache that no write has. */
const HAPPENED: Partial<Record<ErrorCode, string>> = {
  upstream_error: 'The platform failed, or the connection to it broke off.',
  upstream_timeout: 'The platform did not answer in time.',
  upstream_invalid_response: 'The platform gave an answer that is not passed on.',
};

/**
 * @param tries every try of the write
 * @returns the error to be thrown in place of `error`
 */
function asWriteFailure(error: unknown, tries: readonly CallReport[]): unknown {
  if (!(error instanceof GatewayError) || certainlyNotExecuted(error, tries)) return error;
  const happened = error.options.detail ?? HAPPENED[error.code];
  if (happened === undefined) return error;
  return new GatewayError(error.code, {
    ...error.options,
    status: error.status,
    detail: `${happened} The write may have been carried out all the same: look on the platform before you send it again.`,
  });
}

// Sends what passed every check: a place for its answer, a slot of the platform, what its day has left.

interface SendingOptions {
  readonly platform: Pick<PlatformClient, 'send'>;
  /** Places of calls whose answers are streamed. */
  readonly places: StreamPlaces;
  readonly charging: Charging;
  readonly timeoutMs: number;
}

/** A call as @fastify/http-proxy hands it to its agent: what undici's `request` would be given. */
export interface ProxiedCall {
  /** Path and query. */
  readonly path: string;
  readonly method: string;
  /** Undefined ones are not to be sent. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: PlatformRequest['body'];
}

type SendPassage = <T>(
  call: ProxiedCall,
  passage: Passage,
  onCall: (made: CallReport) => void,
  consume: (response: Response) => Promise<T>,
) => Promise<T>;

/** Takes a place for the answer first, and lets go of it when the platform's part is over. */
export function createSending({ platform, places, charging, timeoutMs }: SendingOptions): SendPassage {
  return async function send(call, { caller, rule, gone, trace, judgeAgain }, onCall, consume) {
    const { method } = call;
    const kind = kindOf(method, rule);
    const tries: CallReport[] = [];
    const startedMs = uptimeMs();
    const leave = await places.enter(caller.team.id, timeoutMs, gone);
    let reservation: Reservation | null = null;
    let status: number | null = null;
    const stillWanted = () => {
      // Whoever is gone may ask again, and would then have it twice.
      gone.throwIfAborted();
      return judgeAgain();
    };
    const options = {
      team: caller.team.id,
      kind,
      // A write that was sent goes on: breaking it off would leave open what it did.
      ...(kind === 'read' ? { signal: gone } : {}),
      onCall(made: CallReport) {
        tries.push(made);
        onCall(made);
      },
      async onSlot() {
        trace.mark('acquire');
        if (kind === 'write') reservation = await charging.begin(caller.team.id, stillWanted);
      },
    };
    try {
      const leftMs = Math.max(1, timeoutMs - (uptimeMs() - startedMs));
      const answered = await platform.send({ ...options, ...asked(call), timeoutMs: leftMs }, (response) => {
        status = response.status;
        response.body.once('close', leave);
        return consume(response);
      });
      trace.mark('fetch');
      await charging.end(reservation, becameOf(status ?? 0));
      return answered;
    } catch (error) {
      leave();
      const became = status === null ? becameOfFailure(error, tries) : becameOf(status);
      await charging.end(reservation, became);
      if (kind === 'write') throw asWriteFailure(error, tries);
      throw error;
    }
  };
}

function kindOf(method: string, rule: Passage['rule']): 'read' | 'post-read' | 'write' {
  if (isWrite(method, rule)) return 'write';
  return method === 'GET' || method === 'HEAD' ? 'read' : 'post-read';
}

function asked({ path, method, headers, body }: ProxiedCall) {
  return { method, target: path, body: body === '' ? null : (body ?? null), headers: definedOf(headers) };
}

function definedOf(headers: ProxiedCall['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((header): header is [string, string] => header[1] !== undefined),
  );
}

export interface DispatcherOptions extends SendingOptions {
  readonly idempotency: Idempotency;
  readonly answers: Omit<CleanOptions, 'assertStillAllowed'>;
}

interface PassageDispatcher {
  /**
   * @param call asks before it returns, and is sent as part of `passage`; null, or no `run` around a call, and the call
   *   is refused
   */
  run<T>(passage: Passage | null, call: () => T): T;
  /** @param done told the platform's answer, or a GatewayError */
  request(call: ProxiedCall, done: (error: Error | null, answer?: CleanAnswer) => void): void;
}

export function createDispatcher(options: DispatcherOptions): PassageDispatcher {
  const { idempotency, answers } = options;
  const send = createSending(options);
  /** Of the call that is being made in this turn. An AsyncLocalStorage would slow down all else, see ADR 43. */
  let current: Passage | null = null;

  async function answer(call: ProxiedCall, passage: Passage | null): Promise<CleanAnswer> {
    if (passage === null)
      throw new GatewayError('internal_error', { internal: 'a call that carries no checked passage' });
    const { keyed, trace, assertStillAllowed } = passage;
    const clean = (response: Response) =>
      cleanAnswer(response, call.method, { ...answers, assertStillAllowed });
    const note = (made: CallReport) => trace.called(made);
    if (keyed === null) return send(call, passage, note, async (response) => clean(response));
    const once = await idempotency.once(keyed, (onTry) => {
      const noteTwice = (made: CallReport) => {
        onTry(made);
        note(made);
      };
      return send(call, passage, noteTwice, (response) => takeAnswer(clean(response), KEPT_MAX_BYTES));
    });
    if (once.replayed) trace.outcome = 'replay';
    return once.answer;
  }

  return {
    run(passage, call) {
      current = passage;
      try {
        return call();
      } finally {
        current = null;
      }
    },
    request(call, done) {
      answer(call, current).then((value) => done(null, value), done);
    },
  };
}
