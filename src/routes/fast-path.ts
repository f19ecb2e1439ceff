/**
 * Answers a plain request for a report that is finished and at hand, or that the store has, before the router sees it.
 * Everything else goes on: untouched, or with what was begun.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ELSEWHERE, type HitAnswer } from '../http/report-call.js';
import type { AnswerAtOnce } from '../http/server.js';
import { readSimpleRequest } from '../http/simple-request.js';
import type { AnswerHit } from './hit-answer.js';
import { createStoreHits, type StoreHitOptions } from './store-hit.js';

export interface FastPathOptions extends Omit<StoreHitOptions, 'send'> {
  readonly answer: AnswerHit;
  readonly addressOf: (request: IncomingMessage) => string;
  /** Told of an answer that the caller's connection has not taken all of. @returns to be called when it is over */
  readonly onWaiting: (socketOf: () => Socket | null) => () => void;
}

export function createFastPath(options: FastPathOptions): AnswerAtOnce {
  const { answer, addressOf, onWaiting } = options;

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
    if (simple === null) return false;
    const given = answer(simple, () => addressOf(request));
    if (given === null) return false;
    if (given === ELSEWHERE) answerFromStore(request, response, simple, addressOf(request), onward);
    else send(request, response, given);
    return true;
  };
}
