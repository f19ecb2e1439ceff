import { join } from 'node:path';
import type { StoreHealth, Tallies } from '../port.js';
import { checkBatch } from '../tally-batch.js';
import { wholeMs } from '../whole-ms.js';
import { type FolderOptions, type Image, openJournalled } from './journalled-state.js';
import type { RealTime } from './real-time.js';
import { createTallyState, type TallyEntry, type TallyPart } from './tally-state.js';

const FILE = 'tallies.journal';

export interface JournalTalliesOptions extends FolderOptions {
  readonly realTime: RealTime;
  readonly rewriteAfterBytes?: number;
}

export interface JournalTallies extends Tallies {
  health(): StoreHealth;
  /** Ends what has been begun; later batches are refused. */
  close(): Promise<void>;
}

/**
 * The tallies in memory and in a journal.
 *
 * @throws StoreRefused when the journal is damaged, or of another program or release.
 */
export async function openJournalTallies(options: JournalTalliesOptions): Promise<JournalTallies> {
  const { state, commit, health, close } = await openJournalled({
    ...options,
    path: join(options.folder, FILE),
    change: 'a batch of tallies',
    restore: (image: Image<object, TallyPart, TallyEntry> | null) => {
      const restored = createTallyState(options.realTime);
      for (const part of image?.parts ?? []) restored.restore(part);
      for (const entry of image?.entries ?? []) restored.apply(entry);
      return restored;
    },
  });
  return {
    async add(id, adds, raises, ttlMs) {
      checkBatch(adds, raises);
      const ms = wholeMs(ttlMs, 1);
      if (adds.length + raises.length > 0) await commit({ id, adds, raises, ttlMs: ms });
    },
    read: async (books) => books.map(state.read),
    health,
    close,
  };
}
