import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable, type Tallies } from '../../../src/store/port.js';
import { StoreRefused } from '../../../src/store/refused.js';
import { createFaultyDisk } from './faulty-disk.js';
import { openTalliesIn } from './files-in-folder.js';
import { inFolder } from './registry-in-folder.js';

const MINUTE = 60_000;
const JOURNAL = 'tallies.journal';

const count = (tallies: Tallies, id: string, book = 'a', by = 1, ttlMs = 60 * MINUTE) =>
  tallies.add(id, [{ book, field: 'calls', by }], [{ book, field: 'last', to: by }], ttlMs);

const BOOKS = ['a', 'b', 'c'];
const step = fc.record({
  id: fc.nat({ max: 6 }),
  book: fc.constantFrom(...BOOKS),
  by: fc.integer({ min: -9, max: 9 }),
  ttl: fc.integer({ min: 1, max: 30 }),
  /** Minutes until the next step. */
  passes: fc.integer({ min: 0, max: 6 }),
  reopen: fc.boolean(),
});

describe('tallies on the disk', () => {
  it('are there again, whole, after any batches, repetitions and reopenings, rewritten or not', () => {
    const property = fc.asyncProperty(
      fc.array(step, { maxLength: 12 }),
      fc.constantFrom(0, 150, 1_000_000),
      (steps, rewriteAfterBytes) =>
        inFolder(async (folder) => {
          let nowMs = 1_000_000;
          const knobs = { rewriteAfterBytes, realTime: () => nowMs };
          const model = new Map<string, { calls: number; last: number; endsMs: number }>();
          const applied = new Map<number, number>();
          let opened = await openTalliesIn(folder, knobs);
          for (const { id, book, by, ttl, passes, reopen } of steps) {
            await count(opened.tallies, `${id}`, book, by, ttl * MINUTE);
            if (nowMs - (applied.get(id) ?? -1e9) > 10 * MINUTE) {
              applied.set(id, nowMs);
              const found = model.get(book);
              const old = found !== undefined && nowMs < found.endsMs ? found : { calls: 0, last: by };
              const last = Math.max(old.last, by);
              model.set(book, { calls: old.calls + by, last, endsMs: nowMs + ttl * MINUTE });
            }
            nowMs += passes * MINUTE;
            if (reopen) {
              await opened.close();
              opened = await openTalliesIn(folder, knobs);
            }
            const expected = BOOKS.map((name) => {
              const found = model.get(name);
              if (found === undefined || nowMs >= found.endsMs) return new Map();
              return new Map([['calls', found.calls], ['last', found.last]]); // biome-ignore format: one thought
            });
            expect(await opened.tallies.read(BOOKS)).toEqual(expected);
          }
          await opened.close();
        }),
    );
    return fc.assert(property, { numRuns: 30 });
  });

  it('cut at every byte, open with all batches that were acknowledged before the cut, none by half', () =>
    inFolder(async (folder) => {
      const path = join(folder, JOURNAL);
      const { tallies, close } = await openTalliesIn(folder);
      const ends = [(await stat(path)).size];
      for (let at = 1; at <= 3; at += 1) {
        const adds = ['a', 'b'].map((book) => ({ book, field: 'calls', by: at }));
        await tallies.add(`${at}`, adds, [], MINUTE);
        ends.push((await stat(path)).size);
      }
      await close();
      const whole = await readFile(path);
      for (let cut = 0; cut <= whole.length; cut += 1) {
        await writeFile(path, whole.subarray(0, cut));
        const batches = Math.max(
          0,
          ends.findLastIndex((end) => end <= cut),
        );
        const again = await openTalliesIn(folder);
        const book = new Map(batches === 0 ? [] : [['calls', (batches * (batches + 1)) / 2]]);
        expect(await again.tallies.read(['a', 'b'])).toEqual([book, book]);
        await again.close();
      }
    }));

  it('do not grow with what has ended, nor with what is counted again and again', () =>
    inFolder(async (folder) => {
      let nowMs = 0;
      const { tallies, close } = await openTalliesIn(folder, { rewriteAfterBytes: 1, realTime: () => nowMs });
      for (let day = 0; day < 300; day += 1) {
        nowMs += 60 * MINUTE;
        await count(tallies, `${day}`, `a book of day ${day}`);
      }
      expect(await tallies.read(['a book of day 298', 'a book of day 299'])).toEqual([
        new Map(),
        new Map([['calls', 1], ['last', 1]]), // biome-ignore format: one thought
      ]);
      await close();
      expect((await stat(join(folder, JOURNAL))).size).toBeLessThan(2_000);
    }));

  it('do not write more for a batch because there are many books', () =>
    inFolder(async (folder) => {
      const { tallies, close } = await openTalliesIn(folder);
      const books = Array.from({ length: 2_000 }, (_, at) => `book ${at}`);
      await tallies.add(
        'all',
        books.map((book) => ({ book, field: 'calls', by: 1 })),
        [],
        MINUTE,
      );
      const before = (await stat(join(folder, JOURNAL))).size;
      await count(tallies, 'one');
      expect((await stat(join(folder, JOURNAL))).size - before).toBeLessThan(200);
      await close();
    }));

  it('have not applied a batch that failed: it can be repeated', () =>
    inFolder(async (folder) => {
      const disk = createFaultyDisk();
      const { tallies, close } = await openTalliesIn(folder, { open: disk.open });
      await count(tallies, '1');
      const letGo = disk.hold('sync');
      const first = count(tallies, '2');
      while (disk.done.at(-1) !== 'write') await new Promise(setImmediate);
      // Written together: the repetition shares the fate of what it repeats.
      const failing = [count(tallies, '3'), count(tallies, '3')];
      letGo();
      await first;
      disk.fail('sync', 'EIO');
      for (const call of failing) await expect(call).rejects.toThrow(StoreUnavailable);
      expect(tallies.health()).toMatchObject({ ok: false, reason: expect.stringContaining('EIO') });
      expect((await tallies.read(['a']))[0]?.get('calls')).toBe(2);
      await Promise.all([count(tallies, '3'), count(tallies, '3')]);
      expect(tallies.health()).toEqual({ ok: true });
      await close();
      const again = await openTalliesIn(folder);
      expect((await again.tallies.read(['a']))[0]?.get('calls')).toBe(3);
      await again.close();
    }));

  it('remember a batch for ten minutes, also when the machine’s clock was put back between two processes', () =>
    inFolder(async (folder) => {
      let nowMs = 100 * MINUTE;
      const realTime = () => nowMs;
      const first = await openTalliesIn(folder, { realTime });
      await count(first.tallies, '1');
      nowMs += 10 * MINUTE;
      await count(first.tallies, '1');
      await first.close();
      nowMs -= 15 * MINUTE;
      const second = await openTalliesIn(folder, { realTime });
      await count(second.tallies, '1');
      nowMs += 20 * MINUTE + 1;
      await count(second.tallies, '1');
      expect((await second.tallies.read(['a']))[0]?.get('calls')).toBe(2);
      await second.close();
    }));

  it('are refused when they are damaged, and let go of the folder', () =>
    inFolder(async (folder) => {
      const path = join(folder, JOURNAL);
      const first = await openTalliesIn(folder);
      for (const id of ['1', '2', '3']) await count(first.tallies, id);
      await first.close();
      const bytes = await readFile(path);
      bytes[bytes.indexOf('"calls"')] = 0;
      await writeFile(path, bytes);
      await expect(openTalliesIn(folder)).rejects.toThrow(StoreRefused);
      await expect(openTalliesIn(folder)).rejects.toThrow(path);
    }));

  it('refuse batches once they are closed, after ending those begun', () =>
    inFolder(async (folder) => {
      const { tallies, close } = await openTalliesIn(folder);
      const begun = count(tallies, '1');
      await close();
      await begun;
      await expect(count(tallies, '2')).rejects.toThrow(StoreUnavailable);
    }));
});
