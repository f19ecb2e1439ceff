/** Starts over after the master key was lost: no gateway runs, the teams stay. */

import { existsSync } from 'node:fs';
import type { Config } from '../config/load.js';
import { createClock } from '../lib/clock.js';
import { stateFolder } from '../store/embedded/durable-folders.js';
import { StoreRefused } from '../store/refused.js';
import { KEY_PREFIX } from '../teams/auth/key-record.js';
import { sealedAndKeys } from '../teams/auth/succession-rules.js';
import { auditLine } from '../telemetry/audit.js';
import { createLog } from '../telemetry/logger.js';
import { openStore, redisConnection } from './open-store.js';

export interface Forgotten {
  readonly teams: number;
  readonly keys: number;
}

/**
 * @throws StoreRefused when a gateway runs, nothing is there, or the store cannot be used; nothing is changed then
 */
export async function forgetSealed(config: Config): Promise<Forgotten> {
  const isEmbedded = redisConnection(config) === null;
  // Opened, it would be made, and its maker told that all is forgotten.
  if (isEmbedded && !existsSync(stateFolder(config.store.dataDir))) throw nothingIn(config.store.dataDir);
  const clock = createClock();
  const log = createLog({ level: 'silent' });
  const store = await openStore(config, clock, log.logger, async () => {
    throw new StoreRefused('Redis cannot be reached: nothing was changed; start it, or correct REDIS_URL');
  });
  try {
    const running = await store.presence.list();
    if (running.length > 0)
      throw new StoreRefused(
        `${running.length === 1 ? 'a gateway runs' : `${running.length} gateways run`} on this store: nothing was changed; stop all of them first`,
      );
    const { records, epoch, version } = await store.registry.load();
    const gone = sealedAndKeys(records.keys());
    const teams = [...records.keys()].filter((id) => id.startsWith('team/')).length;
    const keys = gone.filter((id) => id.startsWith(KEY_PREFIX)).length;
    if (teams === 0 && gone.length === 0) throw nothingIn(isEmbedded ? config.store.dataDir : null);
    const event = { action: 'registry.forget-sealed', subject: 'registry', after: { teams, keys } };
    const actor = { name: 'command line', address: null };
    await store.registry.commit({
      writes: new Map(gone.map((id) => [id, null])),
      audit: [auditLine(event, actor, clock.now())],
      epoch,
      version,
    });
    return { teams, keys };
  } finally {
    await store.close();
    await log.close();
  }
}

/** @param folder null: it is Redis */
function nothingIn(folder: string | null): StoreRefused {
  return new StoreRefused(
    folder === null
      ? 'this Redis holds no team, key or token: nothing was changed; see that REDIS_URL and redis.prefix are those of the gateway'
      : `${folder} holds no team, key or token: nothing was changed; see that GATEWAY_DATA_DIR is the folder of the gateway`,
  );
}
