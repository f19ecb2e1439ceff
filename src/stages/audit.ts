/**
 * Stage behind the answer: now and then an answer joined from days is held against the platform's whole answer for
 * the same range, so that a platform that changes its ways is noticed. Not where the configuration has decided.
 */
import type { Purges } from '../cache/purges.js';
import type { CacheTier } from '../cache/tier.js';
import type { FreshnessRules } from '../report/freshness.js';
import { dayKey } from '../report/keys.js';
import type { Part, RowsHeader } from '../report/part.js';
import type { FetchReport } from './fetch-report.js';
import type { FetchUncapped } from './fetch-uncapped.js';
import type { GatherAsk } from './gather.js';
import type { FetchAlone, Learner } from './learn.js';
import { BACKGROUND_TEAM, entryOf } from './obtain.js';
import type { Fetched, Range } from './read-answer.js';

export interface AuditorOptions {
  /** One answer in so many; 0: none. */
  readonly every: number;
  readonly fetchReport: FetchReport;
  readonly fetchUncapped: FetchUncapped;
  readonly learner: Learner;
  readonly purges: Purges;
  readonly tier: CacheTier;
  readonly rules: FreshnessRules;
  readonly onAudit: () => void;
}

/** To be called for every answer that was joined from days; looks into one in so many of a kind. */
export type Audit = (ask: GatherAsk, parts: readonly Part<RowsHeader>[]) => Promise<void>;

/** Kinds whose answers are counted; beyond it counting starts anew. */
const MAX_COUNTED = 1000;

export function createAuditor(options: AuditorOptions): Audit {
  const { every, fetchReport, fetchUncapped, learner, purges, tier, rules, onAudit } = options;
  const counts = new Map<string, number>();

  function isDue(kind: string): boolean {
    if (every === 0) return false;
    if (counts.size > MAX_COUNTED) counts.clear();
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count % every);
    return count === every;
  }

  return async function audit({ report, series }, parts) {
    const { id, pinned, generation } = learner.standing(report);
    if (pinned || !isDue(id)) return;
    onAudit();
    const known = new Map(parts.map((part) => [part.header.lastDay as string, part]));
    /** What it brings is newer than what there is, so it is kept: a restated day is then right from now on. */
    const fetchDays = async (
      from: string | null,
      to: string | null,
    ): Promise<readonly Part<RowsHeader>[]> => {
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
      const days = fetched?.kind === 'answer' ? (fetched.days ?? []) : [];
      if (fetched?.storable) {
        await tier.write(
          days.map((part) => entryOf(dayKey(series, part.header.lastDay as string), part, rules)),
        );
      }
      return days;
    };
    const alone: FetchAlone = async (date) => (await fetchDays(date, date))[0] ?? null;
    const fresh = await fetchDays(report.from.iso, report.to.iso);
    await learner.compare({ report, series, fresh, known }, alone);
  };
}
