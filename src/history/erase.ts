/** Removes what was written down of erased accounts. Until it has, they are not shown: see erasures.ts. */
import type { HistoryMonth, HistoryStore, HistoryWrite } from '../store/history-port.js';
import { turn } from '../time.js';
import type { Erasures } from './erasures.js';
import { daysOfMonth, monthsOf } from './months.js';
import { readContents } from './read-contents.js';
import { decodeHeads, encodeHeads, type Heads, type Revision } from './revision.js';

export interface EraseOptions {
  readonly store: Pick<HistoryStore, 'heads' | 'contents' | 'write' | 'months' | 'remove'>;
  readonly isErased: Erasures['isErased'];
}

/**
 * Looks through the whole history: what a report was asked for is in the heads, and what its rows name only with them.
 * @returns how many days had something of it
 * @throws StoreUnavailable
 */
export async function eraseHistory(options: EraseOptions, isStopped: () => boolean): Promise<number> {
  let days = 0;
  for await (const month of monthsOf(options.store)) {
    if (isStopped()) return days;
    days += await eraseMonth(options, month);
    // Whoever asks for a report meanwhile goes first.
    await turn();
  }
  return days;
}

interface Day {
  readonly date: string;
  readonly stamp: number;
  readonly heads: Heads;
  readonly erased: readonly Revision[];
}

async function eraseMonth(options: EraseOptions, what: HistoryMonth): Promise<number> {
  const { store } = options;
  const dates = daysOfMonth(what.month);
  const found = await store.heads(what.series, dates);
  const days: Day[] = [];
  for (const [at, one] of found.entries()) {
    const heads = one === null ? null : decodeHeads(one.heads);
    if (one === null || heads === null) continue;
    const date = dates[at] as string;
    const erased = await erasedOf(options, what.series, date, heads);
    days.push({ date, stamp: one.stamp, heads, erased });
  }
  const hit = days.filter(({ erased }) => erased.length > 0);
  if (hit.length === 0) return 0;
  // With what its days share, which names accounts too.
  if (days.every(({ heads, erased }) => erased.length === heads.revisions.length)) await store.remove(what);
  else await store.write(what.series, hit.map(withoutErased));
  return hit.length;
}

async function erasedOf(
  { store, isErased }: EraseOptions,
  series: string,
  date: string,
  { asked, revisions }: Heads,
): Promise<readonly Revision[]> {
  const contents = await readContents(
    store,
    series,
    revisions.map((revision) => ({ day: date, revision })),
  );
  return revisions.filter((one, at) =>
    isErased({ ...one, asked, held: contents[at]?.header.accounts ?? [] }),
  );
}

/** A write that another has overtaken is made by the next pass. */
function withoutErased({ date, stamp, heads, erased }: Day): HistoryWrite {
  const revisions = heads.revisions.filter((one) => !erased.includes(one));
  return {
    ...{ day: date, stamp, heads: encodeHeads({ ...heads, revisions }), added: new Map() },
    removed: erased.map(({ id }) => id),
  };
}
