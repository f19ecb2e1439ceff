/** What it means that a write of lmdb was late, or failed. */
import { StoreUnavailable } from '../port.js';
import { isDiskLow } from './file-system.js';

export function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () =>
      reject(new WriteLate(`not done within ${ms} ms; another process of the gateway may stand still`));
    const timer = setTimeout(late, ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
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
