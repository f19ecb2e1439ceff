/** Days that are written together, as stored in Redis. */
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { decodeHeads, decodeStored } from '../../../src/reports/history/revision.js';
import { unpackDays } from '../../../src/store/history-content.js';
import type { HistoryContent, HistoryStore } from '../../../src/store/history-port.js';
import { packHeads, unpackHeads } from '../../../src/store/redis/day-heads.js';
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
    expect((await control.hkeys(MONTH)).sort()).toEqual(['h', PACK]);
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

describe('heads of days', () => {
  const ofDay = (day: string) => Buffer.concat([Buffer.alloc(70, 'alike'), Buffer.from(day)]);
  const fieldOf = (day: string) => day.slice(8);

  async function open() {
    const { store } = await openStore(server.url, { timeoutMs: 10_000 });
    onTestFinished(() => store.close());
    return store.history;
  }

  async function change(history: HistoryStore, days: readonly string[], heads: (day: string) => Buffer) {
    const found = await history.heads('s', days);
    const writes = days.map((day, at) => ({
      ...{ day, stamp: found[at]?.stamp ?? 0, heads: heads(day) },
      ...{ added: new Map<string, HistoryContent>(), removed: [] },
    }));
    return history.write('s', writes);
  }

  const textsOf = async (history: HistoryStore) =>
    (await history.heads('s', DAYS)).map((one) => one?.heads.toString() ?? null);
  const fields = () => withControl(server.url, async (control) => (await control.hkeys(MONTH)).sort());

  it('of days that are alike take little more than those of one', async () => {
    await change(await open(), DAYS, ofDay);
    await withControl(server.url, async (control) => {
      expect(await control.hkeys(MONTH)).toEqual(['h']);
      expect(await control.hstrlen(MONTH, 'h')).toBeLessThan(ofDay('').length + DAYS.length * 10);
    });
  });

  it('are all written by concurrent writers of different days', async () => {
    const writers = await Promise.all(DAYS.map(open));
    const all = DAYS.map((day, at) => change(writers[at] as HistoryStore, [day], ofDay));
    expect(await Promise.all(all)).toEqual(DAYS.map(() => [true]));
    expect(await textsOf(await open())).toEqual(DAYS.map((day) => String(ofDay(day))));
  });

  it('have a field of their own while they are long', async () => {
    const history = await open();
    const [first] = DAYS as [string];
    await change(history, DAYS, ofDay);
    expect(await change(history, [first], () => Buffer.alloc(256, 'x'))).toEqual([true]);
    expect(await fields()).toEqual([fieldOf(first), 'h']);
    expect((await textsOf(history)).map((one) => one?.length)).toEqual(
      DAYS.map((_, at) => (at > 0 ? 80 : 256)),
    );
    await change(history, DAYS, () => Buffer.alloc(256, 'y'));
    expect(await fields()).toEqual(DAYS.map(fieldOf));
    await change(history, DAYS, ofDay);
    expect(await fields()).toEqual(['h']);
    expect(await textsOf(history)).toEqual(DAYS.map((day) => String(ofDay(day))));
  });

  it('of an earlier release are read, and join the others with their next write', async () => {
    const history = await open();
    const [first, ...others] = DAYS as [string, ...string[]];
    await change(history, others, ofDay);
    await withControl(server.url, (control) =>
      control.hset(MONTH, fieldOf(first), Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 7]), ofDay(first)])),
    );
    expect((await history.heads('s', [first]))[0]).toEqual({ stamp: 7, heads: ofDay(first) });
    expect(await change(history, [first], ofDay)).toEqual([true]);
    expect(await fields()).toEqual(['h']);
    expect(await textsOf(history)).toEqual(DAYS.map((day) => String(ofDay(day))));
  });

  it('that an earlier release has begun anew are told with those that it could not read', async () => {
    const history = await open();
    const [first] = DAYS as [string];
    await change(history, DAYS, ofDay);
    const [before] = await history.heads('s', [first]);
    await withControl(server.url, (control) =>
      control.hset(MONTH, fieldOf(first), Buffer.from([0, 0, 0, 0, 0, 7, 65])),
    );
    const late = {
      day: first,
      stamp: before?.stamp ?? 0,
      heads: ofDay('late'),
      added: new Map(),
      removed: [],
    };
    expect(await history.write('s', [late])).toEqual([false]);
    const [found] = await history.heads('s', [first]);
    expect(found).toEqual({ stamp: 7, heads: Buffer.from('A'), beside: ofDay(first) });
    expect(await change(history, [first], () => Buffer.from('both'))).toEqual([true]);
    expect(await fields()).toEqual(['h']);
    expect((await textsOf(history))[0]).toBe('both');
  });

  it('of a later release are unknown, and stay', async () => {
    const history = await open();
    const unknown = Buffer.from([0, 0, 0, 0, 0, 7, 4, 1, 2, 3]);
    await withControl(server.url, (control) => control.hset(MONTH, 'h', unknown));
    const found = await history.heads('s', DAYS);
    expect(found.map((one) => one && decodeStored(one))).toEqual(DAYS.map(() => null));
    expect(found).not.toContain(null);
    const writes = DAYS.map((day) => ({ day, stamp: 0, heads: ofDay(day), added: new Map(), removed: [] }));
    expect(await history.write('s', writes)).toEqual(DAYS.map(() => false));
    expect(await change(history, DAYS, ofDay)).toEqual(DAYS.map(() => false));
    await withControl(server.url, async (control) => {
      expect(await control.hgetallBuffer(MONTH)).toEqual({ h: unknown });
    });
  });
});

it('any heads of any days are unpacked unchanged', () => {
  const heads = fc
    .array(fc.constantFrom('a', 'b', 'ab'), { maxLength: 120 })
    .map((all) => Buffer.from(all.join('')));
  const days = fc.uniqueArray(fc.integer({ min: 1, max: 31 }), { maxLength: 31 });
  const stamps = fc.constantFrom(1, 2, 2 ** 48 - 1);
  fc.assert(
    fc.property(days, fc.infiniteStream(fc.tuple(heads, stamps)), (numbers, stream) => {
      const all = new Map(
        numbers.map((day) => {
          const [one, stamp] = stream.next().value;
          return [String(day).padStart(2, '0'), { stamp, heads: one }] as const;
        }),
      );
      const packed = packHeads(all);
      expect(unpackHeads(packed)).toEqual(all);
      expect(decodeHeads(packed.subarray(6))).toBeNull();
    }),
  );
});
