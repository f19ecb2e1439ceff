import { describe, expect, it } from 'vitest';
import { type Store, StoreUnavailable } from '../../../src/store/port.js';
import { openInMemory, openReplica, withoutBus } from '../../support/shared-registry.js';
import { createStandingClock } from '../../support/test-clock.js';
import { waitFor } from '../../support/wait-for.js';

const set = (id: string, value: string | null) => ({ writes: new Map([[id, value]]) });

/** A store whose changes are held back, as a slow network does, after they were read. */
function holding(store: Store): { store: Store; next(): Promise<() => void> } {
  const held: (() => void)[] = [];
  const { registry } = store;
  return {
    store: {
      ...store,
      registry: {
        ...registry,
        async changes(epoch, version) {
          const made = await registry.changes(epoch, version);
          await new Promise<void>((resolve) => held.push(resolve));
          return made;
        },
      },
    },
    async next() {
      await waitFor('a look that is held', () => held.length > 0);
      return held.shift() as () => void;
    },
  };
}

describe('two replicas of one store', () => {
  it('see what the other commits, by a message', async () => {
    const store = await openInMemory();
    const [one, two] = [await openReplica(store), await openReplica(store)];
    await one.registry.commit(set('team/a', 'first'));
    await expect.poll(() => two.registry.get('team/a')?.value).toBe('first');
    await two.registry.commit(set('team/a', null));
    await expect.poll(() => one.registry.get('team/a')).toBeUndefined();
  });

  it('find it by polling when the message is lost', async () => {
    const store = withoutBus(await openInMemory());
    const one = await openReplica(store);
    const two = await openReplica(store, { pollMs: 20 });
    await one.registry.commit(set('team/a', 'first'));
    await expect.poll(() => two.registry.get('team/a')?.value).toBe('first');
  });

  it('agree after many commits at once, of which each sees its own at once', async () => {
    const store = await openInMemory();
    const replicas = [await openReplica(store), await openReplica(store)];
    await Promise.all(
      replicas.map(async ({ registry }, index) => {
        for (let count = 1; count <= 50; count++) {
          const value = count % 5 === 0 ? null : String(count);
          const writes = { [`own/${index}`]: value, shared: `${index}-${count}` };
          await registry.commit({ writes: new Map(Object.entries(writes)) });
          expect(registry.get(`own/${index}`)?.value).toBe(value ?? undefined);
        }
      }),
    );
    await Promise.all(replicas.map(({ registry }) => registry.refresh()));
    const { records } = await store.registry.load();
    for (const { registry } of replicas) expect(new Map(registry.list(''))).toEqual(records);
  });

  it('start with what is there', async () => {
    const store = await openInMemory();
    const one = await openReplica(store);
    await one.registry.commit({
      writes: new Map([
        ['team/a', '1'],
        ['team/b', '2'],
        ['key/a', '3'],
      ]),
    });
    const two = await openReplica(store);
    expect(two.registry.list('team/').toSorted()).toEqual([
      ['team/a', { value: '1', revision: 1 }],
      ['team/b', { value: '2', revision: 1 }],
    ]);
    expect(two.registry.list('team/a')).toHaveLength(1);
    expect(two.registry.list('other')).toEqual([]);
  });
});

describe('an own commit', () => {
  it('is visible when it resolves, without any look or message', async () => {
    const { registry } = await openReplica(withoutBus(await openInMemory()));
    await registry.commit(set('team/a', 'mine'));
    expect(registry.get('team/a')).toEqual({ value: 'mine', revision: 1 });
    await registry.commit(set('team/a', null));
    expect(registry.get('team/a')).toBeUndefined();
  });

  it('is made even if it cannot be announced', async () => {
    const embedded = await openInMemory();
    const mute: Store = {
      ...embedded,
      bus: { ...embedded.bus, publish: () => Promise.reject(new StoreUnavailable('no bus')) },
    };
    const { registry, log } = await openReplica(mute);
    await registry.commit(set('team/a', 'mine'));
    expect(registry.get('team/a')?.value).toBe('mine');
    expect(log.messages('warn')).toEqual([
      'failed to announce a registry change; replicas find it by polling',
    ]);
  });
});

it('a replica that finds no registry asks the others for it once, at its first look', async () => {
  const { registry, ...store } = await openInMemory();
  let looks = 0;
  const load: typeof registry.load = (how) => {
    looks += 1;
    return registry.load(looks < 3 ? how : undefined);
  };
  const asked: number[] = [];
  store.bus.subscribe('registry', () => void asked.push(looks));
  await openReplica({ ...store, registry: { ...registry, load } }, { graceMs: 5000 });
  expect([asked, looks]).toEqual([[1], 3]);
});

describe('a look', () => {
  it('loads everything when the store cannot tell what changed', async () => {
    const embedded = withoutBus(await openInMemory());
    const other = await openReplica(embedded);
    await other.registry.commit({
      writes: new Map([
        ['team/a', '1'],
        ['team/b', '1'],
      ]),
    });
    let loads = 0;
    const forgetful: Store = {
      ...embedded,
      registry: {
        ...embedded.registry,
        changes: async () => null,
        load: () => {
          loads += 1;
          return embedded.registry.load();
        },
      },
    };
    const { registry } = await openReplica(forgetful);
    const heard: string[] = [];
    registry.onChange('team/', () => heard.push('team'));
    await other.registry.commit({
      writes: new Map([
        ['team/a', null],
        ['team/c', '1'],
      ]),
    });
    await registry.refresh();
    expect(
      registry
        .list('')
        .map(([id]) => id)
        .toSorted(),
    ).toEqual(['team/b', 'team/c']);
    expect(loads).toBe(2);
    expect(heard).toEqual(['team']);
  });

  it('comes no more after the replica was stopped', async () => {
    const embedded = await openInMemory();
    let looks = 0;
    const counting: Store = {
      ...embedded,
      registry: {
        ...embedded.registry,
        changes: (...args) => {
          looks += 1;
          return embedded.registry.changes(...args);
        },
      },
    };
    const { registry } = await openReplica(counting, { pollMs: 5 });
    await waitFor('three looks', () => looks > 2);
    registry.stop();
    await registry.refresh();
    const before = looks;
    await embedded.bus.publish('registry', 'x');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(looks).toBe(before);
  });
});

describe('a failing store', () => {
  function breakable(store: Store) {
    const state = { broken: false, looks: 0 };
    const guard = async <T>(call: () => Promise<T>): Promise<T> => {
      state.looks += 1;
      if (state.broken) throw new StoreUnavailable('away');
      return call();
    };
    const { registry } = store;
    const broken: Store = {
      ...store,
      registry: {
        ...registry,
        load: () => guard(registry.load),
        changes: (epoch, version) => guard(() => registry.changes(epoch, version)),
        commit: (change) => guard(() => registry.commit(change)),
      },
    };
    return { state, store: broken };
  }

  it('keeps the copy; it says how old that is, warns once, and says when it is over', async () => {
    const embedded = withoutBus(await openInMemory());
    const { state, store } = breakable(embedded);
    const clock = createStandingClock();
    const { registry, log } = await openReplica(store, { clock, pollMs: 5 });
    await registry.commit(set('team/a', 'kept'));
    state.broken = true;
    const { looks } = state;
    await waitFor('four looks', () => state.looks > looks + 3);
    clock.pass(60_000);
    await waitFor('seven looks', () => state.looks > looks + 6);
    expect(registry.get('team/a')?.value).toBe('kept');
    expect(registry.staleForMs()).toBe(60_000);
    await expect(registry.refresh()).rejects.toThrow(StoreUnavailable);
    await expect(registry.commit(set('team/a', 'x'))).rejects.toThrow(StoreUnavailable);
    expect(registry.get('team/a')?.value).toBe('kept');
    state.broken = false;
    await expect.poll(() => registry.staleForMs()).toBe(0);
    expect(log.messages('warn')).toEqual([
      'cannot refresh the registry; continuing with the last known state',
    ]);
    await waitFor('a line in the log', () => log.messages('info').length > 0);
    expect(log.messages('info')).toEqual(['the registry is in step with the store again']);
  });

  it('counts the age from when the last good look began, not from when it was answered', async () => {
    const slow = holding(withoutBus(await openInMemory()));
    const clock = createStandingClock();
    const { registry } = await openReplica(slow.store, { clock });
    clock.pass(500);
    expect(registry.staleForMs()).toBe(500);
    const looking = registry.refresh();
    const release = await slow.next();
    clock.pass(400);
    release();
    await looking;
    expect(registry.staleForMs()).toBe(400);
  });
});

describe('listeners', () => {
  it('are called for their prefix, once for a commit, for own and foreign ones', async () => {
    const store = withoutBus(await openInMemory());
    const [one, two] = [await openReplica(store), await openReplica(store)];
    const heard: string[] = [];
    for (const prefix of ['team/', 'key/', 'vault', ''])
      two.registry.onChange(prefix, () => heard.push(prefix));
    await two.registry.commit({
      writes: new Map([
        ['team/a', '1'],
        ['team/b', '1'],
      ]),
    });
    expect(heard.splice(0)).toEqual(['team/', '']);
    await one.registry.commit({
      writes: new Map([
        ['key/a', '1'],
        ['vault', '1'],
      ]),
    });
    await two.registry.refresh();
    expect(heard.splice(0)).toEqual(['key/', 'vault', '']);
    await two.registry.refresh();
    expect(heard).toEqual([]);
  });

  it('that throw keep nobody else from hearing it, nor the commit from being made', async () => {
    const { registry, log } = await openReplica(withoutBus(await openInMemory()));
    const heard: string[] = [];
    registry.onChange('team/', () => {
      throw new Error('a damaged record');
    });
    registry.onChange('team/', () => heard.push('second'));
    await registry.commit(set('team/a', '1'));
    expect(heard).toEqual(['second']);
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { prefix: 'team/', err: { message: 'a damaged record' } },
    ]);
  });
});

it('a start waits for a store that goes away before the registry is loaded, and says so once', async () => {
  const store = await openInMemory();
  let failures = 3;
  const load: Store['registry']['load'] = async (ifEmpty) => {
    if (failures-- > 0) throw new StoreUnavailable('gone');
    return store.registry.load(ifEmpty);
  };
  const { registry, log } = await openReplica({ ...store, registry: { ...store.registry, load } });
  await registry.commit(set('team/x', '{}'));
  expect(registry.get('team/x')?.value).toBe('{}');
  expect(log.messages('error')).toEqual(['the store became unreachable during the start; waiting for it']);
});
