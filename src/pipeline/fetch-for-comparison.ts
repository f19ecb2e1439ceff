/**
 * Days of a range that nobody asked for, to hold other answers against them. Charged to the gateway itself. They are
 * newer than what there is, so they are kept: a restated day is right from then on.
 */
import type { DaysOf, FetchDays as FetchForComparison } from '../divisibility/compare-days.js';
import type { PlatformClient } from '../platform/client.js';
import type { Entry } from '../report/entry.js';
import { dayKey } from '../report/keys.js';
import { callKind, type FetchDays } from './fetch-days.js';
import { GATEWAY_TEAM, newPatience } from './question.js';

export interface FetchForComparisonOptions {
  readonly platform: Pick<PlatformClient, 'acquire' | 'retrying'>;
  readonly fetchDays: FetchDays;
  /** Longest time one call takes, waiting included. */
  readonly callMs: number;
}

export function createFetchForComparison(options: FetchForComparisonOptions): FetchForComparison {
  const { platform, callMs } = options;

  return async function fetchForComparison({ report, series, known }, from, to) {
    const { fetched, kept } = await platform.retrying(callKind({ report }), callMs, async (deadline) =>
      options.fetchDays(await platform.acquire(GATEWAY_TEAM, deadline), {
        ...{ report, series, range: { from, to }, team: GATEWAY_TEAM },
        mode: 'days',
        form: 'rows',
        known: byKey(series, known),
        patience: newPatience(),
        learns: false,
      }),
    );
    await kept;
    if (fetched.kind !== 'answer' || fetched.days === null) return null;
    return new Map(fetched.days.map((entry) => [entry.header.lastDay as string, entry]));
  };
}

function byKey(series: string, days: DaysOf['known']): ReadonlyMap<string, Entry> {
  return new Map([...days].map(([date, entry]) => [dayKey(series, date).id, entry]));
}
