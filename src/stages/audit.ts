/**
 * Stage behind the answer: now and then an answer joined from days is held against the platform's whole answer for
 * the same range, so that a platform that changes its ways is noticed.
 */
import type { Purges } from '../cache/purges.js';
import type { Part, RowsHeader } from '../report/part.js';
import type { FetchReport } from './fetch-report.js';
import type { GatherAsk } from './gather.js';
import type { FetchAlone, Learner } from './learn.js';
import { BACKGROUND_TEAM } from './obtain.js';

export interface AuditorOptions {
  /** One answer in so many; 0: none. */
  readonly every: number;
  readonly fetchReport: FetchReport;
  readonly learner: Learner;
  readonly purges: Purges;
  readonly onAudit: () => void;
}

/** To be called for every answer that was joined from days; looks into one in so many of a kind. */
export type Audit = (ask: GatherAsk, parts: readonly Part<RowsHeader>[]) => Promise<void>;

/** Kinds whose answers are counted; beyond it counting starts anew. */
const MAX_COUNTED = 1000;

export function createAuditor({ every, fetchReport, learner, purges, onAudit }: AuditorOptions): Audit {
  const counts = new Map<string, number>();

  function isDue(kind: string): boolean {
    if (every === 0) return false;
    if (counts.size > MAX_COUNTED) counts.clear();
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count % every);
    return count === every;
  }

  return async function audit({ report, series }, parts) {
    const { id, generation } = learner.standing(report);
    if (!isDue(id)) return;
    onAudit();
    const fetchDays = async (
      from: string | null,
      to: string | null,
    ): Promise<readonly Part<RowsHeader>[]> => {
      const fetched = await fetchReport({
        report,
        team: BACKGROUND_TEAM,
        whole: false,
        choose: async () => ({ from, to }),
        seq: () => purges.seq,
        generation,
        earlier: () => null,
      });
      return fetched?.kind === 'answer' ? (fetched.days ?? []) : [];
    };
    const alone: FetchAlone = async (date) => (await fetchDays(date, date))[0] ?? null;
    const known = new Map(parts.map((part) => [part.header.lastDay as string, part]));
    const fresh = await fetchDays(report.from.iso, report.to.iso);
    await learner.compare({ report, series, fresh, known }, alone);
  };
}
