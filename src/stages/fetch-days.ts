/**
 * Stage behind the answer: days of a range that nobody asked for, to hold other answers against them. Charged to the
 * gateway itself. They are newer than what there is, so they are kept: a restated day is right from then on.
 */
import type { Purges } from '../cache/purges.js';
import type { CacheTier } from '../cache/tier.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import type { Days } from '../report/compare-days.js';
import type { FreshnessRules } from '../report/freshness.js';
import { dayKey } from '../report/keys.js';
import { entryOf } from './entry-of.js';
import type { FetchReport } from './fetch-report.js';
import { CAPPED, type FetchUncapped } from './fetch-uncapped.js';
import type { Learner } from './learn.js';
import type { Fetched, Range } from './read-answer.js';

export interface FetchDaysOptions {
  readonly fetchReport: FetchReport;
  readonly fetchUncapped: FetchUncapped;
  readonly learner: Pick<Learner, 'standing' | 'couldNotCut'>;
  readonly purges: Purges;
  readonly tier: CacheTier;
  readonly rules: FreshnessRules;
}

export interface DaysOf {
  readonly report: CanonicalReport;
  readonly series: string;
  /** What is known of days already, to tell an empty day that stays empty. */
  readonly known: Days;
}

/** @returns null when the platform refused, or when its answer may not be cut */
export type FetchDays = (what: DaysOf, from: string, to: string) => Promise<Days | null>;

/** Calls nobody asked for are charged to this name. */
export const BACKGROUND_TEAM = 'gateway';

export function createFetchDays(options: FetchDaysOptions): FetchDays {
  const { fetchReport, fetchUncapped, learner, purges, tier, rules } = options;

  return async function fetchDays({ report, series, known }, from, to) {
    const { generation, state } = learner.standing(report);
    const fetchRange = (range: Range): Promise<Fetched | null> =>
      fetchReport({
        report,
        team: BACKGROUND_TEAM,
        whole: false,
        choose: async () => range,
        seq: () => purges.seq,
        generation,
        earlier: (lastDay) => known.get(lastDay ?? '')?.header ?? null,
      });
    const answer = await fetchRange({ from, to });
    const fetched = answer === null ? null : await fetchUncapped({ report, series }, answer, fetchRange);
    if (fetched?.kind !== 'answer') return null;
    if (fetched.days === null) {
      const reason = fetched.cuttable.ok ? CAPPED : fetched.cuttable.reason;
      if (state === 'proven' && reason !== CAPPED && fetched.doubt === null)
        await learner.couldNotCut(report, reason);
      return null;
    }
    const days = new Map(fetched.days.map((part) => [part.header.lastDay as string, part]));
    if (fetched.storable) {
      await tier.write([...days].map(([date, part]) => entryOf(dayKey(series, date), part, rules)));
    }
    return days;
  };
}
