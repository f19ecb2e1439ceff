/** Recovery from a lost master key: deletes encrypted records and keys; keeps teams. No gateway may run. */

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

/**
 * @returns numbers of kept teams and deleted keys
 * @throws StoreRefused if a gateway runs, or the store is empty or unusable; then nothing is changed
 */
export async function forgetSealed(config: Config) {
  const isEmbedded = redisConnection(config) === null;
  // Opening would create it.
  if (isEmbedded && !existsSync(stateFolder(config.store.dataDir))) throw emptyStore(config.store.dataDir);
  const clock = createClock();
  const log = createLog({ level: 'silent' });
  const store = await openStore(config, clock, log.logger, async () => {
    throw new StoreRefused('Redis is unreachable; nothing was changed. Start it, or correct REDIS_URL');
  });
  try {
    const running = await store.presence.list();
    if (running.length > 0)
      throw new StoreRefused(
        `${running.length === 1 ? 'a gateway runs' : `${running.length} gateways run`} on this store; nothing was changed. Stop all of them first`,
      );
    const { records, epoch, version } = await store.registry.load();
    const gone = sealedAndKeys(records.keys());
    const teams = [...records.keys()].filter((id) => id.startsWith('team/')).length;
    const keys = gone.filter((id) => id.startsWith(KEY_PREFIX)).length;
    if (teams === 0 && gone.length === 0) throw emptyStore(isEmbedded ? config.store.dataDir : null);
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

/** @param folder null: Redis */
function emptyStore(folder: string | null): StoreRefused {
  return new StoreRefused(
    folder === null
      ? 'this Redis has no team, key or token; nothing was changed. Check REDIS_URL and redis.prefix'
      : `${folder} has no team, key or token; nothing was changed. Check GATEWAY_DATA_DIR`,
  );
}
