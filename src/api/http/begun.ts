/**
 * Reports that were begun before the router saw their requests. Where one comes to anything but a plain hit, its request
 * goes on by the router's way, which takes over what was begun: nothing is charged, read or told twice.
 */
import type { IncomingMessage } from 'node:http';
import type { ReportReply } from '../../reports/report-call.js';
import type { Trace } from '../../telemetry/trace.js';

export interface Begun {
  /** Of the request, for its answer and the log. */
  readonly id: string;
  readonly trace: Trace;
  /** By `uptimeMs()`. */
  readonly startedMs: number;
  readonly reply: Promise<ReportReply>;
}

const takenOver = new WeakMap<IncomingMessage, Begun>();

/** To be called before the request goes to the router. */
export function handOver(request: IncomingMessage, begun: Begun): void {
  takenOver.set(request, begun);
}

export function begunOf(request: IncomingMessage): Begun | undefined {
  return takenOver.get(request);
}
