/** Marks what came of answers that the platform had cut off, once that is known. */
import type { HistoryStore, HistoryWrite } from '../store/history-port.js';
import { decodeHeads, encodeHeads, type Revision } from './revision.js';

/** Days of one series that were split from such answers. */
export interface CutDays {
  readonly series: string;
  /** ISO */
  readonly dates: readonly string[];
  /** Rows at which the platform cut them off. */
  readonly answerRows: number;
}

/** @returns how many days had such a revision. One that another writes at this moment stays as it is, and is newer. */
export async function voidCut(
  store: Pick<HistoryStore, 'heads' | 'write'>,
  { series, dates, answerRows }: CutDays,
): Promise<number> {
  const heads = await store.heads(series, dates);
  const isCut = (one: Revision) => one.answerRows === answerRows && one.void === undefined;
  const writes = heads.flatMap((one, at): HistoryWrite[] => {
    const known = one === null ? null : decodeHeads(one.heads);
    if (one === null || known === null || !known.revisions.some(isCut)) return [];
    const revisions = known.revisions.map(
      (each): Revision => (isCut(each) ? { ...each, void: 'cut' } : each),
    );
    const changed = encodeHeads({ ...known, revisions });
    return [{ day: dates[at] as string, stamp: one.stamp, heads: changed, added: new Map(), removed: [] }];
  });
  const done = writes.length === 0 ? [] : await store.write(series, writes);
  return done.filter((one) => one).length;
}
