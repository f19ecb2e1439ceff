import type { TeamLimit } from '../errors.js';
import { uptimeMs } from '../lib/time.js';
import type { CacheStatus, Outcome } from '../outcome.js';
import type { Who } from './audit.js';
import type { RefusedKey } from './refused-keys.js';

/** The outcome of a platform request, for metrics and the log. */
export interface CallReport {
  readonly team: string;
  readonly method: string;
  /** By status, or the kind of failure. */
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
  /** Time before it was sent: of earlier attempts, and of waiting for a slot. */
  readonly waitedMs?: number;
  /** Attempt number, from 1. */
  readonly attempt: number;
  /** Of a broken connection, as the system names it, e.g. `ECONNREFUSED`. */
  readonly code?: string;
}

const FAILURES: readonly CallReport['outcome'][] = ['failed', 'network', 'timeout', 'invalid'];

/**
 * Whether the platform failed: 5xx, a broken connection, a timeout, an unreadable response. A refused query is an answer; a 429
 * and a rejected token have conditions of their own.
 */
export const isFailedCall = (outcome: CallReport['outcome']): boolean => FAILURES.includes(outcome);

/** Why a platform call was not made that had to wait. */
export const NO_SLOT = 'no free slot';

const BROKEN: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name not found',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
};

/** In a few words of the gateway, without text of the platform or addresses. */
export function whyFailed(call: CallReport): string {
  const { outcome, status, durationMs, waitedMs = 0, attempt, code = '' } = call;
  if (outcome === 'failed') return `status ${status}`;
  // What the wait left of the deadline says nothing about the platform.
  if (outcome === 'timeout' && attempt === 1 && waitedMs > durationMs)
    return `waited ${Math.round(waitedMs / 1000)} s for a free slot`;
  if (outcome === 'timeout') return `timed out after ${Math.round(durationMs / 1000)} s`;
  return outcome === 'invalid' ? 'unreadable answer' : (BROKEN[code] ?? 'connection broken');
}

/** Maximum recorded steps and calls of a request. */
const MOST_STAGES = 100;

/** What names a report for people. */
export interface AskedReport {
  readonly endpoint: string;
  /** The first advertiser in the request. */
  readonly account: string | null;
  /** ISO days; null: without a period. */
  readonly from: string | null;
  readonly to: string | null;
  readonly split: readonly string[];
  readonly method: string;
  /** Without the period. */
  readonly members: readonly {
    readonly pairs: readonly { readonly name: string; readonly value: string }[];
  }[];
  /** Unknown names, whose values may be anything. */
  readonly passedOn: readonly unknown[];
}

/** Facts about one request, for its log line, headers and metrics. */
export class Trace {
  team: string | null = null;
  key: string | null = null;
  /** Who has signed in with a company account. */
  person: Who | null = null;
  /** The sent key, if it was valid once. */
  refusedKey: RefusedKey | null = null;
  /** Endpoint of a report, or the route; never a query. */
  subject: string | null = null;
  /** The protocol, if not plain HTTP. */
  via: 'mcp' | null = null;
  outcome: Outcome | null = null;
  /** The report, once its query is understood. */
  asked: AskedReport | null = null;
  /** Whether it was looked up in the cache; if it then fails, that counts in the hit rate. */
  isLookedUp = false;
  /** Where a hit was found. */
  tier: CacheStatus['tier'] = null;
  /** Problem code of the response. */
  code: string | null = null;
  /** Of the team, if that refused the request. */
  limit: TeamLimit | null = null;
  /** Known names that resemble passed-on parameters; never what was sent. */
  meant: readonly string[] = NONE;
  rows = 0;
  /** Platform calls that the answer would have cost without a cache; 0: no answer. */
  plainCalls = 0;
  platformCalls = 0;
  platformMs = 0;
  /** Time for which it waited for something to happen: no part of the duration in the metrics. */
  waitedMs = 0;
  /** Bytes sent of the response body. */
  bytesOut = 0;
  /** Why the last failed platform call failed, in a few words; null: none did. */
  callFailure: string | null = null;
  /** Why it failed, for the log only. */
  cause: unknown = undefined;
  /** By `monotonicMs`. */
  readonly startedMs: number;
  /** Steps in order, with their end after the start. */
  readonly stages: EndedStage[];
  /** Platform call attempts, with their end after the start. */
  readonly calls: EndedCall[];

  /** @param keepsSteps false: steps and calls are not recorded */
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
    if (isFailedCall(call.outcome)) this.callFailure = whyFailed(call);
    if (this.keepsSteps && this.calls.length < MOST_STAGES)
      this.calls.push({ call, endedMs: this.monotonicMs() - this.startedMs });
  }
}

const NONE: readonly string[] = [];
/** Shared by all traces without steps; stays empty. */
const [NO_STAGES, NO_CALLS]: [EndedStage[], EndedCall[]] = [[], []];

export interface EndedStage {
  readonly stage: Stage;
  readonly endedMs: number;
}

export interface EndedCall {
  readonly call: CallReport;
  readonly endedMs: number;
}

/** Steps of reports (gateway.ts, reports/) and pass-through calls. */
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
