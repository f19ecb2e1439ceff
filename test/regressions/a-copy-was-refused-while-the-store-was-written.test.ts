/**
 * `store backup` looked through the file of the store page by page while the gateway wrote it, and took every change
 * that came in between for damage: a gateway that was busy could not be copied.
 */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { restoreState } from '../../src/store/embedded/backup.js';
import { change } from '../store/conformance-registry.js';
import { inFolder, openIn } from '../store/embedded/in-folder.js';

describe('a store that is written all the time', () => {
  it(
    'is copied as it was at one moment, and the copy can be put back',
    () =>
      inFolder(async (folder) => {
        const running = await openIn(join(folder, 'data'));
        const { registry } = running;
        for (let at = 0; at < 100; at += 1) await registry.commit(change({ [`r${at}`]: 'x'.repeat(5000) }));
        let isOver = false;
        const writing = (async () => {
          // Two records with one text in each commit: a copy that mixes two moments shows.
          for (let at = 0; !isOver; at += 1)
            await registry.commit(
              change({ one: `${at}`.padEnd(5000), two: `${at}`.padEnd(5000), [`r${at % 100}`]: 'y' }),
            );
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
      }),
    60_000,
  );
});
