/** Sends what passed every check: a place for its answer, a slot of the platform, what its day has left. */

import { uptimeMs } from '../../lib/time.js';
import type { PlatformClient } from '../../platform/client.js';
import type { PlatformRequest, Response } from '../../platform/slot.js';
import type { StreamPlaces } from '../../platform/stream-places.js';
import type { Reservation } from '../../teams/write-guard/types.js';
import type { CallReport } from '../../telemetry/trace.js';
import { becameOf, becameOfFailure, type Charging } from './charge-write.js';
import { isWrite } from './checks.js';
import type { Passage } from './passage.js';
import { asWriteFailure } from './unknown-outcome.js';

export interface SendingOptions {
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

export type SendPassage = <T>(
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
