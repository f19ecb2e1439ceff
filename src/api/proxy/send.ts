/** Sends a checked request: takes a place for its answer, a slot of the platform, and the budget of a write. */
import { uptimeMs } from '../../lib/time.js';
import type { Call, CallKind, PlatformClient } from '../../platform/client.js';
import type { PlatformRequest, Response } from '../../platform/slot.js';
import type { createStreamPlaces } from '../../platform/traffic.js';
import type { Reservation } from '../../teams/write-guard/reservations.js';
import type { CallReport } from '../../telemetry/trace.js';
import type { createCharging } from './charge-write.js';
import { isWrite } from './checks.js';
import { type CleanAnswer, type CleanOptions, cleanAnswer } from './clean-answer.js';
import { type createIdempotency, takeAnswer } from './idempotency.js';
import type { Passage } from './passage.js';
import { asWriteFailure, outcomeOfFailure, outcomeOfStatus } from './write-outcome.js';

export interface SendingOptions {
  readonly platform: Pick<PlatformClient, 'send'>;
  readonly places: ReturnType<typeof createStreamPlaces>;
  readonly charging: ReturnType<typeof createCharging>;
  readonly timeoutMs: number;
}

/** Makes one request, once it has a slot. */
export type Ask = NonNullable<PlatformRequest['ask']>;

/** The place is taken first, and released when the platform's body ends. */
export function createSending({ platform, places, charging, timeoutMs }: SendingOptions) {
  return async function send<T>(
    { caller, method, path, query, body, stream, rule, gone, trace, judgeAgain }: Passage,
    ask: Ask,
    consume: (response: Response) => Promise<T>,
    onTry: (made: CallReport) => void = () => {},
  ): Promise<T> {
    const kind = kindOf(method, rule);
    const tries: CallReport[] = [];
    const startedMs = uptimeMs();
    const leave = await places.enter(caller.team.id, timeoutMs, gone);
    let reservation: Reservation | null = null;
    let status: number | null = null;
    const stillWanted = () => {
      // A disconnected caller may repeat the write, and would then have it twice.
      gone.throwIfAborted();
      return judgeAgain();
    };
    const call: Call = {
      team: caller.team.id,
      kind,
      method,
      ask,
      target: query === '' ? path : `${path}?${query}`,
      body: stream ?? body,
      timeoutMs: Math.max(1, timeoutMs - (uptimeMs() - startedMs)),
      // A sent write continues: aborting it would leave its outcome unknown.
      ...(kind === 'read' ? { signal: gone } : {}),
      onCall(made) {
        tries.push(made);
        onTry(made);
        trace.called(made);
      },
      async onSlot() {
        trace.mark('acquire');
        if (kind === 'write') reservation = await charging.begin(caller.team.id, stillWanted);
      },
    };
    try {
      const answered = await platform.send(call, (response) => {
        status = response.status;
        response.body.once('close', leave);
        return consume(response);
      });
      trace.mark('fetch');
      await charging.end(reservation, outcomeOfStatus(status ?? 0));
      return answered;
    } catch (error) {
      leave();
      await charging.end(
        reservation,
        status === null ? outcomeOfFailure(error, tries) : outcomeOfStatus(status),
      );
      throw kind === 'write' ? asWriteFailure(error, tries) : error;
    }
  };
}

function kindOf(method: string, rule: Passage['rule']): CallKind {
  if (isWrite(method, rule)) return 'write';
  return method === 'GET' || method === 'HEAD' ? 'read' : 'post-read';
}

export interface AnsweringOptions extends SendingOptions {
  readonly idempotency: ReturnType<typeof createIdempotency>;
  readonly answers: Omit<CleanOptions, 'assertStillAllowed'>;
}

/** @returns a function for the platform's answer; with an idempotency key, for the first answer to it */
export function createAnswering(options: AnsweringOptions) {
  const { idempotency, answers } = options;
  const send = createSending(options);
  return async function answer(passage: Passage, ask: Ask): Promise<CleanAnswer> {
    const { keyed, method, trace, assertStillAllowed } = passage;
    const clean = (response: Response) => cleanAnswer(response, method, { ...answers, assertStillAllowed });
    if (keyed === null) return await send(passage, ask, async (response) => clean(response));
    const once = await idempotency.once(keyed, (onTry) =>
      send(passage, ask, (response) => takeAnswer(clean(response)), onTry),
    );
    if (once.replayed) trace.outcome = 'replay';
    return once.answer;
  };
}
