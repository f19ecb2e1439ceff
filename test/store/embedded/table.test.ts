import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { KEY_MAX_BYTES, openEnvironment } from '../../../src/store/embedded/environment.js';
import { createTable, type Table } from '../../../src/store/embedded/table.js';
import { createTestLog } from '../test-log.js';
import { firstLine, startScript } from './child.js';
import { inFolder } from './in-folder.js';

const [KEY, OTHER] = [Buffer.from('key'), Buffer.from('other')];
const textOf = (table: Table, key: Buffer) => table.read((view) => view.get(key)?.toString());
const options = { mapBytes: 2 ** 20, durable: true, logger: createTestLog() };

describe('a table', () => {
  it('takes back all that a change has set which throws, and makes the others of its group', () =>
    inFolder(async (folder) => {
      const environment = await openEnvironment({ folder, ...options });
      const table = createTable(environment);
      const changes = [
        table.change((draft) => draft.set(KEY, Buffer.from('first'))),
        table.change((draft) => {
          draft.set(KEY, Buffer.from('refused'));
          draft.set(OTHER, Buffer.from('refused'));
          throw new RangeError('no');
        }),
        table.change((draft) => draft.get(KEY)?.toString()),
      ];
      const [, refused, seen] = await Promise.allSettled(changes);
      expect(refused).toMatchObject({ status: 'rejected', reason: { message: 'no' } });
      expect(seen).toMatchObject({ value: 'first' });
      expect([textOf(table, KEY), textOf(table, OTHER)]).toEqual(['first', undefined]);
      await environment.close();
    }));

  it('refuses a key that is too long to the change that has it, and to no other', () =>
    inFolder(async (folder) => {
      const environment = await openEnvironment({ folder, ...options });
      const table = createTable(environment);
      const long = Buffer.alloc(KEY_MAX_BYTES + 1);
      const [made, refused] = await Promise.allSettled([
        table.change((draft) => draft.set(KEY, Buffer.from('made'))),
        table.change((draft) => draft.set(long, Buffer.from('refused'))),
      ]);
      expect(made).toMatchObject({ status: 'fulfilled' });
      expect(refused).toMatchObject({ status: 'rejected', reason: { name: 'RangeError' } });
      expect(textOf(table, KEY)).toBe('made');
      await environment.close();
    }));

  it('makes no change while one that was given up as late may still be made', () =>
    inFolder(async (folder) => {
      const environment = await openEnvironment({ folder, ...options, timeoutMs: 200 });
      const table = createTable(environment);
      const holder = await startScript('hold-writers.mjs', folder);
      try {
        expect(await firstLine(holder)).toBe('held');
        const late = table.change((draft) => draft.set(KEY, Buffer.from('late')));
        await expect(late).rejects.toMatchObject({ name: 'StoreUnavailable', why: 'away' });
        // It would be worked out without the one that is late.
        const copyTo = (key: Buffer) =>
          table.change((draft) => draft.set(key, draft.get(KEY) ?? Buffer.from('none')));
        await expect(copyTo(OTHER)).rejects.toMatchObject({ name: 'StoreUnavailable' });
        const gone = once(holder, 'exit');
        holder.stdin.end();
        await gone;
        const third = Buffer.from('third');
        await expect.poll(() => copyTo(third).catch(() => 'refused')).toBeUndefined();
        expect([KEY, OTHER, third].map((key) => textOf(table, key))).toEqual(['late', undefined, 'late']);
      } finally {
        holder.kill('SIGKILL');
        await environment.close();
      }
    }));
});
