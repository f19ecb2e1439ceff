/** What a tail tells of a request, as the log has it. */

import type { TailLine } from '../tail/tail.js';
import type { FastAnswer } from './data/hit-answer.js';
import { REPORT_PREFIX } from './data/reports.js';
import { type Accounted, loggedPath } from './http/request-log.js';

type Line = Omit<TailLine, 'at'>;

/** @param clean as {@link Log.clean}: between the quotes of JSON, without what is secret */
export function tailLine(
  request: Accounted,
  status: number,
  durationMs: number,
  clean: (text: string) => string,
): Line {
  const { team, key, outcome, via, platformCalls, rows, bytesOut } = request.trace;
  return {
    ...{ team, key, method: request.method, path: cleaned(loggedPath(request), clean), status, outcome },
    ...(via === null ? {} : { via }),
    ...{ platformCalls, ms: tenths(durationMs), rows, bytes: bytesOut, requestId: request.id },
  };
}

/** The same of a report that was answered at once. */
export function tailLineOfHit(answer: FastAnswer, clean: (text: string) => string): Line {
  const { id, method, durationMs, bytes, hit } = answer;
  const { team, key, endpoint, reply, rows } = hit;
  return {
    ...{ team, key, method, path: cleaned(REPORT_PREFIX + endpoint, clean), status: reply.status },
    ...{ outcome: 'hit', platformCalls: 0, ms: tenths(durationMs), rows, bytes, requestId: id },
  };
}

function cleaned(path: string, clean: (text: string) => string): string {
  return JSON.parse(`"${clean(path)}"`) as string;
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
