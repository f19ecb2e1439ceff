/**
 * Stage behind the answer: days of a range that nobody asked for, to hold other answers against them. Charged to the
 * gateway itself. They are newer than what there is, so they are kept: a restated day is right from then on.
 */
import type { Purges } from '../cache/purges.js';
import type { CacheTier } from '../cache/tier.js';
import type { FetchDays } from '../divisibility/compare-days.js';
import type { Learner } from '../divisibility/learn.js';
import type { FreshnessRules } from '../report/freshness.js';
import { dayRef } from '../report/keys.js';
import type { Range } from '../report/period.js';
import { entryOf } from './entry-of.js';
import type { FetchReport } from './fetch-report.js';
import { CAPPED, type FetchUncapped } from './fetch-uncapped.js';
import type { Fetched } from './read-answer.js';

export interface FetchDaysOptions {
  readonly fetchReport: FetchReport;
  readonly fetchUncapped: FetchUncapped;
  readonly learner: Pick<Learner, 'standing' | 'couldNotCut'>;
  readonly purges: Purges;
  readonly tier: CacheTier;
  readonly rules: FreshnessRules;
}

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
      await tier.write([...days].map(([date, part]) => entryOf(dayRef(series, date), part, rules)));
    }
    return days;
  };
}
