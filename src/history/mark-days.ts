/** Marks what is known of days, without a change of their rows. */
import type { HistoryStore, HistoryWrite } from '../store/history-port.js';
import { decodeHeads, encodeHeads, type Revision, type Revisions } from './revision.js';

export type MarkStore = Pick<HistoryStore, 'heads' | 'write'>;

/**
 * A day that another writes at this moment stays as it is, and is newer.
 * @param mark the same list where nothing is to be marked
 * @returns of the days that were to be marked, whether they are
 * @throws StoreUnavailable
 */
export async function markDays(
  store: MarkStore,
  series: string,
  dates: readonly string[],
  mark: (revisions: Revisions, at: number) => Revisions,
): Promise<ReadonlyMap<string, boolean>> {
  const writes = (await store.heads(series, dates)).flatMap((one, at): HistoryWrite[] => {
    const known = one === null ? null : decodeHeads(one.heads);
    if (one === null || known === null) return [];
    const revisions = mark(known.revisions, at);
    if (revisions === known.revisions) return [];
    const heads = encodeHeads({ ...known, revisions });
    return [{ day: dates[at] as string, stamp: one.stamp, heads, added: new Map(), removed: [] }];
  });
  const done = writes.length === 0 ? [] : await store.write(series, writes);
  return new Map(writes.map(({ day }, at) => [day, done[at] === true]));
}

/** @returns the same list where none is meant */
export function withMark(
  revisions: Revisions,
  isMeant: (one: Revision) => boolean,
  mark: Partial<Revision>,
): Revisions {
  return revisions.some(isMeant)
    ? revisions.map((one) => (isMeant(one) ? { ...one, ...mark } : one))
    : revisions;
}

/** Days of one series that were split from answers that the platform had cut off. */
export interface CutDays {
  readonly series: string;
  /** ISO */
  readonly dates: readonly string[];
  /** Rows at which the platform cut them off. */
  readonly answerRows: number;
}

/** @returns how many days had such a revision. @throws StoreUnavailable */
export async function voidCut(store: MarkStore, { series, dates, answerRows }: CutDays): Promise<number> {
  const isCut = (one: Revision) => one.answerRows === answerRows && one.void === undefined;
  const done = await markDays(store, series, dates, (known) => withMark(known, isCut, { void: 'cut' }));
  return [...done.values()].filter((one) => one).length;
}
