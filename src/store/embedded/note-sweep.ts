import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { FolderOptions } from './journalled-state.js';
import { absent, isDraft, readNote } from './note-file.js';
import type { RealTime } from './real-time.js';
import type { Turns } from './turns.js';

/** How often ended notes are looked for, at most. */
const EVERY_MS = 10 * 60_000;

export interface NoteSweepOptions extends FolderOptions {
  readonly realTime: RealTime;
  /** By path. */
  readonly turns: Turns;
}

/** Removes ended notes, behind all other work. */
export interface NoteSweep {
  /** Begins one, if the last is long enough ago. What fails is logged, and tried again at the next time. */
  nowAndThen(): void;
  /** Resolves when what was begun has ended. */
  ended(): Promise<void>;
}

export function createNoteSweep({ folder, lock, logger, realTime, turns }: NoteSweepOptions): NoteSweep {
  let lastMs = realTime();
  let sweeping: Promise<void> = Promise.resolve();

  async function sweep(): Promise<void> {
    const names = await readdir(folder).catch(warn);
    for (const name of names ?? []) if (!isDraft(name)) await removeEnded(join(folder, name)).catch(warn);
  }

  async function removeEnded(path: string): Promise<void> {
    const found = await stat(path).catch(absent);
    if (found === null || realTime() < found.mtimeMs) return;
    await turns.take(path, async () => {
      // Only what is read is certain: a restored file has the time of its restoration.
      const note = await readNote(path);
      if (note !== null && realTime() >= note.endsAtMs && (await lock.held())) await rm(path);
    });
  }

  function warn(error: unknown): null {
    logger.warn({ err: error, path: folder }, 'an ended note could not be removed');
    return null;
  }

  return {
    nowAndThen() {
      if (realTime() - lastMs < EVERY_MS) return;
      lastMs = realTime();
      sweeping = sweep();
    },
    ended: () => sweeping,
  };
}
