/** What a process has for reports. It is made once, by compose-reports.ts; the steps of the path are functions of it. Types alone. */
import type { Logger } from 'pino';
import type { Config } from '../config/load.js';
import type { PlatformClient } from '../platform/client.js';
import type { Store } from '../store/port.js';
import type { Admit } from './admit.js';
import type { OneATurn, Refreshes } from './cache/background.js';
import type { LookUp } from './cache/look-up.js';
import type { Purges } from './cache/purges.js';
import type { Replacements } from './cache/replacements.js';
import type { WorkerPool } from './cache/threads/worker-pool.js';
import type { CacheTier } from './cache/tier.js';
import type { Caps } from './fetch/caps.js';
import type { CheckSchedule } from './fetch/cross-check.js';
import type { Explorer, SharedTries } from './fetch/explore.js';
import type { FetchLocks } from './fetch/fetch-locks.js';
import type { FetchResult } from './fetch/fetched.js';
import type { WriteBehind } from './fetch/keep.js';
import type { KnownShapes } from './fetch/known-shapes.js';
import type { ReferenceReport } from './fetch/reference-reports.js';
import type { SelectionEvent } from './fetch/select.js';
import type { Retention } from './history/forgotten.js';
import type { AcceptedEmpty, History } from './history/history.js';
import type { Lives, Pins } from './history/pins.js';
import type { Advertisers } from './learn/advertisers.js';
import type { DayEvidence } from './learn/day-evidence.js';
import type { DivisibilityEvent, Learner } from './learn/learn.js';
import type { PartRefusals } from './learn/part-refusals.js';
import type { Selectable } from './learn/selectable.js';
import type { LearnFrom } from './learn/try-kind.js';
import type { ParseRules } from './query/canonicalize.js';
import type { ParseQuery } from './query.js';
import type { ReportPolicy } from './report-policy.js';

export interface Gateway {
  readonly config: Config;
  readonly logger: Logger;
  readonly now: () => number;
  readonly metrics: {
    divisibility(event: DivisibilityEvent): void;
    crossCheck(): void;
    selection(event: SelectionEvent): void;
    exploration(): void;
  };
  /** Names this process among those that share leases. */
  readonly self: string;
  /** The rules of the configuration, with what was learned of finality and retention. */
  readonly policy: ReportPolicy;
  readonly canonical: ParseRules;
  /** Callers, and their queries. */
  readonly admit: Admit;
  readonly parse: ParseQuery;
  /** Which teams there are, and were. */
  readonly lives: Lives;

  /** The cache: its store, what was purged from it, and what waits to be written to it. */
  readonly store: Store;
  readonly tier: CacheTier;
  readonly lookUp: LookUp;
  readonly purges: Purges;
  readonly writeBehind: WriteBehind;
  readonly replacements: Replacements;
  readonly workerPool: WorkerPool;

  /** Platform calls: among this process's requests, among replicas, and when the platform is idle. */
  readonly platform: PlatformClient;
  readonly tries: SharedTries<FetchResult>;
  readonly locks: FetchLocks<FetchResult>;
  /** Platform calls that this process may make at once, as of now. */
  readonly maxConcurrent: () => number;
  readonly isIdle: () => boolean;
  /** Platform calls of this process in the last day. */
  readonly recentCalls: { count(): number };

  /** Work behind answers: a graceful stop waits for it. */
  readonly background: (work: Promise<unknown>) => void;
  readonly turns: OneATurn;
  readonly refreshes: Refreshes;

  /** What fetches teach. */
  readonly learner: Learner;
  readonly learnFrom: LearnFrom;
  readonly partRefusals: PartRefusals;
  readonly selectable: Selectable;
  readonly checks: CheckSchedule;
  readonly explorer: Explorer;
  readonly caps: Caps;
  readonly shapes: KnownShapes;
  readonly history: History;
  readonly pins: Pins;
  readonly retention: Retention;
  readonly accepted: AcceptedEmpty;
  readonly evidence: DayEvidence;
  readonly advertisers: Advertisers;
  /** Told of reports that a token can be proven with. */
  readonly onReport: (report: ReferenceReport) => void;
}
