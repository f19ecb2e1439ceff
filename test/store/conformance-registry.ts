import { describe, expect, it } from 'vitest';
import { type RegistryCommit, RegistryConflict, type RegistryStore } from '../../src/store/port.js';
import { type OpenHarness, withStore } from './harness.js';

/** A commit in short: `{ a: 'text', b: null }`. */
export function change(
  writes: Record<string, string | null>,
  expected?: Record<string, number>,
  audit?: readonly string[],
): RegistryCommit {
  return {
    writes: new Map(Object.entries(writes)),
    ...(expected === undefined ? {} : { expect: new Map(Object.entries(expected)) }),
    ...(audit === undefined ? {} : { audit }),
  };
}

async function recordsOf(
  registry: RegistryStore,
): Promise<Record<string, [value: string, revision: number]>> {
  const { records } = await registry.load();
  return Object.fromEntries([...records].map(([id, { value, revision }]) => [id, [value, revision]]));
}

export function describeRegistry(open: OpenHarness): void {
  describe('registry', () => {
    it('begins empty, at version 0, with an epoch that stays', () =>
      withStore(open, async ({ store: { registry }, another }) => {
        const first = await registry.load();
        expect(first.version).toBe(0);
        expect(first.records.size).toBe(0);
        expect(first.epoch).not.toBe('');
        await registry.commit(change({ a: '1' }));
        expect((await registry.load()).epoch).toBe(first.epoch);
        expect((await (await another()).registry.load()).epoch).toBe(first.epoch);
      }));

    it('keeps its epoch when the first commit comes before the first load', () =>
      withStore(open, async ({ store: { registry } }) => {
        await registry.commit(change({ a: '1' }));
        const { epoch } = await registry.load();
        await registry.commit(change({ a: '2' }));
        expect((await registry.load()).epoch).toBe(epoch);
      }));

    it('keeps any text and any id', () =>
      withStore(open, async ({ store: { registry } }) => {
        const texts: Record<string, string> = {
          '': 'no name',
          'é✓💥': '\u0000\r\n"\\{}',
          empty: '',
          '1': '1e999',
        };
        await registry.commit(change(texts));
        const { records } = await registry.load();
        expect(Object.fromEntries([...records].map(([id, { value }]) => [id, value]))).toEqual(texts);
      }));

    it('heeds what is expected of records that are not written', () =>
      withStore(open, async ({ store: { registry } }) => {
        await registry.commit(change({ guard: '1' }));
        await expect(registry.commit(change({ a: '1' }, { guard: 7 }))).rejects.toMatchObject({
          id: 'guard',
        });
        await registry.commit(change({ a: '1' }, { guard: 1, none: 0 }));
        expect(await recordsOf(registry)).toEqual({ guard: ['1', 1], a: ['1', 2] });
      }));

    it('lets one of many who change the same record at once do so', () =>
      withStore(open, async ({ store, another }) => {
        const registries = [store.registry, (await another()).registry];
        await store.registry.commit(change({ a: '0' }));
        const outcomes = await Promise.allSettled(
          Array.from({ length: 20 }, (_, at) =>
            registries[at % 2]?.commit(change({ a: `by ${at}` }, { a: 1 })),
          ),
        );
        const won = outcomes.flatMap(({ status }, at) => (status === 'fulfilled' ? [at] : []));
        expect(won).toHaveLength(1);
        const reasons = outcomes.flatMap((outcome) =>
          outcome.status === 'rejected' ? [outcome.reason] : [],
        );
        expect(reasons.every((reason) => reason instanceof RegistryConflict)).toBe(true);
        expect(await recordsOf(store.registry)).toEqual({ a: [`by ${won[0]}`, 2] });
      }));

    it('gives every one of many commits at once a version of its own', () =>
      withStore(open, async ({ store, another }) => {
        const registries = [store.registry, (await another()).registry];
        const commits = Array.from({ length: 50 }, (_, at) =>
          registries[at % 2]?.commit(change({ [`r${at}`]: `${at}` }, undefined, [`line ${at}`])),
        );
        const versions = (await Promise.all(commits)).map((done) => done?.version);
        expect([...versions].sort((one, other) => (one ?? 0) - (other ?? 0))).toEqual(
          versions.map((_, at) => at + 1),
        );
        const records = await recordsOf(store.registry);
        expect(versions.map((version, at) => [`${at}`, version])).toEqual(
          versions.map((_, at) => records[`r${at}`]),
        );
        expect(await store.registry.readAudit(100)).toHaveLength(50);
      }));
  });

  describe('registry changes', () => {
    it('cannot tell of another epoch, or of a version not yet reached', () =>
      withStore(open, async ({ store: { registry } }) => {
        const { epoch } = await registry.load();
        await registry.commit(change({ a: '1' }));
        expect(await registry.changes('another', 0)).toBeNull();
        expect(await registry.changes(epoch, 2)).toBeNull();
        expect(await registry.changes(epoch, 0)).not.toBeNull();
      }));
  });
}
