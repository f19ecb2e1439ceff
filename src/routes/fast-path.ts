/**
 * Answers a plain request for a report that is finished and at hand, before the router sees it. Everything else goes on
 * untouched: nothing was charged or noted of it.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { AnswerAtOnce } from '../http/server.js';
import { readSimpleRequest } from '../http/simple-request.js';
import type { AnswerHit } from './hit-answer.js';

export interface FastPathOptions {
  readonly answer: AnswerHit;
  readonly addressOf: (request: IncomingMessage) => string;
  /** Told of an answer that the caller's connection has not taken all of. @returns to be called when it is over */
  readonly onWaiting: (socketOf: () => Socket | null) => () => void;
}

export function createFastPath({ answer, addressOf, onWaiting }: FastPathOptions): AnswerAtOnce {
  return (request, response) => {
    const simple = readSimpleRequest(request);
    const given = simple === null ? null : answer(simple, () => addressOf(request));
    if (given === null) return false;
    const { status, head, body, done } = given;
    response.writeHead(status, head);
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
    return true;
  };
}
