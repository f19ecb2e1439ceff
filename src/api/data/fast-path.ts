/**
 * Answers a plain request for a report that is finished and at hand, or that the store has, before the router sees it.
 * Everything else goes on: untouched, or with what was begun. The path is the same as the router's, `gateway.ts`; what is
 * left out is what Fastify does around it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { GatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import { uptimeMs } from '../../lib/time.js';
import { ELSEWHERE, type Hit, type HitAnswer, type HitCall } from '../../reports/report-call.js';
import type { AnswerAtOnce } from '../http/server.js';
import { readSimpleRequest } from '../http/simple-request.js';
import { REPORT_PREFIX } from './reports.js';
import { createStoreHits, type StoreHitOptions } from './store-hit.js';

export interface FastPathOptions extends Omit<StoreHitOptions, 'send'> {
  /** @param address of the caller, behind trusted proxies resolved. @throws GatewayError what the router's way would */
  readonly hit: (call: HitCall, address: string) => Hit | typeof ELSEWHERE | null;
  readonly addressOf: (request: IncomingMessage) => string;
  /** Told of an answer that the caller's connection has not taken all of. @returns to be called when it is over */
  readonly onWaiting: (socketOf: () => Socket | null) => () => void;
}

export function createFastPath(options: FastPathOptions): AnswerAtOnce {
  const { hit: hitOf, compose, addressOf, onWaiting } = options;

  function send(request: IncomingMessage, response: ServerResponse, given: HitAnswer): void {
    const { status, head, body, done } = given;
    const [own, shared] = head;
    response.writeHead(status, [...own, ...shared]);
    if (body === null) response.end();
    else response.end(body);
    // The system has taken all of it: what `finish` would tell in the next turn.
    if (response.writableLength === 0) done(!request.socket.destroyed);
    else {
      const stopWatching = onWaiting(() => response.socket);
      response.once('close', () => {
        stopWatching();
        done(response.writableFinished);
      });
    }
  }

  const answerFromStore = createStoreHits({ ...options, send });
  return (request, response, onward) => {
    const simple = readSimpleRequest(request);
    if (simple === null || !simple.target.startsWith(REPORT_PREFIX)) return false;
    const startedMs = uptimeMs();
    const address = addressOf(request);
    const hit = orNull(() => hitOf(simple, address));
    if (hit === null) return false;
    if (hit === ELSEWHERE) answerFromStore(request, response, simple, address, onward);
    else send(request, response, compose(simple.method, randomId(), hit, startedMs));
    return true;
  };
}

/** The router's way tells a caller what it is refused. */
function orNull<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}
