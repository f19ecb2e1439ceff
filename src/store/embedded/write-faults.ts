/** What it means that a write of lmdb was late, or failed; and what is known to be wrong meanwhile. */
import { startTimer, stopTimer } from '../../time.js';
import type { StoreLog } from '../log.js';
import { type StoreHealth, StoreUnavailable } from '../port.js';
import { isDiskLow } from './file-system.js';

/** What is wrong, said once when it begins and once when it ends. */
export function createFaults(folder: string, logger: StoreLog) {
  let writing: string | null = null;
  let damage: string | null = null;
  return {
    written(): void {
      if (writing !== null) logger.info({ path: folder }, 'the store can be written again');
      writing = null;
    },
    failed<E extends Error>(error: E): E {
      if (writing === null) logger.error({ err: error, path: folder }, 'the store could not be written');
      writing = error.message;
      return error;
    },
    damaged<E extends Error>(error: E): E {
      if (damage === null) logger.error({ err: error, path: folder }, 'the store is damaged');
      damage = error.message;
      return error;
    },
    health(): StoreHealth {
      const reason = damage ?? writing;
      return reason === null ? { ok: true } : { ok: false, reason };
    },
  };
}

export function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () =>
      reject(
        new WriteLate(`not done within ${ms} ms; the disk is late, or another process has opened the file`),
      );
    const timer = startTimer(late, ms);
    work.then(resolve, reject).finally(() => stopTimer(timer));
    // Also of one that fails when nobody waits for it any more.
    void work.catch(commitError);
  });
}

/** It is still under way, and nothing is known of what becomes of it. */
class WriteLate extends Error {}

export async function unavailable(folder: string, error: unknown): Promise<StoreUnavailable> {
  const cause = await commitError(error);
  const text = cause instanceof Error ? cause.message : String(cause);
  // A disk that takes a part of a write and no more shows as a failure of input and output.
  const full = /no space left|disk quota/i.test(text) || (await isDiskLow(folder).catch(() => false));
  if (full && !(error instanceof WriteLate))
    return new StoreUnavailable(`${folder} could not be written: the disk is full (${text})`, 'no-room');
  return new StoreUnavailable(`${folder} could not be written: ${text}`);
}

/** lmdb-js gives the reason as a promise, which rejects, and ends the process where nobody takes it. */
async function commitError(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error;
  try {
    await error.commitError;
    return error;
  } catch (cause) {
    return cause;
  }
}
