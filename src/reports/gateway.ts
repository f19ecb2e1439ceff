/** The services of a process that answer reports. Created once, by compose-reports.ts. Types only. */
import type { Logger } from 'pino';
import type { Config } from '../config/load.js';
import type { PlatformClient } from '../platform/client.js';
import type { Store } from '../store/port.js';
import type { Count } from '../telemetry/counters.js';
import type { Admit } from './admit.js';
import type { createRefreshes, createTurnQueue } from './cache/background.js';
import type { createLookUp } from './cache/look-up.js';
import type { Purges } from './cache/purges.js';
import type { createReplacements } from './cache/replacements.js';
import type { WorkerPool } from './cache/threads/worker-pool.js';
import type { CacheTier } from './cache/tier.js';
import type { Days } from './days/days.js';
import type { createCaps } from './fetch/caps.js';
import type { createCheckSchedule } from './fetch/cross-check.js';
import type { FetchLocks } from './fetch/fetch-locks.js';
import type { FetchResult } from './fetch/fetched.js';
import type { createWriteBehind } from './fetch/keep.js';
import type { createKnownShapes } from './fetch/known-shapes.js';
import type { ReferenceReport } from './fetch/reference-reports.js';
import type { SharedAttempts } from './fetch/shared-attempts.js';
import type { createWeekly } from './fetch/weekly.js';
import type { createRetention } from './history/forgotten.js';
import type { AcceptedEmpty, createHistory } from './history/history.js';
import type { createPins, TeamLives } from './history/pins.js';
import type { createAdvertisers } from './learn/advertisers.js';
import type { ComparedShapes } from './learn/compared.js';
import type { DayEvidence } from './learn/day-evidence.js';
import type { Comparison, Learner } from './learn/learn.js';
import type { Prover } from './learn/prove-kind.js';
import type { createSelectable } from './learn/selectable.js';
import type { ParseRules } from './query/canonicalize.js';
import type { ParseQuery } from './query.js';
import type { ReportPolicy } from './report-policy.js';

export interface Gateway {
  readonly config: Config;
  readonly logger: Logger;
  readonly now: () => number;
  readonly count: Count;
  /** Identity of this process as a lease holder. */
  readonly self: string;
  /** Configured rules, adjusted by learned finality and retention. */
  readonly policy: ReportPolicy;
  readonly canonical: ParseRules;
  readonly admit: Admit;
  readonly parse: ParseQuery;
  /** Existing and deleted teams. */
  readonly lives: TeamLives;

  /** The cache: store, purges and pending writes. */
  readonly store: Store;
  readonly tier: CacheTier;
  readonly days: Days;
  readonly lookUp: ReturnType<typeof createLookUp>;
  readonly purges: Purges;
  readonly writeBehind: ReturnType<typeof createWriteBehind>;
  readonly replacements: ReturnType<typeof createReplacements>;
  readonly workerPool: WorkerPool;

  /** Platform calls, shared among requests of this process and among replicas. */
  readonly platform: PlatformClient;
  readonly attempts: SharedAttempts<FetchResult>;
  readonly locks: FetchLocks<FetchResult>;
  /** Current limit of concurrent platform calls of this process. */
  readonly maxConcurrent: () => number;
  readonly isIdle: () => boolean;
  /** Platform calls of this process in the last day. */
  readonly recentCalls: { count(): number };

  /** Background work; a graceful stop waits for it. */
  readonly background: (work: Promise<unknown>) => void;
  readonly turns: ReturnType<typeof createTurnQueue>;
  readonly refreshes: ReturnType<typeof createRefreshes>;

  /** What is learned from fetches. */
  readonly learner: Learner;
  /** Call for every split answer of a caller's report, with the earlier entries of its days as `known`. */
  readonly learnFrom: (news: Comparison) => Promise<void>;
  readonly prover: Prover;
  readonly compared: ComparedShapes;
  readonly selectable: ReturnType<typeof createSelectable>;
  readonly checks: ReturnType<typeof createCheckSchedule>;
  readonly weekly: ReturnType<typeof createWeekly>;
  readonly caps: ReturnType<typeof createCaps>;
  readonly shapes: ReturnType<typeof createKnownShapes>;
  readonly history: ReturnType<typeof createHistory>;
  readonly pins: ReturnType<typeof createPins>;
  readonly retention: ReturnType<typeof createRetention>;
  readonly accepted: AcceptedEmpty;
  readonly evidence: DayEvidence;
  readonly advertisers: ReturnType<typeof createAdvertisers>;
  /** Called with reports that can verify a token. */
  readonly onReport: (report: ReferenceReport) => void;
}
