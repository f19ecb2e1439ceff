import type { StoreLog } from '../log.js';
import type { StoreHealth } from '../port.js';

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
