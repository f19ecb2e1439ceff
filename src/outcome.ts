/** How a request was answered: one vocabulary for the `cache-status` header, the log, the metrics and the docs. */
import type { TeamLimit } from './errors.js';

export type Outcome =
  /** From the cache, fresh. */
  | 'hit'
  /** From the cache, past freshness; a refresh runs behind. */
  | 'stale'
  /** From the cache, past freshness, because the platform failed. */
  | 'stale-if-error'
  /** Asked the platform: nothing usable was cached. */
  | 'miss'
  /** Asked the platform although something was cached: it was past its use. */
  | 'refresh'
  /** Asked the platform although what was cached was fresh: the caller wanted it fresher. */
  | 'forced'
  /** Waited for a call of another request. */
  | 'collapsed'
  /** Passed through to the platform. */
  | 'pass'
  /** The first answer to an idempotency key, given again. */
  | 'replay'
  /** A report that could not be answered: the platform or the gateway failed. */
  | 'failed'
  /** Refused, or any other problem. */
  | 'error';

/** From the cheapest to the dearest. */
const BY_COST: readonly Outcome[] = [
  'hit',
  'stale',
  'stale-if-error',
  'collapsed',
  'refresh',
  'forced',
  'miss',
  'replay',
  'pass',
  'failed',
  'error',
];

/** Every one that there is. */
export const OUTCOMES = BY_COST;

/** An answer made of several parts is called by its dearest one. */
export function dearest(outcomes: readonly Outcome[]): Outcome {
  return BY_COST[Math.max(...outcomes.map((outcome) => BY_COST.indexOf(outcome)))] as Outcome;
}

/** Whether a report came from the cache, without a platform call of its request. */
export const isFromCache = (outcome: Outcome): boolean =>
  outcome === 'hit' || outcome === 'stale' || outcome === 'stale-if-error';

/** Reports that were looked up in the cache. */
const LOOKED_UP = [
  'hit',
  'stale',
  'stale-if-error',
  'miss',
  'refresh',
  'collapsed',
  'failed',
] as const satisfies readonly Outcome[];

/**
 * The hit rate: reports that the cache answered, of all that were looked up there. A failed one was not answered.
 * @param countOf of an outcome; that of `refresh` includes `forced`. @returns null without reports
 */
export function hitRatio(countOf: (outcome: (typeof LOOKED_UP)[number]) => number): number | null {
  let [answered, all] = [0, 0];
  for (const outcome of LOOKED_UP) {
    const count = countOf(outcome);
    all += count;
    if (isFromCache(outcome)) answered += count;
  }
  return all === 0 ? null : answered / all;
}

const OF_REPORTS: ReadonlySet<Outcome | null> = new Set<Outcome>([...LOOKED_UP, 'forced']);

/** Whether it is that of a report that was looked up in the cache. */
export const isOfReport = (outcome: Outcome | null): boolean => OF_REPORTS.has(outcome);

/**
 * Of a request that ended in a problem. With `only-if-cached` a miss is what the caller wanted to know.
 * @param isLookedUp whether the report was looked up in the cache
 */
export function outcomeOfProblem(isLookedUp: boolean, status: number, code: string): 'failed' | 'error' {
  return isLookedUp && status >= 500 && code !== 'not_cached' ? 'failed' : 'error';
}

/** Of which part failed reports are, here and in their incidents. */
export const FAILED_PARTS = ['platform', 'credential'] as const;
export type FailedPart = (typeof FAILED_PARTS)[number];

/** Which part a report failed by. @param code of its problem */
export const partOfFailure = (code: string | null | undefined): FailedPart =>
  code === 'credential_unavailable' ? 'credential' : 'platform';

/** The gateway's own refusals by limits. */
const LIMITED: readonly (string | null)[] = ['rate_limited', 'upstream_budget_exhausted'];

/** What is known of a request at its end. */
export interface Ended {
  /** Null without a key. */
  readonly team: string | null;
  readonly subject: string | null;
  readonly outcome: Outcome | null;
  readonly tier: CacheStatus['tier'];
  /** Of the problem. */
  readonly code: string | null;
  /** Of the team, if that refused the request. */
  readonly limit: TeamLimit | null;
  readonly via: 'mcp' | null;
  readonly rows: number;
  readonly bytesOut: number;
  readonly plainCalls: number;
  readonly platformCalls: number;
}

/** What a request counts as, in usage, series, ledger and metrics alike. */
export type Counted = ReturnType<typeof classify>;

/** As nginx has it: the caller closed the connection before there was an answer. */
export const GONE = 499;

/** Addresses that need a key. */
const NEEDS_KEY = /^\/(?:api|gateway|mcp)(?:[/?]|$)/;

/**
 * @param status as sent; errors of tools have 200
 * @param target path and query
 */
export function classify(ended: Ended, status: number, target: string) {
  const { team, subject, outcome, tier, code, via, rows, bytesOut, plainCalls, platformCalls, limit } = ended;
  // A caller who leaves is no fault of the gateway.
  const isGone = status === GONE && code === null;
  const isError = (status >= 400 && !isGone) || outcome === 'error' || outcome === 'failed';
  const isReport = isOfReport(outcome);
  return {
    team,
    outcome,
    bytesOut,
    limit,
    /**
     * Reports, pass-through, calls about reports, tools, and whatever was refused. Probes, pages, `me`, series and session do
     * not count, nor does, without a key, what needs none: a browser asks for an icon.
     */
    isCounted: subject !== null || (code !== null && (team !== null || NEEDS_KEY.test(target))),
    /** Of a hit. */
    tier: outcome === 'hit' ? tier : null,
    /** How one counts that was not answered. */
    fault: LIMITED.includes(code) ? ('rateLimited' as const) : isError ? ('errors' as const) : null,
    failedBy: outcome === 'failed' ? partOfFailure(code) : null,
    viaMcp: via === 'mcp' ? 1 : 0,
    rows: isReport ? rows : 0,
    /** Platform calls that the cache made needless. */
    saved: isReport && outcome !== 'failed' ? Math.max(0, plainCalls - platformCalls) : 0,
  };
}

export interface CacheStatus {
  readonly outcome: Outcome;
  /** Seconds of freshness left; negative when past it. */
  readonly ttlS: number;
  /** Where it was found; null of what the platform just gave. */
  readonly tier: 'l1' | 'store' | null;
  /** Whether the answer of a platform call was kept. */
  readonly stored: boolean;
  /** The store was unavailable. */
  readonly degraded: boolean;
  /** For a report split by day: number of days fetched; `totals`: they were fetched too. */
  readonly days: { readonly fetched: number; readonly total: number; readonly totals?: boolean } | null;
}

/** The `cache-status` header (RFC 9211). */
export function writeCacheStatus(status: CacheStatus): string {
  return `dsp-gateway; ${STEPS[status.outcome](status)}`;
}

type Step = (status: CacheStatus) => string;

const hit =
  (detail: string): Step =>
  ({ ttlS }) =>
    `hit; ttl=${ttlS}; detail=${detail}`;

const forwarded =
  (reason: string): Step =>
  (status) =>
    `fwd=${reason}${status.stored ? '; stored' : ''}${detailOf(status)}`;

/** One detail at most (RFC 9211, section 2.8); that the store is away matters more than the count of days. */
function detailOf({ degraded, days }: CacheStatus): string {
  if (degraded) return '; detail=degraded';
  return days === null
    ? ''
    : `; detail="days=${days.fetched}/${days.total}${days.totals === true ? ' totals' : ''}"`;
}

const STEPS: Readonly<Record<Outcome, Step>> = {
  hit: ({ ttlS, tier }) => `hit; ttl=${ttlS}; detail=${tier ?? 'store'}`,
  stale: hit('stale-while-revalidate'),
  'stale-if-error': hit('stale-if-error'),
  miss: forwarded('miss'),
  refresh: forwarded('stale'),
  forced: forwarded('request'),
  collapsed: forwarded('miss; collapsed'),
  pass: () => 'fwd=bypass',
  replay: () => 'hit; detail=idempotency',
  failed: () => 'fwd=miss',
  error: () => 'fwd=miss',
};
