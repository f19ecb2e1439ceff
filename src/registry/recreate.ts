/** Makes a registry again that the store has lost, on an operator's word. */
import {
  type RegistryCommit,
  RegistryConflict,
  type RegistryRecord,
  type RegistryStore,
} from '../store/port.js';
import type { RegistryCopy } from './copy.js';

/**
 * Puts what is known, with a change, in the place of whatever the store holds: made where there is nothing, else
 * written over it. All or nothing.
 * @throws RegistryConflict when the store's was changed meanwhile
 */
export async function recreate(
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
