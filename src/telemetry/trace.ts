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

/** A request of many calls marks many steps: the first so many of either are kept. */
const MOST_STAGES = 100;

/** Facts about one request, gathered on its path for its log line, its headers and its metrics. */
export class Trace {
  team: string | null = null;
  key: string | null = null;
  /** Endpoint of a report, or the route of anything else; never a query. */
  subject: string | null = null;
  /** By which way it came, where that is not plain HTTP. */
  via: 'mcp' | null = null;
  outcome: Outcome | null = null;
  /** Where a hit was found. */
  tier: CacheStatus['tier'] = null;
  /** Problem code, when one was answered. */
  code: string | null = null;
  /** Known names that parameters passed on were probably meant for; never what was sent. */
  meant: readonly string[] = NONE;
  rows = 0;
  /** Platform calls that the same answer would have cost without a cache; 0 where none was given. */
  plainCalls = 0;
  platformCalls = 0;
  platformMs = 0;
  /** Bytes of the answer's body, as far as they were sent. */
  bytesOut = 0;
  /** Why it failed, for the log only. */
  cause: unknown = undefined;
  /** By the same clock as everything in it. */
  readonly startedMs: number;
  /** The steps it has been through, in order, and how long after its beginning each ended. */
  readonly stages: EndedStage[];
  /** Its platform calls, one for each try, and how long after its beginning each ended. */
  readonly calls: EndedCall[];

  /**
   * @param monotonicMs a clock that never jumps, milliseconds
   * @param keepsSteps false: steps and calls are not recorded, as nobody reads them
   */
  constructor(
    private readonly monotonicMs: () => number = uptimeMs,
    private readonly keepsSteps = true,
  ) {
    this.startedMs = monotonicMs();
    this.stages = keepsSteps ? [] : NO_STAGES;
    this.calls = keepsSteps ? [] : NO_CALLS;
  }

  /** A step has ended. */
  mark(stage: Stage): void {
    if (this.keepsSteps && this.stages.length < MOST_STAGES)
      this.stages.push({ stage, endedMs: this.monotonicMs() - this.startedMs });
  }

  /** A platform call has ended. */
  called(call: CallReport): void {
    this.platformCalls += 1;
    this.platformMs += call.durationMs;
    if (this.keepsSteps && this.calls.length < MOST_STAGES)
      this.calls.push({ call, endedMs: this.monotonicMs() - this.startedMs });
  }
}

const NONE: readonly string[] = [];
/** Shared by all traces without steps; nothing is added to them. */
const [NO_STAGES, NO_CALLS]: [EndedStage[], EndedCall[]] = [[], []];

export interface EndedStage {
  readonly stage: Stage;
  readonly endedMs: number;
}

export interface EndedCall {
  readonly call: CallReport;
  readonly endedMs: number;
}

/** Steps of a report (gateway.ts, reports/), and of what is passed through. */
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
