/** Keeps the history within its time and its room: the oldest months go first, and whole. */
import type { Logger } from 'pino';
import { isoDay } from '../report/days.js';
import type { HistoryMonth, HistoryStore } from '../store/history-port.js';
import type { Leases } from '../store/port.js';
import { turn } from '../time.js';
import { daysOfMonth, monthsOf } from './months.js';
import { headsIn } from './revision.js';

export interface SweepOptions {
  readonly store: Pick<HistoryStore, 'roomBytes' | 'heads' | 'months' | 'remove'>;
  /** Of all replicas one is enough. */
  readonly leases: Pick<Leases, 'claim'>;
  readonly owner: string;
  readonly retentionDays: number;
  readonly maxBytes: number;
  readonly now: () => number;
  readonly logger: Logger;
}

/** What is there after a sweep. */
export interface Swept {
  readonly bytes: number;
  readonly months: number;
  readonly removed: number;
}

const DAY_MS = 86_400_000;
const LEASE_MS = 30 * 60_000;

/**
 * @param isStopped ends it early
 * @returns null where another replica has done it lately
 * @throws StoreUnavailable
 */
export async function sweepHistory(options: SweepOptions, isStopped: () => boolean): Promise<Swept | null> {
  const { store, leases, owner, retentionDays, now, logger } = options;
  const [isMine = false] = await leases.claim(['history:sweep'], owner, LEASE_MS);
  if (!isMine) return null;
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
        'the history is full: its oldest month was removed, before history.retentionDays was over',
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
    // Whoever asks for a report meanwhile goes first.
    await turn();
    if (isStopped()) break;
  }
  return measured;
}

async function bytesOf(store: SweepOptions['store'], { series, month }: HistoryMonth): Promise<number> {
  const heads = await store.heads(series, daysOfMonth(month));
  return heads.reduce((sum, one) => {
    if (one === null) return sum;
    const contents = headsIn(one).revisions.reduce((all, { bytes }) => all + bytes, 0);
    return sum + one.heads.length + contents;
  }, 0);
}
