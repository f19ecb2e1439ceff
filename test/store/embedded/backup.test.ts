import { readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { FEED_START } from '../../../src/store/changes-port.js';
import { restoreState } from '../../../src/store/embedded/backup.js';
import type { Store } from '../../../src/store/port.js';
import { runCli } from '../../cli/run-cli.js';
import { monthWrite, PLACE } from '../conformance-days.js';
import { change } from '../conformance-registry.js';
import { inFolder, openIn } from './in-folder.js';

const indexOf = async ({ days }: Pick<Store, 'days'>) => (await days.whole(PLACE))?.index?.toString();

describe('a copy of the store', () => {
  it(
    'is made while the store is open, holds one moment, and is put back while it is not',
    () =>
      inFolder(async (folder) => {
        const [data, copy] = [join(folder, 'data'), join(folder, 'copy')];
        const env = { GATEWAY_DATA_DIR: data };
        const running = await openIn(data);
        await running.registry.commit(change({ a: 'before' }, undefined, ['line']));
        await running.documents.create('document', 'text', 3_600_000);
        await running.days.write([monthWrite(0, 'before', { told: { text: 'told before', count: 1 } })]);
        const feed = await running.changes.read(FEED_START, 9);
        const before = await running.registry.load();
        await running.backup?.(copy, true, async () => {});
        await running.registry.commit(change({ a: 'after' }));
        const { stamp = 0 } = (await running.days.whole(PLACE)) ?? {};
        const told = { text: 'told after', count: 1 };
        expect(await running.days.write([monthWrite(stamp, 'after', { told })])).toEqual([null]);
        expect(await readdir(copy)).toEqual(['data.mdb', 'history']);
        expect(await readdir(join(copy, 'history'))).toEqual(['data.mdb']);
        for (const file of ['data.mdb', 'history/data.mdb'])
          expect(((await stat(join(copy, file))).mode & 0o777).toString(8)).toBe('600');
        const alone = join(folder, 'alone');
        await running.backup?.(alone, false, async () => {});
        expect(await readdir(alone)).toEqual(['data.mdb']);

        const early = await runCli(['store', 'restore', copy], env);
        expect(early).toMatchObject({ code: 78, stderr: expect.stringContaining('is in use by process') });
        await running.close();
        const ran = await runCli(['store', 'restore', copy], env);
        expect(ran).toMatchObject({ code: 0, stderr: '' });
        expect(ran.stdout).toContain(`The old store is in ${join(data, 'state.before-')}`);
        expect(ran.stdout).toContain(` and ${join(data, 'history.before-')}`);
        const again = await openIn(data);
        expect(await again.registry.load()).toEqual(before);
        expect(await again.documents.get('document')).toBe('text');
        expect(await indexOf(again)).toBe('before');
        expect(feed.entries.map(({ text }) => text)).toEqual(['told before']);
        expect(await again.changes.read(FEED_START, 9)).toEqual(feed);
        await again.close();
        // One without a history leaves what is there.
        expect(await runCli(['store', 'restore', alone], env)).toMatchObject({ code: 0 });
        const third = await openIn(data);
        expect(await indexOf(third)).toBe('before');
        await third.close();
      }),
    60_000,
  );

  it('is refused where its folder cannot be made, before anything is done', () =>
    inFolder(async (folder) => {
      const store = await openIn(join(folder, 'data'));
      for (const [target, why] of [
        ['copy', 'which is not absolute'],
        [folder, 'which is there already'],
        [join(folder, 'none', 'copy'), 'which cannot be made (ENOENT)'],
      ] as const) {
        const begin = vi.fn();
        const copied = store.backup?.(target, true, begin);
        await expect(copied).rejects.toThrow(
          `was "${target}", ${why}; allowed is the absolute path of a new folder, in a folder that is there`,
        );
        expect(begin).not.toHaveBeenCalled();
      }
      await expect(
        store.backup?.(join(folder, 'copy'), true, () => Promise.reject(new Error('no audit'))),
      ).rejects.toThrow('no audit');
      expect(await readdir(folder)).toEqual(['data']);
      await store.close();
    }));

  it(
    'that is damaged changes nothing, and neither does one that is none',
    () =>
      inFolder(async (folder) => {
        const [data, copy] = [join(folder, 'data'), join(folder, 'copy')];
        const env = { GATEWAY_DATA_DIR: data };
        const first = await openIn(data);
        await first.registry.commit(change({ a: 'kept' }));
        await first.close();
        expect(await runCli(['store', 'backup', copy], env)).toMatchObject({
          code: 0,
          stdout: `The store was copied to ${copy}.\n`,
        });
        expect(await runCli(['store', 'backup', copy], env)).toMatchObject({
          code: 78,
          stderr: expect.stringContaining('is there already'),
        });
        await truncate(join(copy, 'data.mdb'), 8192);
        for (const [source, why] of [
          [copy, 'is damaged: it is cut off'],
          [folder, 'holds no backup'],
        ] as const) {
          const ran = await runCli(['store', 'restore', source], env);
          expect(ran).toMatchObject({ code: 78, stderr: expect.stringContaining(why) });
        }
        const again = await openIn(data);
        expect((await again.registry.load()).records.get('a')?.value).toBe('kept');
        await again.close();
      }),
    60_000,
  );
});

describe('a store that is written all the time', () => {
  it('is copied as it was at one moment, and the copy can be put back', () =>
    inFolder(async (folder) => {
      const running = await openIn(join(folder, 'data'));
      const { registry } = running;
      for (let at = 0; at < 100; at += 1) await registry.commit(change({ [`r${at}`]: 'x'.repeat(5000) }));
      let isOver = false;
      const writing = (async () => {
        // Two records with one text in each commit: a copy that mixes two moments shows.
        for (let at = 0; !isOver; at += 1) {
          const text = `${at}`.padEnd(5000);
          await registry.commit(change({ one: text, two: text, [`r${at % 100}`]: 'y' }));
        }
      })();
      await expect.poll(async () => (await registry.load()).records.has('one')).toBe(true);
      const copy = join(folder, 'copy');
      try {
        await running.backup?.(copy, true, async () => {});
      } finally {
        isOver = true;
        await writing;
      }
      await running.close();
      await restoreState(join(folder, 'other'), copy, 0);
      const restored = await openIn(join(folder, 'other'));
      const { records } = await restored.registry.load();
      expect(records.size).toBe(102);
      expect(records.get('one')?.value).toMatch(/^\d+ *$/);
      expect(records.get('one')).toEqual(records.get('two'));
      await restored.close();
    }));
});
