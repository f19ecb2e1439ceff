/** The log line of a report that was answered at once: as `request-log.ts` has it, composed of prepared parts. */
import { wallMs } from '../../lib/time.js';
import type { FastAnswer } from './hit-answer.js';

const HEAD = `{"level":"info","time":"`;
const PID = `","pid":${process.pid},"reqId":"`;

let lastMs = Number.NaN;
let lastStart = '';

/** Many lines are of one millisecond. */
function startNow(): string {
  const nowMs = wallMs();
  if (nowMs !== lastMs) [lastMs, lastStart] = [nowMs, HEAD + new Date(nowMs).toISOString() + PID];
  return lastStart;
}

/**
 * @param path between the quotes of JSON, and clean of secrets: it is the one thing in it that a caller chose
 * @returns the line, without its line break. Team and key are ids that the gateway gave
 */
export function hitLine({ id, method, durationMs, complete, hit }: FastAnswer, path: string): string {
  const ms = Math.round(durationMs * 10) / 10;
  const cut = complete ? '' : ',"complete":false';
  return `${startNow()}${id}","plane":"data","method":"${method}","path":"${path}","status":${hit.reply.status},"ms":${ms},"team":"${hit.team}","key":"${hit.key}","outcome":"hit","platformCalls":0,"platformMs":0,"rows":${hit.rows}${cut},"msg":"request"}`;
}
