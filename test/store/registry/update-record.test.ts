import { describe, expect, it } from 'vitest';
import { RegistryConflict } from '../../../src/store/port.js';
import { updateRecord } from '../../../src/store/registry/record-book.js';
import type { Registry } from '../../../src/store/registry/replica.js';
import { openInMemory, openReplica, withoutBus } from '../../support/shared-registry.js';

const ID = 'counter';
const textOf = (registry: Registry, id = ID) => registry.get(id)?.value;
const add = (registry: Registry) =>
  updateRecord(registry, ID, (text) => ({ text: String(Number(text ?? 0) + 1) }));

async function open() {
  const store = await openInMemory();
  return { store, registry: (await openReplica(withoutBus(store))).registry };
}

describe('updateRecord', () => {
  it('writes other records and the audit with it, or none of them', async () => {
    const { registry, store } = await open();
    await registry.commit({ writes: new Map([['old', '1']]) });
    await updateRecord(registry, ID, () => ({
      text: 'new',
      also: [
        ['old', null],
        ['beside', '2'],
      ],
      audit: ['who did it'],
    }));
    expect([textOf(registry), textOf(registry, 'old'), textOf(registry, 'beside')]).toEqual([
      'new',
      undefined,
      '2',
    ]);
    expect((await store.registry.readAudit(5)).map(({ text }) => text)).toEqual(['who did it']);
  });

  it('takes turns within a process, so that however many at once do not conflict, and none waits for one that failed', async () => {
    const { registry } = await open();
    let commits = 0;
    const counted: Registry = {
      ...registry,
      commit: (change) => {
        commits += 1;
        return registry.commit(change);
      },
    };
    const failing = updateRecord(counted, ID, () => {
      throw new Error('this one fails');
    });
    const others = Array.from({ length: 50 }, () => add(counted));
    await expect(failing).rejects.toThrow('this one fails');
    await Promise.all(others);
    expect([textOf(registry), commits]).toEqual(['50', 50]);
  });

  it('loses no change that replicas make at once', async () => {
    const store = await openInMemory();
    const replicas = await Promise.all([1, 2, 3].map(() => openReplica(withoutBus(store))));
    for (let round = 0; round < 5; round++) {
      await Promise.all(replicas.map(({ registry }) => add(registry)));
    }
    for (const { registry } of replicas) {
      await registry.refresh();
      expect(textOf(registry)).toBe('15');
    }
  });

  it('decides anew by what another replica wrote', async () => {
    const store = await openInMemory();
    const [one, two] = await Promise.all([openReplica(withoutBus(store)), openReplica(withoutBus(store))]);
    await updateRecord(one.registry, ID, () => ({ text: 'closed' }));
    const seen: (string | null)[] = [];
    await updateRecord(two.registry, ID, (text) => {
      seen.push(text);
      return text === 'closed' ? null : { text: 'open' };
    });
    expect(seen).toEqual([null, 'closed']);
    await one.registry.refresh();
    expect(textOf(one.registry)).toBe('closed');
  });

  it('gives up after ten tries, and has changed nothing then', async () => {
    const store = await openInMemory();
    const [one, two] = await Promise.all([openReplica(withoutBus(store)), openReplica(withoutBus(store))]);
    let tries = 0;
    const overtaken: Registry = {
      ...one.registry,
      async commit(change) {
        tries += 1;
        await two.registry.commit({ writes: new Map([[ID, `theirs ${tries}`]]) });
        await one.registry.commit(change);
      },
    };
    await expect(updateRecord(overtaken, ID, () => ({ text: 'ours' }))).rejects.toThrow(RegistryConflict);
    expect(tries).toBe(10);
    expect((await store.registry.load()).records.get(ID)?.value).toBe('theirs 10');
  });

  it('passes on what the step throws, and what is no conflict, at once', async () => {
    const { registry } = await open();
    const refuse = () => {
      throw new RangeError('not so');
    };
    await expect(updateRecord(registry, ID, refuse)).rejects.toThrow('not so');
    let tries = 0;
    const away: Registry = {
      ...registry,
      commit: async () => {
        tries += 1;
        throw new Error('the store is away');
      },
    };
    await expect(add(away)).rejects.toThrow('the store is away');
    expect(tries).toBe(1);
  });
});
