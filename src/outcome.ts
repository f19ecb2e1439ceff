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
  /** Asked the platform although something was cached: it was past its use, or the caller wanted it fresher. */
  | 'refresh'
  /** Waited for a call that another request had under way. */
  | 'collapsed'
  /** Passed through to the platform. */
  | 'pass'
  /** Answered with a problem document. */
  | 'error';

/** From the cheapest to the dearest. */
const BY_COST: readonly Outcome[] = [
  'hit',
  'stale',
  'stale-if-error',
  'collapsed',
  'refresh',
  'miss',
  'pass',
  'error',
];

/** An answer made of several parts is called by its dearest one. */
export function dearest(outcomes: readonly Outcome[]): Outcome {
  return BY_COST[Math.max(...outcomes.map((outcome) => BY_COST.indexOf(outcome)))] as Outcome;
}

export interface CacheStatus {
  readonly outcome: Outcome;
  /** Seconds of freshness left; negative when past it. */
  readonly ttlS: number;
  /** Where a hit was found. */
  readonly tier: 'l1' | 'store' | null;
  /** Whether the answer of a platform call was kept. */
  readonly stored: boolean;
  /** The store is away: nothing was looked up in it. */
  readonly degraded: boolean;
}

/** The `cache-status` header (RFC 9211). */
export function writeCacheStatus(status: CacheStatus): string {
  const parts = ['dsp-gateway', ...STEPS[status.outcome](status)];
  return parts.join('; ');
}

type Step = (status: CacheStatus) => string[];

const forwarded =
  (reason: string): Step =>
  ({ stored, degraded }) => [
    `fwd=${reason}`,
    ...(stored ? ['stored'] : []),
    ...(degraded ? ['detail=degraded'] : []),
  ];

const STEPS: Readonly<Record<Outcome, Step>> = {
  hit: ({ ttlS, tier }) => ['hit', `ttl=${ttlS}`, `detail=${tier ?? 'store'}`],
  stale: ({ ttlS }) => ['hit', `ttl=${ttlS}`, 'detail=stale-while-revalidate'],
  'stale-if-error': ({ ttlS }) => ['hit', `ttl=${ttlS}`, 'detail=stale-if-error'],
  miss: forwarded('miss'),
  refresh: forwarded('stale'),
  collapsed: ({ stored, degraded }) => [
    'fwd=miss',
    'collapsed',
    ...(stored ? ['stored'] : []),
    ...(degraded ? ['detail=degraded'] : []),
  ],
  pass: () => ['fwd=bypass'],
  error: () => ['fwd=miss'],
};
