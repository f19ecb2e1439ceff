/**
 * Keeps writes away while a process opens an environment of the data folder.
 *
 * lmdb-js 3.5.6 has an lmdb that, when it opens, reads which transaction was the last and then says so to all processes,
 * without a lock in between (ITS#9496 of OpenLDAP). What another process commits meanwhile is written over by the next
 * commit, though it was acknowledged, and pages in use are taken for free ones: records are lost and the file is damaged.
 *
 * Whoever opens says so first, waits until nobody writes, and opens; whoever writes says so, looks whether somebody opens, and
 * if so takes it back and waits. Each says it by a place among the readers of an environment that holds nothing: such a
 * place is seen by all processes at once, and that of a process that was killed is found out.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '../../time.js';
import { StoreUnavailable } from '../port.js';
import { checkMeta } from './data-file.js';
import { refuseForeign } from './data-folder.js';
import { openDatabase } from './database.js';
import { makeFolders } from './folder.js';

export interface Gate {
  /**
   * Calls `work` while no process writes.
   * @throws StoreUnavailable when one does not come to the end of its writes
   */
  open<T>(work: () => T): Promise<T>;
  /** Calls `work` while no process opens; waits for as long as one does. */
  write<T>(work: () => Promise<T>): Promise<T>;
  /** To be called when nothing of this process is under way. */
  close(): Promise<void>;
}

/** Of environments that no two processes have open at one time while one of them writes. */
export const NO_GATE: Gate = {
  open: async (work) => work(),
  write: (work) => work(),
  close: async () => {},
};

const signsOf = (dataDir: string) => ['opening', 'writing'].map((name) => join(dataDir, 'gate', name));

const MAP_BYTES = 2 ** 16;
const LOOK_EVERY_MS = 2;

/** How long one that opens waits for those that write. */
export interface Patience {
  /** At one time, milliseconds: less than any write may take, for all of them wait meanwhile. */
  readonly waitMs: number;
  /** How long others may write before it waits again. */
  readonly restMs: number;
  readonly tries: number;
}

/** A write that has not ended by then is that of a process that stands still. */
const PATIENCE: Patience = { waitMs: 1_000, restMs: 500, tries: 7 };

/**
 * To be called before the first process opens anything: makes the gate, and makes it anew when it is damaged, as it may be
 * after a crash of the machine, for nothing of it is ever synced.
 * @throws StoreRefused when it is not ours
 */
export async function prepareGate(dataDir: string): Promise<void> {
  await refuseForeign(join(dataDir, 'gate'), 'all');
  for (const sign of signsOf(dataDir)) {
    await refuseForeign(sign, 'all');
    if (isWhole(sign)) continue;
    await rm(sign, { recursive: true, force: true });
    await makeFolders(sign);
  }
}

/** Nothing was ever written to it: what is wrong with it does not matter. */
function isWhole(sign: string): boolean {
  try {
    checkMeta(join(sign, 'data.mdb'));
    return true;
  } catch {
    return false;
  }
}

/** For whoever comes from outside: where no gateway has made one, none runs that would have to be kept away. */
export function openGateIfThere(dataDir: string): Gate {
  return signsOf(dataDir).every(isWhole) ? openGate(dataDir) : NO_GATE;
}

/** @param dataDir has been prepared */
export function openGate(dataDir: string, { waitMs, restMs, tries } = PATIENCE): Gate {
  const [opening, writing] = signsOf(dataDir).map(openSign) as [Sign, Sign];

  /** @returns whether that came to be in time */
  async function nobodyWrites(): Promise<boolean> {
    for (let waitedMs = 0; waitedMs < waitMs; waitedMs += LOOK_EVERY_MS) {
      // Before the first look, too: by then whoever has looked for us too early can be seen.
      await sleep(LOOK_EVERY_MS);
      if (!writing.isUp()) return true;
    }
    return false;
  }

  return {
    async open(work) {
      for (let left = tries; left > 0; left -= 1) {
        const takeDown = opening.putUp();
        try {
          if (await nobodyWrites()) return work();
        } finally {
          takeDown();
        }
        await sleep(restMs);
      }
      throw new StoreUnavailable(
        `the data folder ${dataDir} could not be opened: a process of the gateway stands still while it writes`,
      );
    },
    async write(work) {
      for (;;) {
        const takeDown = writing.putUp();
        try {
          if (!opening.isUp()) return await work();
        } finally {
          takeDown();
        }
        await sleep(LOOK_EVERY_MS);
      }
    },
    async close() {
      await Promise.all([opening.close(), writing.close()]);
    },
  };
}

/** A sign that each process can put up, any number of times, and that all of them see. */
interface Sign {
  /** @returns takes it down again */
  putUp(): () => void;
  /** Whether any process that lives has put it up. */
  isUp(): boolean;
  close(): Promise<void>;
}

function openSign(folder: string): Sign {
  const db = openDatabase({ folder, mapBytes: MAP_BYTES, durable: false });
  let times = 0;
  let place: ReturnType<typeof db.useReadTransaction> | null = null;

  function takeDown(): void {
    times -= 1;
    if (times > 0) return;
    place?.done();
    place = null;
    // Only then is the place free for others to see.
    db.resetReadTxn();
  }

  return {
    putUp() {
      place ??= db.useReadTransaction();
      times += 1;
      return takeDown;
    },
    isUp() {
      if (!isTaken(db.readerList())) return false;
      db.readerCheck();
      return isTaken(db.readerList());
    },
    close: () => db.close(),
  };
}

/** @param list a head, then for each place the process, the thread, and what it reads; `-`: nothing */
function isTaken(list: string): boolean {
  return list
    .split('\n')
    .slice(1)
    .some((line) => line !== '' && !line.endsWith('-'));
}
