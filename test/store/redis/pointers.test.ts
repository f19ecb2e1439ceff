/** Days whose bytes history has on the same server: the cache points at them. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { HistoryContent } from '../../../src/store/history-port.js';
import type { CachePlace, CacheWrite } from '../../../src/store/port.js';
import type { RedisStore, RedisStoreOptions } from '../../../src/store/redis/redis-store.js';
import { commandsDuring } from '../../support/redis-monitor.js';
import { MINUTE } from '../../support/test-clock.js';
import { openStore, serverOfFile, withControl } from './open-store.js';

const HASH = 'dgw:4:cache:{c5:s}:2026-03';
const MONTH = 'dgw:1:history:{s}:2026-03';
const NAME = 'mwy0angl';
const NOTHING = Buffer.alloc(0);
const SMALL = Array.from({ length: 9 }, (_, at) => `2026-03-0${at + 1}`);
/** Stored by itself. */
const LARGE = '2026-03-10';
const DAYS = [...SMALL, LARGE];

const server = serverOfFile();

async function open(options: Partial<RedisStoreOptions> = {}): Promise<RedisStore> {
  const { store } = await openStore(server.url, { timeoutMs: 10_000, ...options });
  onTestFinished(() => store.close());
  return store;
}

const place = (day: string): CachePlace => ({
  ...{ series: 'c5:s', group: day.slice(0, 7), field: day.slice(8), history: 's' },
});
const contentOf = (day: string): HistoryContent => ({
  ...{ version: 5, header: Buffer.from(`header ${day}`), facts: Buffer.from('{"columns":[]}') },
  body: day === LARGE ? Buffer.alloc(9000, 'x') : Buffer.from(`rows of ${day}`),
});
const pointer = (day: string, changes: Partial<CacheWrite> = {}): CacheWrite => ({
  ...{ ...place(day), version: 5, ttlMs: MINUTE, pointer: NAME },
  ...{ header: NOTHING, body: NOTHING, facts: NOTHING },
  ...changes,
});
const own = (day: string, version: number): CacheWrite => ({
  ...{ ...place(day), ...contentOf(day), version, ttlMs: MINUTE, body: Buffer.from('own') },
});
const bodyIn = async (store: RedisStore, day = '2026-03-01') =>
  (await store.cache.read([place(day)]))[0]?.body.toString() ?? null;

async function openPointed() {
  const store = await open();
  const writes = DAYS.map((day) => ({
    ...{ day, stamp: 0, heads: Buffer.from('heads'), removed: [] },
    added: new Map([[NAME, contentOf(day)]]),
  }));
  expect(await store.history.write('s', writes)).toEqual(DAYS.map(() => true));
  await store.cache.write(DAYS.map((day) => pointer(day)));
  return store;
}

describe('days that history has on the same server', () => {
  it('are stamps in a compact hash, and are read with their bytes in one round trip, by anybody', async () => {
    await openPointed();
    await withControl(server.url, async (control) => {
      expect((await control.hkeys(HASH)).sort()).toEqual(DAYS.map((day) => `h:${day.slice(8)}`));
      expect(await control.hstrlen(HASH, 'h:01')).toBe(14 + NAME.length);
      expect(await control.call('OBJECT', 'ENCODING', HASH)).toMatch(/^(listpack|ziplist)$/);
    });
    const reader = await open();
    const commands = await commandsDuring(server.url, async () => {
      const found = await reader.cache.read(DAYS.map(place));
      expect(found).toEqual(
        DAYS.map((day) => expect.objectContaining({ ...contentOf(day), isHistory: true })),
      );
    });
    const sent = commands.filter(({ source, args }) => source !== 'lua' && args[0] !== 'info');
    expect(sent.map(({ args }) => [args[0], args[3], args[4]])).toEqual([['eval', HASH, MONTH]]);
  });

  it('stay until a newer entry is written, pointer or not', async () => {
    const store = await openPointed();
    await store.cache.write([own('2026-03-01', 4), pointer('2026-03-02', { version: 4, pointer: 'older' })]);
    expect([await bodyIn(store), await bodyIn(store, '2026-03-02')]).toEqual([
      'rows of 2026-03-01',
      'rows of 2026-03-02',
    ]);
    await store.cache.write([own('2026-03-01', 6)]);
    expect(await bodyIn(store)).toBe('own');
    await store.cache.write([pointer('2026-03-01', { version: 7 })]);
    // Of another version than history has under this name.
    expect(await bodyIn(store)).toBeNull();
  });

  it('end by their own time, and are removed without the bytes', async () => {
    const store = await openPointed();
    await store.cache.write([pointer('2026-03-01', { version: 6, ttlMs: 0 })]);
    await store.cache.remove([place('2026-03-02')]);
    expect([await bodyIn(store), await bodyIn(store, '2026-03-02')]).toEqual([null, null]);
    const contents = await store.history.contents('s', [{ day: '2026-03-01', name: NAME }]);
    expect(contents).toEqual([contentOf('2026-03-01')]);
  });

  it.each(DAYS.slice(-2))(
    'are absent once history has lost %s, and an older entry replaces them',
    async (day) => {
      const store = await openPointed();
      expect(store.cache.mayPoint?.(place(day), 1000)).toBe(true);
      await store.history.remove({ series: 's', month: '2026-03' });
      expect(await bodyIn(store, day)).toBeNull();
      // A sweep could remove it again: this month is kept by the cache itself from now on.
      expect(store.cache.mayPoint?.(place(day), 1000)).toBe(false);
      expect(store.cache.mayPoint?.({ ...place(day), group: '2026-04' }, 1000)).toBe(true);
      await store.cache.write([own(day, 4)]);
      expect(await bodyIn(store, day)).toBe('own');
    },
  );

  it('are absent if their content was removed from the others in one field, or is damaged', async () => {
    const store = await openPointed();
    const [heads] = await store.history.heads('s', ['2026-03-01']);
    await store.history.write('s', [
      {
        ...{ day: '2026-03-01', stamp: heads?.stamp ?? 0, heads: Buffer.from('none') },
        ...{ added: new Map(), removed: [NAME] },
      },
    ]);
    expect([await bodyIn(store), await bodyIn(store, '2026-03-02')]).toEqual([null, 'rows of 2026-03-02']);
    await withControl(server.url, (control) => control.hset(MONTH, `p:${NAME}`, randomBytes(100)));
    expect(await bodyIn(store, '2026-03-02')).toBeNull();
  });

  it('are pointed at only where the cache may read history, and where their bodies are not too large', async () => {
    const store = await open();
    const small = { ...place('2026-03-01') };
    expect(store.cache.mayPoint?.(small, 256 * 1024)).toBe(true);
    expect(store.cache.mayPoint?.(small, 256 * 1024 + 1)).toBe(false);
    expect(store.cache.mayPoint?.({ ...small, history: undefined }, 1)).toBe(false);
    const apart = await open({ registryConnection: { url: server.url } });
    expect(apart.cache.mayPoint?.(small, 1)).toBe(false);
    await apart.reconnect({ url: server.url });
    expect(apart.cache.mayPoint?.(small, 1)).toBe(true);
    await apart.reconnect({ url: server.url }, { url: server.url });
    expect(apart.cache.mayPoint?.(small, 1)).toBe(false);
  });

  it('are absent for a reader with another server of history, without an error', async () => {
    await openPointed();
    const apart = await open({ registryConnection: { url: server.url } });
    expect(await apart.cache.read(DAYS.map(place))).toEqual(DAYS.map(() => null));
  });
});
