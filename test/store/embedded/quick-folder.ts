import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const MEMORY = '/dev/shm';

/** In memory where there is room: what waits for a disk is seen by `order.test.ts`, and by processes in `test/e2e`. */
export const QUICK_FOLDER = hasRoom() ? MEMORY : tmpdir();

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize > 2 ** 30;
}
