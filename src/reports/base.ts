/** What every step of a report may use. Types only. */
import type { Logger } from 'pino';
import type { Config } from '../config/load.js';
import type { Count } from '../telemetry/counters.js';
import type { Admit } from './admit.js';
import type { ParseRules } from './query/canonicalize.js';
import type { ParseQuery } from './query.js';
import type { ReportPolicy } from './report-policy.js';

export interface Base {
  readonly config: Config;
  readonly logger: Logger;
  readonly now: () => number;
  readonly count: Count;
  /** Configured rules, adjusted by learned finality and retention. */
  readonly policy: ReportPolicy;
  readonly canonical: ParseRules;
  readonly admit: Admit;
  readonly parse: ParseQuery;
  /** Background work; a graceful stop waits for it. */
  readonly background: (work: Promise<unknown>) => void;
}
