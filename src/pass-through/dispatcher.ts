/**
 * What @fastify/http-proxy asks in the place of an HTTP agent. It sends what passed every check, and nothing else: the
 * passage travels beside the call, which is made in one turn, so that no header can stand for one.
 */
import { GatewayError } from '../errors.js';
import type { PlatformClient } from '../platform/client.js';
import type { CallReport, PlatformRequest, Response } from '../platform/slot.js';
import type { StreamPlaces } from '../platform/stream-places.js';
import { addCall } from '../telemetry/trace.js';
import { type CleanAnswer, type CleanOptions, cleanAnswer } from './clean-answer.js';
import type { Idempotency } from './idempotency.js';
import type { Passage } from './passage.js';
import { KEPT_MAX_BYTES, takeAnswer } from './take-answer.js';
import { asWriteFailure } from './unknown-outcome.js';

export interface DispatcherOptions {
  readonly platform: Pick<PlatformClient, 'send'>;
  readonly idempotency: Idempotency;
  /** Places of calls whose answers are streamed. */
  readonly places: StreamPlaces;
  readonly timeoutMs: number;
  readonly answers: CleanOptions;
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

export interface PassageDispatcher {
  /**
   * @param call asks before it returns, and is sent as part of `passage`; null, or no `run` around a call, and the call
   *   is refused
   */
  run<T>(passage: Passage | null, call: () => T): T;
  /** @param done told the platform's answer, or a GatewayError */
  request(call: ProxiedCall, done: (error: Error | null, answer?: CleanAnswer) => void): void;
}

export function createDispatcher(options: DispatcherOptions): PassageDispatcher {
  const { platform, idempotency, places, timeoutMs, answers } = options;
  /** Of the call that is being made in this turn. An AsyncLocalStorage would slow down all else, see ADR 43. */
  let current: Passage | null = null;

  async function answer(call: ProxiedCall, passage: Passage | null): Promise<CleanAnswer> {
    if (passage === null)
      throw new GatewayError('internal_error', { internal: 'a call that carries no checked passage' });
    const { keyed, trace } = passage;
    const clean = (response: Response) => cleanAnswer(response, call.method, answers);
    const note = (made: CallReport) => addCall(trace, made);
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

  /** Takes a place for the answer first, and lets go of it when the platform's part is over. */
  async function send<T>(
    { path, method, headers, body }: ProxiedCall,
    { caller, rule, gone, trace }: Passage,
    onCall: (made: CallReport) => void,
    consume: (response: Response) => Promise<T>,
  ): Promise<T> {
    const kind = kindOf(method, rule);
    const tries: CallReport[] = [];
    const startedMs = performance.now();
    const leave = await places.enter(caller.team.id, timeoutMs, gone);
    const sent = {
      method,
      target: path,
      body: body === '' ? null : (body ?? null),
      headers: definedOf(headers),
      team: caller.team.id,
      kind,
      timeoutMs: Math.max(1, timeoutMs - (performance.now() - startedMs)),
      // A write goes on: breaking it off would leave open what it did.
      ...(kind === 'read' ? { signal: gone } : {}),
      onCall(made: CallReport) {
        tries.push(made);
        onCall(made);
      },
      onSlot: () => trace.mark('acquire'),
    };
    try {
      const answered = await platform.send(sent, (response) => {
        response.body.once('close', leave);
        return consume(response);
      });
      trace.mark('fetch');
      return answered;
    } catch (error) {
      leave();
      if (kind === 'write') throw asWriteFailure(error, tries);
      throw error;
    }
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

function kindOf(method: string, rule: Passage['rule']): 'read' | 'post-read' | 'write' {
  if (method === 'GET' || method === 'HEAD') return 'read';
  return rule?.read ? 'post-read' : 'write';
}

function definedOf(headers: ProxiedCall['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((header): header is [string, string] => header[1] !== undefined),
  );
}
