import { copyFile, link, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type Environment,
  KEY_MAX_BYTES,
  openEnvironment,
  RecordDamaged,
} from '../../../src/store/embedded/environment.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { createTestLog } from '../test-log.js';

const bytes = (text: string) => Buffer.from(text);
const options = { mapBytes: 1 << 24, durable: true, logger: createTestLog() };

async function withEnvironments(
  use: (one: Environment, other: Environment, folder: string) => Promise<void>,
): Promise<void> {
  const folder = join(await mkdtemp(join(tmpdir(), 'dgw-environment-')), 'state');
  const one = await openEnvironment({ ...options, folder });
  const other = await openEnvironment({ ...options, folder });
  try {
    await use(one, other, folder);
  } finally {
    await one.close();
    await other.close();
    await rm(join(folder, '..'), { recursive: true });
  }
}

const put = (key: string, value: string) => ({ key: bytes(key), value: bytes(value) });
const get = (environment: Environment, key: string) => environment.read((view) => view.get(bytes(key)));
const keysOf = (environment: Environment, range: object) =>
  environment
    .read((view) => view.range({ from: bytes('a'), to: bytes('c'), ...range }))
    .map(({ key }) => key.toString());

describe('an environment', () => {
  it('gives a range from its first key to before its last, either way, and no more than the limit', () =>
    withEnvironments(async (one) => {
      await one.write(['a', 'a1', 'a2', 'b', 'c', 'd'].map((key) => put(key, key)));
      expect(keysOf(one, {})).toEqual(['a', 'a1', 'a2', 'b']);
      expect(keysOf(one, { reverse: true })).toEqual(['b', 'a2', 'a1', 'a']);
      expect(keysOf(one, { limit: 2 })).toEqual(['a', 'a1']);
      expect(keysOf(one, { limit: 2, reverse: true })).toEqual(['b', 'a2']);
      expect(keysOf(one, { limit: 0 })).toEqual([]);
    }));

  it('gives values that nobody writes to afterwards, of any length', () =>
    withEnvironments(async (one) => {
      const values = [0, 1, 4_000, 40_000, 400_000, 4_000_000].map((length, at) =>
        Buffer.alloc(length, at + 1),
      );
      await one.write(values.map((value, at) => ({ key: bytes(`a${at}`), value })));
      const found = one.read((view) => view.range({ from: bytes('a'), to: bytes('b') }));
      const single = values.map((_, at) => get(one, `a${at}`));
      await one.write(
        values.map((value, at) => ({ key: bytes(`a${at}`), value: Buffer.alloc(value.length) })),
      );
      for (const [at, value] of values.entries()) {
        expect(get(one, `a${at}`)?.equals(Buffer.alloc(value.length))).toBe(true);
        expect(found[at]?.value.equals(value)).toBe(true);
        expect(single[at]?.equals(value)).toBe(true);
      }
    }));

  it('refuses a key that is empty or too long, and writes nothing then', () =>
    withEnvironments(async (one) => {
      for (const key of [Buffer.alloc(0), Buffer.alloc(KEY_MAX_BYTES + 1)]) {
        await expect(one.write([put('a', '1'), { key, value: bytes('1') }])).rejects.toThrow(RangeError);
      }
      expect(get(one, 'a')).toBeNull();
      const longest = Buffer.alloc(KEY_MAX_BYTES, 'k');
      await one.write([{ key: longest, value: bytes('1') }]);
      expect(one.read((view) => view.get(longest))).toEqual(bytes('1'));
    }));

  it('tells a record whose bytes were changed on the disk from one that is whole', () =>
    withEnvironments(async (one, other, folder) => {
      await one.write([put('a', 'what is whole'), put('b', 'what is damaged')]);
      await one.close();
      await other.close();
      const path = join(folder, 'data.mdb');
      const file = await readFile(path);
      for (let at = file.indexOf('is damaged'); at >= 0; at = file.indexOf('is damaged', at + 1))
        file[at] = 0x49;
      await writeFile(path, file);
      const again = await openEnvironment({ ...options, folder });
      expect(get(again, 'a')).toEqual(bytes('what is whole'));
      expect(() => get(again, 'b')).toThrow(RecordDamaged);
      expect(() => keysOf(again, {})).toThrow(RecordDamaged);
      const told: string[] = [];
      const range = { from: bytes('a'), to: bytes('c') };
      const left = again.read((view) => view.range(range, ({ key }) => void told.push(key.toString())));
      expect(left.map(({ key }) => key.toString())).toEqual(['a']);
      expect(told).toEqual(['b']);
      await again.close();
    }));

  it.each<[string, (path: string) => Promise<unknown>]>([
    ['removed', (path) => rename(path, `${path}.aside`)],
    ['replaced', (path) => copyFile(path, `${path}.copy`).then(() => rename(`${path}.copy`, path))],
  ])('acknowledges nothing that would go to a file that was %s, until it is back', (_how, takeAway) =>
    withEnvironments(async (one, _other, folder) => {
      const path = join(folder, 'data.mdb');
      await one.write([put('a', 'one')]);
      await link(path, `${path}.first`);
      await takeAway(path);
      const refused = one.write([put('a', 'two')]);
      await expect(refused).rejects.toThrow('data.mdb was removed or replaced');
      await expect(refused).rejects.toThrow(StoreUnavailable);
      expect(one.health()).toMatchObject({ ok: false });
      expect(get(one, 'a')).toEqual(bytes('one'));
      await rename(`${path}.first`, path);
      await one.write([put('a', 'two')]);
      expect(one.health()).toEqual({ ok: true });
    }),
  );
});
