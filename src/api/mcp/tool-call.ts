/** What a tool is given, and what it needs of the rooms below. */

import type { WorkerPool } from '../../reports/cache/threads/worker-pool.js';
import type { Gateway } from '../../reports/gateway.js';
import type { ReportHandler } from '../../reports/report-call.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import type { AskCall } from '../data/ask.js';
import type { Me } from '../data/me.js';
import type { ReportRules } from './report-of.js';
import type { SeenColumns } from './seen-columns.js';

/** One call of a tool, by somebody who may: charged to its team before, and told of in its trace. */
export interface ToolCall {
  readonly caller: Caller;
  readonly ask: Omit<AskCall, 'query'>;
}

/** The same calls that HTTP takes: each checks again who asks, and whether it may. */
export interface ToolParts {
  readonly report: ReportHandler;
  readonly reports: Gateway;
  readonly showMe: (caller: Caller) => Promise<Me>;
  /** Large answers on another thread. */
  readonly table: WorkerPool['table'];
  readonly rules: ReportRules;
  readonly described: DescribedReports;
  readonly seenColumns: SeenColumns;
}

/** What is configured of reports, as an agent is told of it. */
export interface DescribedReports {
  /** Declared endpoints. */
  readonly endpoints: readonly string[];
  /** Names of parameters that the platform is known to take. */
  readonly parameters: readonly string[];
  /** How long answers are fresh, in words. */
  readonly freshness: string;
}
