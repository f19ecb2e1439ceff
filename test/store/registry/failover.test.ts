/** A store that has lost acknowledged commits, as after a failover to a replica that lagged behind. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/port.js';
import type { AuditRecord } from '../../../src/telemetry/audit.js';
import { createMemoryServer } from '../../support/memory/memory-store.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openReplica, withoutBus } from '../../support/shared-registry.js';
import { createTestClock } from '../../support/test-clock.js';

const set = (records: Record<string, string | null>) => ({ writes: new Map(Object.entries(records)) });

/** Some replicas of one registry, which can be set back to what it was. */
async function openFleet(count: number) {
  const server = createMemoryServer({ clock: createTestClock(), logger: createRecordedLog().logger });
  const stores = Array.from({ length: count }, () => withoutBus(server.handle()));
  return {
    stores,
    replicas: await Promise.all(stores.map((store) => openReplica(store))),
    /** @returns a function that sets the registry back to now, audit included */
    remember: server.save,
    async audit(): Promise<AuditRecord[]> {
      const lines = await (stores[0] as Store).registry.readAudit(100);
      return lines.map(({ text }) => JSON.parse(text) as AuditRecord);
    },
  };
}

const valuesOf = async (store: Store | undefined) =>
  Object.fromEntries(
    [...((await store?.registry.load())?.records ?? [])]
      .filter(([id]) => id !== 'meta/mended')
      .map(([id, { value }]) => [id, value]),
  );

describe('a registry whose version went back', () => {
  it('is mended by a replica that knew more: changes, new records and deletions, with a word and an audit', async () => {
    const { replicas, stores, remember, audit } = await openFleet(2);
    const [one, two] = replicas;
    await one?.registry.commit(set({ 'key/a': 'valid', 'key/b': 'valid', 'team/x': '1' }));
    const setBack = remember();
    await one?.registry.commit(set({ 'key/a': 'revoked', vault: 'new token' }));
    await one?.registry.commit(set({ 'team/x': null }));
    await one?.registry.refresh();
    setBack();
    expect(await valuesOf(stores[0])).toEqual({ 'key/a': 'valid', 'key/b': 'valid', 'team/x': '1' });

    await one?.registry.refresh();
    const whole = { 'key/a': 'revoked', 'key/b': 'valid', vault: 'new token' };
    expect(await valuesOf(stores[0])).toEqual(whole);
    expect(one?.registry.get('key/a')?.value).toBe('revoked');
    // The other had not heard of the changes, and does now.
    await two?.registry.refresh();
    expect(two?.registry.get('key/a')?.value).toBe('revoked');
    expect(two?.registry.get('vault')?.value).toBe('new token');
    expect(two?.registry.get('team/x')).toBeUndefined();

    const after = { records: ['key/a', 'vault', 'team/x'], knownVersion: 3, foundVersion: 1 };
    expect(await audit()).toMatchObject([{ action: 'registry.mend', actor: 'gateway', after }]);
    expect(one?.log.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { ...after, msg: expect.stringContaining('restored from memory') },
    ]);
    expect(two?.log.messages('error')).toEqual([]);
  });

  it('is mended once by many, who never see the revocation undone', async () => {
    const { replicas, stores, remember, audit } = await openFleet(5);
    await replicas[0]?.registry.commit(set({ 'key/a': 'valid' }));
    const setBack = remember();
    await replicas[0]?.registry.commit(set({ 'key/a': 'revoked' }));
    await Promise.all(replicas.map(({ registry }) => registry.refresh()));
    const seen: (string | undefined)[] = [];
    for (const { registry } of replicas) {
      registry.onChange('key/', () => seen.push(registry.get('key/a')?.value));
    }
    setBack();
    await Promise.all(replicas.map(({ registry }) => registry.refresh()));
    expect(new Set(seen)).toEqual(new Set(['revoked']));
    expect(await valuesOf(stores[0])).toEqual({ 'key/a': 'revoked' });
    expect(await audit()).toHaveLength(1);
  });

  it('ends up with the newest that any replica knew, whoever comes first', async () => {
    const { replicas, stores, remember } = await openFleet(2);
    const [behind, ahead] = replicas;
    await ahead?.registry.commit(set({ vault: 'first' }));
    const setBack = remember();
    await ahead?.registry.commit(set({ vault: 'second' }));
    await behind?.registry.refresh();
    await ahead?.registry.commit(set({ vault: 'third' }));
    setBack();
    await behind?.registry.refresh();
    expect(await valuesOf(stores[0])).toEqual({ vault: 'second' });
    await ahead?.registry.refresh();
    expect(await valuesOf(stores[0])).toEqual({ vault: 'third' });
    await behind?.registry.refresh();
    expect(behind?.registry.get('vault')?.value).toBe('third');
  });

  it('that others have written to since keeps what they wrote', async () => {
    const { replicas, stores, remember } = await openFleet(1);
    const [one] = replicas;
    await one?.registry.commit(set({ 'key/a': 'valid' }));
    const setBack = remember();
    await one?.registry.commit(set({ 'key/a': 'revoked' }));
    setBack();
    // A gateway that starts now knows nothing of the revocation, and writes past the version that was lost.
    const fresh = await openReplica(stores[0] as Store);
    await fresh.registry.commit(set({ 'team/y': 'new' }));
    await fresh.registry.commit(set({ 'team/z': 'new' }));
    await one?.registry.refresh();
    expect(await valuesOf(stores[0])).toEqual({ 'key/a': 'valid', 'team/y': 'new', 'team/z': 'new' });
  });
});
