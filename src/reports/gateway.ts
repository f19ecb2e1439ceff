/**
 * The services of a process that answer reports, in four groups. Created once, by compose-gateway.ts. Types only: no file that they
 * come from imports this one.
 */
import type { PlatformClient } from '../platform/client.js';
import type { Base } from './base.js';
import type { createRefreshes, createTurnQueue } from './cache/background.js';
import type { createLookUp } from './cache/look-up.js';
import type { Purges } from './cache/purges.js';
import type { createReplacements } from './cache/replacements.js';
import type { WorkerPool } from './cache/threads/worker-pool.js';
import type { CacheTier } from './cache/tier.js';
import type { Days } from './days/days.js';
import type { createCaps } from './fetch/caps.js';
import type { createCheckSchedule } from './fetch/check-schedule.js';
import type { FetchLocks } from './fetch/fetch-locks.js';
import type { FetchResult } from './fetch/fetched.js';
import type { createKnownShapes } from './fetch/known-shapes.js';
import type { SharedAttempts } from './fetch/shared-attempts.js';
import type { createWeekly } from './fetch/weekly.js';
import type { createWriteBehind } from './fetch/write-behind.js';
import type { createRetention } from './history/forgotten.js';
import type { AcceptedEmpty, createHistory } from './history/history.js';
import type { createAdvertisers } from './learn/advertisers.js';
import type { ComparedShapes } from './learn/compared.js';
import type { DayEvidence } from './learn/day-evidence.js';
import type { Comparison, Learner } from './learn/learn.js';
import type { createSelectable } from './learn/selectable.js';
import type { Report } from './query/canonicalize.js';

/** What is stored of reports, and pending writes. */
export interface Cache {
  readonly tier: CacheTier;
  readonly days: Days;
  readonly lookUp: ReturnType<typeof createLookUp>;
  readonly purges: Purges;
  readonly writeBehind: ReturnType<typeof createWriteBehind>;
  readonly replacements: ReturnType<typeof createReplacements>;
  readonly workerPool: WorkerPool;
  readonly history: ReturnType<typeof createHistory>;
  readonly accepted: AcceptedEmpty;
}

/** A report of one final day. */
export interface ReferenceReport extends Pick<Report, 'endpoint' | 'split'> {
  readonly account: string;
  readonly target: string;
  readonly day: string;
  readonly rows: number;
}

/** Platform calls, shared among requests of this process and among replicas. */
export interface Calls {
  readonly platform: PlatformClient;
  readonly attempts: SharedAttempts<FetchResult>;
  readonly locks: FetchLocks<FetchResult>;
  readonly turns: ReturnType<typeof createTurnQueue>;
  readonly refreshes: ReturnType<typeof createRefreshes>;
  /** Current limit of concurrent platform calls of this process. */
  readonly maxConcurrent: () => number;
  readonly isIdle: () => boolean;
  /** Platform calls of this process in the last day. */
  readonly recentCalls: { count(): number };
  /** Called with reports that can verify a token. */
  readonly onReport: (report: ReferenceReport) => void;
}

/** What is learned from fetches. */
export interface Learned {
  readonly learner: Learner;
  /** Call for every split answer of a caller's report, with the earlier entries of its days as `known`. */
  readonly learnFrom: (news: Comparison) => Promise<void>;
  /** Of joined answers, see fetch/cross-check.ts. */
  readonly watch: {
    readonly checks: ReturnType<typeof createCheckSchedule>;
    readonly compared: ComparedShapes;
    readonly weekly: ReturnType<typeof createWeekly>;
  };
  readonly selectable: ReturnType<typeof createSelectable>;
  readonly caps: ReturnType<typeof createCaps>;
  readonly shapes: ReturnType<typeof createKnownShapes>;
  readonly retention: ReturnType<typeof createRetention>;
  readonly evidence: DayEvidence;
  readonly advertisers: ReturnType<typeof createAdvertisers>;
}

export interface Gateway extends Base, Cache, Calls, Learned {}
