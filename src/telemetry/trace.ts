/** What one request did, gathered on its way for its one log line, its headers and its metrics. */

import { uptimeMs } from '../lib/time.js';
import type { CacheStatus, Outcome } from '../outcome.js';

/** How one request to the platform ended, for metrics and the log line. */
export interface CallReport {
  readonly team: string;
  readonly method: string;
  /** What its status says, or how it failed. */
  readonly outcome:
    | 'answer'
    | 'credential-refused'
    | 'rate-limited'
    | 'rejected'
    | 'failed'
    | 'invalid'
    | 'network'
    | 'timeout'
    | 'aborted';
  readonly status: number | null;
  readonly durationMs: number;
  /** Which try of its call it was, from 1. */
  readonly attempt: number;
}

export interface Trace {
  team: string | null;
  key: string | null;
  /** Endpoint of a report, or the route of anything else; never a query. */
  subject: string | null;
  /** By which way it came, where that is not plain HTTP. */
  via: 'mcp' | null;
  outcome: Outcome | null;
  /** Where a hit was found. */
  tier: CacheStatus['tier'];
  /** Problem code, when one was answered. */
  code: string | null;
  /** Known names that parameters passed on were probably meant for; never what was sent. */
  meant: readonly string[];
  rows: number;
  /** Platform calls that the same answer would have cost without a cache; 0 where none was given. */
  plainCalls: number;
  platformCalls: number;
  platformMs: number;
  /** Bytes of the answer's body, as far as they were sent. */
  bytesOut: number;
  /** Why it failed, for the log only. */
  cause: unknown;
  /** By the same clock as everything in it. */
  readonly startedMs: number;
  /** The steps it has been through, in order, and how long after its beginning each ended. */
  readonly stages: readonly EndedStage[];
  /** Its platform calls, one for each try, and how long after its beginning each ended. */
  readonly calls: readonly EndedCall[];
  /** A step has ended. */
  mark(stage: Stage): void;
  /** A platform call has ended. */
  called(call: CallReport): void;
}

export interface EndedStage {
  readonly stage: Stage;
  readonly endedMs: number;
}

export interface EndedCall {
  readonly call: CallReport;
  readonly endedMs: number;
}

/** Steps of a report (gateway.ts, pipeline/), and of what is passed through. */
export type Stage =
  | 'admit'
  | 'understand'
  | 'look-up'
  | 'decide'
  | 'wait'
  | 'acquire'
  | 'lock'
  | 'fetch'
  | 'keep'
  | 'render'
  | 'check'
  | 'answer';

/** A request of many calls marks many steps: the first so many of either are kept. */
const MOST_STAGES = 100;

/** @param monotonicMs a clock that never jumps, milliseconds */
export function createTrace(monotonicMs: () => number = uptimeMs): Trace {
  const startedMs = monotonicMs();
  const stages: EndedStage[] = [];
  const calls: EndedCall[] = [];
  return {
    team: null,
    key: null,
    subject: null,
    via: null,
    outcome: null,
    tier: null,
    code: null,
    meant: [],
    rows: 0,
    plainCalls: 0,
    platformCalls: 0,
    platformMs: 0,
    bytesOut: 0,
    cause: undefined,
    startedMs,
    stages,
    calls,
    mark(stage) {
      if (stages.length < MOST_STAGES) stages.push({ stage, endedMs: monotonicMs() - startedMs });
    },
    called(call) {
      if (calls.length < MOST_STAGES) calls.push({ call, endedMs: monotonicMs() - startedMs });
    },
  };
}

export function addCall(trace: Trace, call: CallReport): void {
  trace.platformCalls += 1;
  trace.platformMs += call.durationMs;
  trace.called(call);
}
