/** Days that are written together, as stored in Redis. */
import { expect, it, onTestFinished } from 'vitest';
import { unpackDays } from '../../../src/store/history-content.js';
import type { HistoryContent } from '../../../src/store/history-port.js';
import { openStore, serverOfFile, withControl } from './open-store.js';

const server = serverOfFile();
const DAYS = Array.from({ length: 9 }, (_, at) => `2026-03-0${at + 1}`);
const MONTH = 'dgw:1:history:{s}:2026-03';
const PACK = 'p:n';

async function openFilled() {
  const { store } = await openStore(server.url, { timeoutMs: 10_000 });
  onTestFinished(() => store.close());
  const { history } = store;
  const contents = DAYS.map((day): HistoryContent => {
    const rows = [1, 2, 3, 4, 5].map((id) => JSON.stringify({ date: day, id, impressions: 12_345 + id }));
    return { version: 1, header: Buffer.from(day), body: Buffer.from(rows.join()), facts: Buffer.from('{}') };
  });
  const writes = contents.map((one, at) => ({
    ...{ day: DAYS[at] as string, stamp: 0, heads: Buffer.from('heads'), removed: [] },
    added: new Map([['n', one]]),
  }));
  expect(await history.write('s', writes)).toEqual(DAYS.map(() => true));
  return { history, contents };
}

it('days that are written together are one field, smaller than their contents', async () => {
  const { contents } = await openFilled();
  await withControl(server.url, async (control) => {
    expect((await control.hkeys(MONTH)).sort()).toEqual([...DAYS.map((day) => day.slice(8)), PACK].sort());
    const plain = contents.reduce((sum, { body }) => sum + body.length, 0);
    expect(await control.hstrlen(MONTH, PACK)).toBeLessThan(plain / 4);
  });
});

it('a removed day leaves the pack, and the last one deletes it', async () => {
  const { history, contents } = await openFilled();
  const [first, ...others] = DAYS as [string, ...string[]];
  const removalsOf = async (days: readonly string[]) =>
    (await history.heads('s', days)).map((one, at) => ({
      ...{ day: days[at] as string, stamp: one?.stamp ?? 0, heads: Buffer.from('none') },
      ...{ added: new Map(), removed: ['n'] },
    }));
  // Days by different writers at once: each finds the pack that the other has written.
  const [one, two] = [await removalsOf([first]), await removalsOf([DAYS[4] as string])];
  expect(await Promise.all([history.write('s', one), history.write('s', two)])).toEqual([[true], [true]]);
  await withControl(server.url, async (control) => {
    const left = unpackDays(await control.hgetBuffer(MONTH, PACK));
    expect([...left.keys()]).toEqual(['02', '03', '04', '06', '07', '08', '09']);
    expect(left.get('09')).toEqual(contents[8]);
    await history.write('s', await removalsOf(others));
    expect(await control.hexists(MONTH, PACK)).toBe(0);
  });
});

it('days of a damaged pack are absent', async () => {
  const { history } = await openFilled();
  await withControl(server.url, async (control) => {
    const packed = (await control.hgetBuffer(MONTH, PACK)) as Buffer;
    for (const damaged of [Buffer.from('x'), packed.subarray(0, 100), packed.subarray(1)]) {
      await control.hset(MONTH, PACK, damaged);
      const wanted = DAYS.map((day) => ({ day, name: 'n' }));
      expect(await history.contents('s', wanted)).toEqual(DAYS.map(() => null));
    }
  });
});
