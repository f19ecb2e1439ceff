/**
 * The log line of a report that was answered at once: as `request-log.ts` has it, composed of prepared parts. Few parts,
 * for a text that is put together costs by their number, once more when it is written.
 */
import type { FastAnswer } from './hit-answer.js';

const HEAD = `{"level":"info","time":"`;
const PID = `","pid":${process.pid},"reqId":"`;

let lastMs = Number.NaN;
let lastStart = '';

/** Many lines are of one millisecond. */
function startNow(): string {
  const nowMs = Date.now();
  if (nowMs !== lastMs) [lastMs, lastStart] = [nowMs, HEAD + new Date(nowMs).toISOString() + PID];
  return lastStart;
}

/** More are not kept: keys and paths are few. */
const MAX_PARTS = 1000;

/** @returns the parts for a text, made once */
function prepared(make: (text: string) => string): (text: string) => string {
  const parts = new Map<string, string>();
  return (text) => {
    let part = parts.get(text);
    if (part === undefined) {
      part = make(text);
      if (parts.size >= MAX_PARTS) parts.clear();
      parts.set(text, part);
    }
    return part;
  };
}

const requestOf = (method: string, path: string, status: number) =>
  `","plane":"data","method":"${method}","path":"${path}","status":${status},"ms":`;
/** Of nearly all lines. */
const usualRequestOf = prepared((path) => requestOf('GET', path, 200));
const callerOf = prepared(
  (key) => `","key":"${key}","outcome":"hit","platformCalls":0,"platformMs":0,"rows":`,
);

/**
 * @param path between the quotes of JSON, and clean of secrets: it is the one thing in it that a caller chose
 * @returns the line, without its line break. Team and key are ids that the gateway gave
 */
export function hitLine({ id, method, durationMs, complete, hit }: FastAnswer, path: string): string {
  const { status } = hit.reply;
  const isUsual = method === 'GET' && status === 200;
  const request = isUsual ? usualRequestOf(path) : requestOf(method, path, status);
  const ms = Math.round(durationMs * 10) / 10;
  const end = complete ? ',"msg":"request"}' : ',"complete":false,"msg":"request"}';
  return `${startNow()}${id}${request}${ms},"team":"${hit.team}${callerOf(hit.key)}${hit.rows}${end}`;
}
