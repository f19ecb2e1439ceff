/**
 * What @fastify/http-proxy asks in the place of an HTTP agent. It sends what passed every check, and nothing else: the
 * passage travels beside the call, which is made in one turn, so that no header can stand for one.
 */
import { GatewayError } from '../../errors.js';
import type { Response } from '../../platform/slot.js';
import type { CallReport } from '../../telemetry/trace.js';
import { type CleanAnswer, type CleanOptions, cleanAnswer } from './clean-answer.js';
import type { Idempotency } from './idempotency.js';
import type { Passage } from './passage.js';
import { createSending, type ProxiedCall, type SendingOptions } from './send-passage.js';
import { KEPT_MAX_BYTES, takeAnswer } from './take-answer.js';

export interface DispatcherOptions extends SendingOptions {
  readonly idempotency: Idempotency;
  readonly answers: Omit<CleanOptions, 'assertStillAllowed'>;
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
