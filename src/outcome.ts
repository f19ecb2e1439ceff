/** How a request was answered: one vocabulary for the `cache-status` header, the log, the metrics and the docs. */

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
  /** Answered with a problem document. */
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
  /** For a report split by day: number of days fetched. */
  readonly days: { readonly fetched: number; readonly total: number } | null;
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
  return days === null ? '' : `; detail="days=${days.fetched}/${days.total}"`;
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
  error: () => 'fwd=miss',
};
