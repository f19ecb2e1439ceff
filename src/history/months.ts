/** All that there is of the history, month by month. */
import type { HistoryMonth, HistoryStore } from '../store/history-port.js';

const AT_ONCE = 100;

/** The oldest first. @throws StoreUnavailable */
export async function* monthsOf(store: Pick<HistoryStore, 'months'>): AsyncGenerator<HistoryMonth> {
  for (let last: HistoryMonth | null = null; ; ) {
    const page: readonly HistoryMonth[] = await store.months(last, AT_ONCE);
    yield* page;
    last = page.at(-1) ?? last;
    if (page.length < AT_ONCE) return;
  }
}

/** @returns 31 names; some months have fewer days, and nothing lies under the rest */
export function daysOfMonth(month: string): readonly string[] {
  return Array.from({ length: 31 }, (_, at) => `${month}-${String(at + 1).padStart(2, '0')}`);
}
