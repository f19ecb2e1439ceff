/** Records as earlier releases wrote them to a folder, put there by hand: what is removed, and what stays. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openEnvironment } from '../../../src/store/embedded/environment.js';
import { oldRows, putInFolder } from '../../reports/history/old-pin-records.js';
import { dayOf } from '../../reports/history/on-disk.js';
import { monthWrite } from '../conformance-days.js';
import { writePins } from '../conformance-pins.js';
import { keep } from '../entries.js';
import { createTestLog } from '../test-log.js';
import { inFolder, openIn } from './in-folder.js';

const never = () => false;

/** @returns asks that are answered by no so many times, then by yes */
function stopsAfter(times: number): () => boolean {
  let asked = 0;
  return () => {
    asked += 1;
    return asked > times;
  };
}
const SERIES = Buffer.from('6e27f4c10a6c1b7b2f4a3f8e5d0c9b8a', 'hex');
const keyOf = (letter: string, rest: string) =>
  Buffer.concat([Buffer.from(letter), SERIES, Buffer.from(rest)]);

/** Heads, rows and facts of two months of history, with their marks. */
const HISTORY: readonly (readonly [key: Buffer, value: string])[] = [
  [keyOf('h', '2026-03-07'), 'heads'],
  [keyOf('h', '2026-04-01'), 'heads'],
  [keyOf('c', '2026-03-07:n1'), '\x01\x02\x03\x04\x05\x06\x00rows'],
  [keyOf('f', '2026-03:00'), '{}'],
  [Buffer.concat([Buffer.from('m2026-03'), SERIES]), 'series'],
  [Buffer.concat([Buffer.from('m2026-04'), SERIES]), 'series'],
];
/** Three days, their facts, and a piece of a large body. */
const CACHE: readonly (readonly [key: Buffer, value: string])[] = [
  [Buffer.from('ec5:s\0\x012026-03\0\x0101\0\x01'), '\x22\xd6\x03'],
  [Buffer.from('ec5:s\0\x012026-03\0\x0102\0\x01'), '\x22\xd6\x03'],
  [Buffer.from('ec5:s\0\x01w:2026-03-01:\0\x01rows\0\x01'), '\0\x22\xd6\x03name'],
  [Buffer.from('fc5:s\0\x010123456789abcdef'), '{}'],
  [Buffer.from('pname567890\0\0'), 'piece'],
];

/** An environment of a folder whose store may be open. */
async function within<T>(
  folder: string,
  use: (environment: Awaited<ReturnType<typeof openEnvironment>>) => Promise<T>,
): Promise<T> {
  const environment = await openEnvironment({
    folder,
    mapBytes: 2 ** 26,
    durable: false,
    logger: createTestLog(),
  });
  try {
    return await use(environment);
  } finally {
    await environment.close();
  }
}

const put = (folder: string, records: typeof HISTORY) =>
  within(folder, (environment) =>
    environment.write(records.map(([key, value]) => ({ key, value: Buffer.from(value, 'latin1') }))),
  );

const recordsIn = (folder: string) =>
  within(folder, async (environment) =>
    environment.read((view) => view.range({ from: Buffer.of(0), to: Buffer.of(0xff) })),
  );

it('history and cache entries of earlier releases are removed by their keys, and nothing else', () =>
  inFolder(async (folder) => {
    const [history, cache] = [join(folder, 'history'), join(folder, 'cache', '3-1')];
    const store = await openIn(folder);
    await store.days.write([monthWrite(0, 'index', { parts: new Map([['a', Buffer.from('rows')]]) })]);
    await writePins(store.pins, 't:0', { added: new Map([['a', Buffer.from('rows')]]) });
    const rows = new Map([['pin.0', oldRows('id', dayOf('2026-11-01', 1, 1_000_000))]]);
    await putInFolder(folder)('t:0', { index: Buffer.from('index'), rows });
    const large = Buffer.alloc(300_000, 'x');
    await keep(store.cache, [{ key: '{s}a', value: large, ttlMs: 600_000, version: 1 }]);
    const all = async () => [await recordsIn(history), await recordsIn(cache)];
    const before = await all();
    expect(before.map(({ length }) => length)).toEqual([expect.any(Number), 3]);
    await put(history, HISTORY);
    await put(cache, CACHE);
    expect(await store.removeOldLayout(never)).toEqual({ months: 2, cacheEntries: 3 });
    expect(await all()).toEqual(before);
    expect(await store.removeOldLayout(never)).toEqual({ months: 0, cacheEntries: 0 });
    await store.close();
  }));

it('a removal that is stopped leaves the rest to the next one', () =>
  inFolder(async (folder) => {
    const history = join(folder, 'history');
    const store = await openIn(folder);
    const marks = Array.from({ length: 250 }, (_, at) => [Buffer.from(`m2026-03${at}`), 'series'] as const);
    await put(history, marks);
    const first = await store.removeOldLayout(stopsAfter(5));
    expect(first.months).toBeGreaterThan(0);
    expect(first.months).toBeLessThan(250);
    const second = await store.removeOldLayout(never);
    expect(first.months + second.months).toBe(250);
    expect(await recordsIn(history)).toEqual([]);
    await store.close();
  }));
