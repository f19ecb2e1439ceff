/** The inputs of a tool. */

import type { WorkerPool } from '../../reports/cache/threads/worker-pool.js';
import type { Feed } from '../../reports/feed/feed.js';
import type { ReportHandler } from '../../reports/report-call.js';
import type { Reports } from '../../reports/reports.js';
import type { Caller, Identify } from '../../teams/auth/authenticate.js';
import type { AskCall } from '../data/ask.js';
import type { Me } from '../data/me.js';
import type { ReportRules } from './report-of.js';
import type { createSeenColumns } from './seen-columns.js';

/** One authorized call of a tool, already charged to its team. */
export interface ToolCall {
  readonly caller: Caller;
  readonly ask: Omit<AskCall, 'query'>;
  /** Of the report that the tool reads. */
  readonly cacheControl?: string | undefined;
}

/** The same calls as HTTP; each authenticates and authorizes again. */
export interface ToolParts {
  readonly report: ReportHandler;
  readonly reports: Reports;
  readonly feed: Feed;
  /** Of a team with its life. */
  readonly nameOf: (team: string) => string;
  readonly identify: Identify;
  readonly showMe: (caller: Caller) => Promise<Me>;
  /** Large answers on another thread. */
  readonly table: WorkerPool['table'];
  readonly rules: ReportRules;
  readonly described: DescribedReports;
  readonly seenColumns: ReturnType<typeof createSeenColumns>;
}

export interface DescribedReports {
  readonly endpoints: readonly string[];
  /** Known parameters of the platform. */
  readonly parameters: readonly string[];
  /** How long answers are fresh, in words. */
  readonly freshness: string;
}
