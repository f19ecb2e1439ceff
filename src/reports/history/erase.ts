/** Removes history: of erased accounts, past retention, and the oldest months beyond the size limit. */
import type { Logger } from 'pino';
import { turn } from '../../lib/time.js';
import type { HistoryMonth, HistoryStore, HistoryWrite } from '../../store/history-port.js';
import { isoDay } from '../query/days.js';
import type { Erasures } from './erasures.js';
import { readContents } from './read.js';
import { decodeStored, encodeHeads, type Heads, type Revision, readHeads } from './revision.js';

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

/** @returns 31 names, also for shorter months */
export function daysOfMonth(month: string): readonly string[] {
  return Array.from({ length: 31 }, (_, at) => `${month}-${String(at + 1).padStart(2, '0')}`);
}

interface EraseOptions {
  readonly store: Pick<HistoryStore, 'heads' | 'contents' | 'write' | 'months' | 'remove'>;
  readonly isErased: Erasures['isErased'];
}

/**
 * Removes the data of erased accounts, which is hidden already (erasures.ts). Scans the whole history: requested accounts are
 * in the heads, accounts of rows only in the contents.
 * @returns the number of affected days
 * @throws StoreUnavailable
 */
export async function eraseHistory(options: EraseOptions, isStopped: () => boolean): Promise<number> {
  let days = 0;
  for await (const month of monthsOf(options.store)) {
    if (isStopped()) return days;
    days += await eraseMonth(options, month);
    // Requests for reports go first.
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
    const heads = one === null ? null : decodeStored(one);
    if (one === null || heads === null) continue;
    const date = dates[at] as string;
    const erased = await erasedOf(options, what.series, date, heads);
    days.push({ date, stamp: one.stamp, heads, erased });
  }
  const hit = days.filter(({ erased }) => erased.length > 0);
  if (hit.length === 0) return 0;
  // Removes shared facts, too: they name accounts.
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

/** A write that loses to a concurrent one is repeated by the next pass. */
function withoutErased({ date, stamp, heads, erased }: Day): HistoryWrite {
  const revisions = heads.revisions.filter((one) => !erased.includes(one));
  return {
    ...{ day: date, stamp, heads: encodeHeads({ ...heads, revisions }), added: new Map() },
    removed: erased.map(({ id }) => id),
  };
}

export interface SweepOptions {
  readonly store: Pick<HistoryStore, 'roomBytes' | 'heads' | 'months' | 'remove'>;
  readonly retentionDays: number;
  readonly maxBytes: number;
  readonly now: () => number;
  readonly logger: Logger;
}

/** Result of a sweep. */
const DAY_MS = 86_400_000;

/**
 * Keeps the history within its retention and size limit: removes whole months, oldest first.
 * @param isStopped ends it early
 * @throws StoreUnavailable
 */
export async function sweepHistory(options: SweepOptions, isStopped: () => boolean) {
  const { store, retentionDays, now, logger } = options;
  const maxBytes = Math.min(options.maxBytes, store.roomBytes() ?? Number.POSITIVE_INFINITY);
  const oldest = isoDay(Math.floor(now() / DAY_MS) - retentionDays).slice(0, 7);
  const found = await measure(store, isStopped);
  let bytes = found.reduce((sum, one) => sum + one.bytes, 0);
  let removed = 0;
  for (const one of found) {
    const isOver = one.month < oldest;
    if ((!isOver && bytes <= maxBytes) || isStopped()) break;
    await store.remove(one);
    bytes -= one.bytes;
    removed += 1;
    if (!isOver)
      logger.warn(
        { month: one.month, bytes: one.bytes, maxBytes },
        'history is full: removed its oldest month before history.retentionDays elapsed',
      );
  }
  return { bytes, months: found.length - removed, removed };
}

interface Measured extends HistoryMonth {
  readonly bytes: number;
}

/** The oldest months first. */
async function measure(store: SweepOptions['store'], isStopped: () => boolean): Promise<Measured[]> {
  const measured: Measured[] = [];
  for await (const one of monthsOf(store)) {
    measured.push({ ...one, bytes: await bytesOf(store, one) });
    // Requests for reports go first.
    await turn();
    if (isStopped()) break;
  }
  return measured;
}

async function bytesOf(store: SweepOptions['store'], { series, month }: HistoryMonth): Promise<number> {
  const heads = await store.heads(series, daysOfMonth(month));
  return heads.reduce((sum, one) => {
    if (one === null) return sum;
    const contents = readHeads(one).revisions.reduce((all, { bytes }) => all + bytes, 0);
    return sum + one.heads.length + contents;
  }, 0);
}
