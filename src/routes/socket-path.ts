/** Answers a plain GET for a report that is finished and at hand, before Node's HTTP sees it. */
import type { IncomingMessage } from 'node:http';
import { ELSEWHERE } from '../http/report-call.js';
import { readSimpleRequest } from '../http/simple-request.js';
import type { SocketRules } from '../http/socket-first.js';
import type { AnswerHit } from './hit-answer.js';

export interface SocketPathOptions {
  readonly answer: AnswerHit;
  readonly addressOf: (request: Pick<IncomingMessage, 'socket' | 'headers'>) => string;
}

export function createSocketPath({ answer, addressOf }: SocketPathOptions): SocketRules['answer'] {
  return (request, socket) => {
    const simple = readSimpleRequest(request);
    if (simple === null) return null;
    const headers = { 'x-forwarded-for': request.forwardedFor };
    const given = answer(simple, () => addressOf({ socket, headers }));
    return given === ELSEWHERE ? null : given;
  };
}
