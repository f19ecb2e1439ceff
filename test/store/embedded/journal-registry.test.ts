import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeRecord } from '../../../src/store/embedded/journal-format.js';
import { StoreRefused } from '../../../src/store/refused.js';
import { change } from '../conformance-registry.js';
import { createFaultyDisk } from './faulty-disk.js';
import { contents, inFolder, JOURNAL, openRegistryIn } from './registry-in-folder.js';

describe('the registry on the disk', () => {
  it('is there again, whole, after any commits and reopenings, rewritten or not', () => {
    const write = fc.record({
      id: fc.constantFrom('a', 'b', 'c', 'd'),
      value: fc.option(fc.string({ unit: 'binary', maxLength: 40 }), { nil: null }),
      audit: fc.array(fc.string({ maxLength: 20 }), { maxLength: 2 }),
      reopen: fc.boolean(),
    });
    const property = fc.asyncProperty(
      fc.array(write, { maxLength: 12 }),
      fc.nat({ max: 200 }),
      (writes, rewriteAfterBytes) =>
        inFolder(async (folder) => {
          let opened = await openRegistryIn(folder, { rewriteAfterBytes });
          const { epoch } = await opened.registry.load();
          for (const { id, value, audit, reopen } of writes) {
            await opened.registry.commit({ writes: new Map([[id, value]]), audit });
            if (!reopen) continue;
            const before = [
              await opened.registry.load(),
              await opened.registry.changes(epoch, 0),
              await opened.registry.readAudit(99),
            ];
            await opened.close();
            opened = await openRegistryIn(folder, { rewriteAfterBytes });
            expect([
              await opened.registry.load(),
              await opened.registry.changes(epoch, 0),
              await opened.registry.readAudit(99),
            ]).toEqual(before);
          }
          expect((await opened.registry.load()).version).toBe(writes.length);
          await opened.close();
        }),
    );
    return fc.assert(property, { numRuns: 25 });
  });

  it('cut at every byte, opens with all that was acknowledged before the cut', () =>
    inFolder(async (folder) => {
      const path = join(folder, JOURNAL);
      const { registry, close } = await openRegistryIn(folder);
      const ends = [(await stat(path)).size];
      for (let at = 1; at <= 4; at += 1) {
        await registry.commit(
          change({ [`r${at}`]: `text ${at}`, [`r${at - 1}`]: null }, undefined, [`line ${at}`]),
        );
        ends.push((await stat(path)).size);
      }
      await close();
      const whole = await readFile(path);
      expect(ends.at(-1)).toBe(whole.length);

      for (let cut = 0; cut <= whole.length; cut += 1) {
        await writeFile(path, whole.subarray(0, cut));
        const version = Math.max(
          0,
          ends.findLastIndex((end) => end <= cut),
        );
        const { snapshot, audit } = await contents(folder);
        expect(snapshot.version).toBe(version);
        expect([...snapshot.records]).toEqual(
          version === 0 ? [] : [[`r${version}`, { value: `text ${version}`, revision: version }]],
        );
        expect(audit).toEqual(Array.from({ length: version }, (_, at) => `line ${version - at}`));
      }
    }));

  it('goes on behind a write that was cut off, and says that it cut it off', () =>
    inFolder(async (folder) => {
      const path = join(folder, JOURNAL);
      const first = await openRegistryIn(folder);
      await first.registry.commit(change({ a: '1' }));
      const good = (await stat(path)).size;
      await first.registry.commit(change({ a: 'longer than what will be written in its place'.repeat(9) }));
      await first.close();
      await writeFile(path, (await readFile(path)).subarray(0, -3));

      const second = await openRegistryIn(folder);
      expect(second.log.lines).toMatchObject([{ level: 'warn', fields: { path, offset: good } }]);
      expect(await second.registry.commit(change({ b: '2' }, { a: 1 }))).toEqual({ version: 2 });
      await second.close();
      const third = await openRegistryIn(folder);
      expect(third.log.lines).toEqual([]);
      expect((await third.registry.load()).records).toEqual(
        new Map([
          ['a', { value: '1', revision: 1 }],
          ['b', { value: '2', revision: 2 }],
        ]),
      );
      await third.close();
    }));

  it.each([
    {
      what: 'a changed byte in the middle',
      spoil: (file: Buffer, middle: number) => file.writeUInt8(0x21, middle + 20),
    },
    {
      what: 'a changed length in the middle',
      spoil: (file: Buffer, middle: number) => file.writeUInt32LE(0x7fffffff, middle + 4),
    },
  ])('refuses to start on $what, and names the file and the place', ({ spoil }) =>
    inFolder(async (folder) => {
      const path = join(folder, JOURNAL);
      const { registry, close } = await openRegistryIn(folder);
      await registry.commit(change({ a: '1' }));
      const middle = (await stat(path)).size;
      await registry.commit(change({ a: '2' }));
      await registry.commit(change({ a: '3' }));
      await close();
      const file = await readFile(path);
      spoil(file, middle);
      await writeFile(path, file);

      const opening = openRegistryIn(folder);
      await expect(opening).rejects.toThrow(StoreRefused);
      await expect(opening).rejects.toThrow(new RegExp(`${path} is damaged at byte ${middle}`));
      expect(await readFile(path)).toEqual(file);
    }),
  );

  it('refuses to start when a commit is missing in between', () =>
    inFolder(async (folder) => {
      const path = join(folder, JOURNAL);
      const { registry, close } = await openRegistryIn(folder);
      const sizes: number[] = [];
      for (const value of ['1', '2', '3']) {
        await registry.commit(change({ a: value }));
        sizes.push((await stat(path)).size);
      }
      await close();
      const file = await readFile(path);
      await writeFile(path, Buffer.concat([file.subarray(0, sizes[0]), file.subarray(sizes[1])]));
      await expect(openRegistryIn(folder)).rejects.toThrow(/version 3 follows 1/);
    }));

  it('refuses a rewritten journal that is cut within what was one piece', () =>
    inFolder(async (folder) => {
      const path = join(folder, JOURNAL);
      const { registry, close } = await openRegistryIn(folder, { rewriteAfterBytes: 0 });
      for (let at = 0; at < 20; at += 1) await registry.commit(change({ a: `${at}` }, undefined, ['line']));
      await close();
      const file = await readFile(path);
      const secondRecord = file.indexOf(file.subarray(0, 4), 1);
      await writeFile(path, file.subarray(0, secondRecord));
      await expect(openRegistryIn(folder)).rejects.toThrow(/ends after 0 of the 2 records/);
    }));

  it('refuses what another program or a later release wrote, and leaves it as it is', () =>
    inFolder(async (folder) => {
      const path = join(folder, JOURNAL);
      for (const [text, message] of [
        [Buffer.from('somebody else’s notes'), /not a journal of this program/],
        [
          encodeRecord({ format: 2, epoch: 'e', version: 0, floor: 0, auditFrom: 1, parts: 0 }),
          /format 2 of another release/,
        ],
      ] as const) {
        await writeFile(path, text);
        await expect(openRegistryIn(folder)).rejects.toThrow(message);
        expect(await readFile(path)).toEqual(text);
      }
    }));

  it('does not grow for ever', () =>
    inFolder(async (folder) => {
      const path = join(folder, JOURNAL);
      const { registry, close } = await openRegistryIn(folder, { rewriteAfterBytes: 2_000 });
      for (let at = 0; at < 300; at += 1) await registry.commit(change({ a: 'x'.repeat(100) }));
      expect((await stat(path)).size).toBeLessThan(5_000);
      await close();
      expect(await readdir(folder)).toEqual([JOURNAL]);
      expect((await contents(folder)).snapshot).toMatchObject({ version: 300 });
    }));

  it('ignores and removes what a crash left of a rewrite', () =>
    inFolder(async (folder) => {
      const first = await openRegistryIn(folder);
      await first.registry.commit(change({ a: '1' }));
      await first.close();
      await writeFile(join(folder, `${JOURNAL}.new`), encodeRecord({ half: 'done' }));
      expect((await contents(folder)).snapshot.version).toBe(1);
      expect(await readdir(folder)).toEqual([JOURNAL]);
    }));

  it('shares one write to the disk among commits that arrive meanwhile', () =>
    inFolder(async (folder) => {
      const disk = createFaultyDisk();
      const { registry, close } = await openRegistryIn(folder, { open: disk.open });
      disk.done.length = 0;
      const letGo = disk.hold('sync');
      const first = registry.commit(change({ a: '0' }));
      while (!disk.done.includes('write')) await new Promise(setImmediate);
      const others = Array.from({ length: 10 }, (_, at) => registry.commit(change({ a: `${at + 1}` })));
      letGo();
      expect((await Promise.all([first, ...others])).map(({ version }) => version)).toEqual([
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
      ]);
      expect(disk.done).toEqual(['write', 'sync', 'write', 'sync']);
      await close();
      expect((await contents(folder)).snapshot.version).toBe(11);
    }));
});
