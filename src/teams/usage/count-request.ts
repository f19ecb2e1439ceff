/** What one answered request adds to its team's usage. Pure. */
import type { Outcome } from '../../outcome.js';
import type { Trace } from '../../telemetry/trace.js';
import type { UsageField } from './usage-day.js';

/** Collapsed ones waited for the platform as misses do. */
const FIELD_OF: Readonly<Partial<Record<Outcome, UsageField>>> = {
  hit: 'hits',
  stale: 'stale',
  'stale-if-error': 'stale',
  miss: 'misses',
  refresh: 'misses',
  forced: 'misses',
  collapsed: 'misses',
};

/** The gateway's own refusals for having asked too much. */
const LIMITED: readonly (string | null)[] = ['rate_limited', 'upstream_budget_exhausted'];

export type Answered = Pick<
  Trace,
  'outcome' | 'code' | 'rows' | 'platformCalls' | 'plainCalls' | 'bytesOut' | 'via'
>;

/** @returns the platform calls that a cache saved */
export function savedCalls({
  outcome,
  plainCalls,
  platformCalls,
}: Pick<Trace, 'outcome' | 'plainCalls' | 'platformCalls'>): number {
  if (outcome === null || FIELD_OF[outcome] === undefined) return 0;
  return Math.max(0, plainCalls - platformCalls);
}

/** @param add called for each field that grows, with how much, which may be 0; the tries of platform calls are counted where they are made */
export function countRequest(
  status: number,
  answered: Answered,
  add: (field: UsageField, by: number) => void,
): void {
  const { outcome, code, rows, bytesOut, via } = answered;
  add('requests', 1);
  if (via === 'mcp') add('viaMcp', 1);
  const limited = LIMITED.includes(code);
  if (limited) add('rateLimited', 1);
  // A tool's error is told to an agent with 200.
  else if (status >= 400 || (via === 'mcp' && outcome === 'error')) add('errors', 1);
  const kind = outcome === null ? undefined : FIELD_OF[outcome];
  if (kind !== undefined) {
    add(kind, 1);
    add('rows', rows);
    add('upstreamCallsSaved', savedCalls(answered));
  }
  add('bytesOut', bytesOut);
}
