/** Pins as stored in Redis: damage, values in the place of others, and room. */
import { expect, it, onTestFinished } from 'vitest';
import { writePins } from '../conformance-pins.js';
import { openStore, serverOfFile, startServer, withControl } from './open-store.js';

const server = serverOfFile();
const HASH = 'dgw:1:pinned:{t:0}';
const added = new Map([
  ['a', Buffer.from('rows of a')],
  ['b', Buffer.from('rows of b')],
]);

async function openFilled(url = server.url) {
  const { store } = await openStore(url);
  onTestFinished(() => store.close());
  await writePins(store.pins, 't:0', { index: Buffer.from('the index'), added });
  return store.pins;
}

it('is damaged, never other bytes, whichever bit of an index or body has flipped', async () => {
  const pins = await openFilled();
  await withControl(server.url, async (control) => {
    for (const [field, place] of [
      ['i', 'index'],
      ['b:a', 'body'],
    ] as const) {
      const value = (await control.hgetBuffer(HASH, field)) as Buffer;
      for (let bit = 0; bit < value.length * 8; bit += 1) {
        const changed = Buffer.from(value);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        await control.hset(HASH, field, changed);
        const { index, bodies } = await pins.read('t:0', ['a', 'b']);
        expect(place === 'index' ? index : bodies[0]).toBe('damaged');
        expect(bodies[1]?.toString()).toBe('rows of b');
      }
      for (const short of [value.subarray(0, 3), value.subarray(0, -1), Buffer.alloc(0)]) {
        await control.hset(HASH, field, short);
        const { index, bodies } = await pins.read('t:0', ['a']);
        expect(place === 'index' ? index : bodies[0]).toBe('damaged');
      }
      await control.hset(HASH, field, value);
    }
  });
  expect((await pins.read('t:0', ['a'])).bodies[0]?.toString()).toBe('rows of a');
});

it('is damaged where its bytes are those of another pin or of another owner', async () => {
  const pins = await openFilled();
  await withControl(server.url, async (control) => {
    await control.hset(HASH, 'b:b', (await control.hgetBuffer(HASH, 'b:a')) as Buffer);
    expect((await pins.read('t:0', ['a', 'b'])).bodies).toEqual([Buffer.from('rows of a'), 'damaged']);
    await control.rename(HASH, 'dgw:1:pinned:{t:1}');
  });
  expect(await pins.read('t:1', ['a'])).toMatchObject({ index: 'damaged', bodies: ['damaged'] });
});

it('never expires, and lies in one hash for each owner', async () => {
  await openFilled();
  await withControl(server.url, async (control) => {
    expect((await control.keys('dgw:1:pinned*')).sort()).toEqual(['dgw:1:pinned', HASH]);
    expect([await control.pttl(HASH), await control.pttl('dgw:1:pinned')]).toEqual([-1, -1]);
    expect((await control.hkeys(HASH)).sort()).toEqual(['b:a', 'b:b', 'i']);
  });
});

it('leaves the registry its room, and can be deleted in a Redis without room for more', async () => {
  const full = await startServer('--maxmemory', '24mb', '--maxmemory-policy', 'noeviction');
  const pins = await openFilled(full.url);
  const fill = async () => {
    for (let at = 0; at < 100; at += 1)
      await writePins(pins, 'u:0', { added: new Map([[`p${at}`, Buffer.alloc(1_048_576, at)]]) });
  };
  await expect(fill()).rejects.toMatchObject({
    why: 'no-room',
    message: expect.stringContaining('for pins'),
  });
  expect(await writePins(pins, 't:0', { removed: ['a'] })).toBe(true);
  expect((await pins.read('t:0', ['a', 'b'])).bodies).toEqual([null, added.get('b')]);
});
