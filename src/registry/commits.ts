/** Changes of the registry, by this replica: written to the store, laid over the own copy, announced to the others. */
import type { Logger } from 'pino';
import {
  ANOTHER_REGISTRY,
  type RegistryCommit,
  type RegistryCommitted,
  RegistryConflict,
  type RegistryRecord,
  type RegistryStore,
  type Store,
} from '../store/port.js';
import type { RegistryCopy } from './copy.js';
import { noteUnconfirmed } from './durability.js';
import type { RegistrySync } from './sync.js';

/** Says on the bus that the registry has changed; the message is its version. */
export const CHANNEL = 'registry';

export interface RegistryCommits {
  /** @throws RegistryConflict, StoreUnavailable */
  commit(change: RegistryCommit): Promise<void>;
  /**
   * In place of `commit` while there is a loss: makes the registry known here, with this change, in the place of
   * whatever the store holds. @throws RegistryConflict, StoreUnavailable
   */
  recreate(change: RegistryCommit): Promise<void>;
}

export interface RegistryCommitsOptions {
  readonly copy: RegistryCopy;
  readonly store: Pick<Store, 'registry' | 'bus'>;
  readonly sync: RegistrySync;
  /** Told which records may have changed. */
  readonly onChanged: (ids: ReadonlySet<string>) => void;
  readonly logger: Logger;
}

export function createRegistryCommits(options: RegistryCommitsOptions): RegistryCommits {
  const { copy, store, sync, logger } = options;

  /** Into the registry known here and no other: one that was emptied would begin anew with it. */
  async function write(change: RegistryCommit): Promise<RegistryCommitted> {
    const { epoch } = copy;
    try {
      return await store.registry.commit({ ...change, epoch });
    } catch (error) {
      if (!(error instanceof RegistryConflict) || error.id !== ANOTHER_REGISTRY) throw error;
      await sync.refresh();
      if (copy.epoch !== epoch) throw error;
      return store.registry.commit({ ...change, epoch });
    }
  }

  async function announce(version: number): Promise<void> {
    await store.bus.publish(CHANNEL, String(version)).catch((error: unknown) => {
      logger.warn({ err: error }, 'a registry change could not be announced; replicas find it by polling');
    });
  }

  return {
    async commit(change) {
      const done = await write(change);
      if (done.unconfirmed !== undefined) noteUnconfirmed(done.unconfirmed);
      const changed = copy.takeOwn(change.writes, done.version);
      if (changed === null) await sync.poll();
      else options.onChanged(changed);
      await announce(done.version);
    },
    async recreate(change) {
      await recreate(store.registry, copy, change);
      await sync.refresh();
      await announce(copy.version);
    },
  };
}

/**
 * Puts what is known, with a change, in the place of whatever the store holds: made where there is nothing, else
 * written over it. All or nothing.
 * @throws RegistryConflict when the store's was changed meanwhile
 */
async function recreate(
  store: RegistryStore,
  { epoch, newest, records }: Pick<RegistryCopy, 'epoch' | 'newest' | 'records'>,
  { writes, audit = [] }: RegistryCommit,
): Promise<void> {
  const version = newest + 1;
  const wanted = new Map<string, RegistryRecord>(records);
  for (const [id, value] of writes) {
    if (value === null) wanted.delete(id);
    else wanted.set(id, { value, revision: version });
  }
  if (await store.create({ epoch, version, records: wanted, audit })) return;
  const found = await store.load('leave');
  if (found.epoch === '') throw new RegistryConflict('meta');
  await store.commit({
    epoch: found.epoch,
    writes: new Map<string, string | null>([
      ...[...found.records.keys()].map((id) => [id, null] as const),
      ...[...wanted].map(([id, { value }]) => [id, value] as const),
    ]),
    expect: new Map([...found.records].map(([id, { revision }]) => [id, revision] as const)),
    audit,
  });
}
