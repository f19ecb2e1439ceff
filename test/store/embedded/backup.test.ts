import { readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../commands/run-cli.js';
import { change } from '../conformance-registry.js';
import { inFolder, openIn } from './in-folder.js';

describe('a copy of the store', () => {
  it(
    'is made while the gateway runs, holds one moment, and is put back while it does not',
    () =>
      inFolder(async (folder) => {
        const [data, copy] = [join(folder, 'data'), join(folder, 'copy')];
        const env = { GATEWAY_DATA_DIR: data };
        const running = await openIn(data);
        await running.registry.commit(change({ a: 'before' }, undefined, ['line']));
        await running.documents.create('document', 'text', 3_600_000);
        const before = await running.registry.load();
        expect(await runCli(['store', 'backup', copy], env)).toMatchObject({ code: 0, stderr: '' });
        await running.registry.commit(change({ a: 'after' }));
        expect(await readdir(copy)).toEqual(['data.mdb']);
        expect(((await stat(join(copy, 'data.mdb'))).mode & 0o777).toString(8)).toBe('600');

        const early = await runCli(['store', 'restore', copy], env);
        expect(early).toMatchObject({ code: 78, stderr: expect.stringContaining('is in use by process') });
        await running.close();
        const ran = await runCli(['store', 'restore', copy], env);
        expect(ran).toMatchObject({ code: 0, stderr: '' });
        expect(ran.stdout).toContain(`What was there before is in ${join(data, 'state.before-')}`);
        const again = await openIn(data);
        expect(await again.registry.load()).toEqual(before);
        expect(await again.documents.get('document')).toBe('text');
        await again.close();
      }),
    60_000,
  );

  it(
    'that is damaged changes nothing, and neither does one that is none',
    () =>
      inFolder(async (folder) => {
        const [data, copy] = [join(folder, 'data'), join(folder, 'copy')];
        const env = { GATEWAY_DATA_DIR: data };
        const first = await openIn(data);
        await first.registry.commit(change({ a: 'kept' }));
        expect(await runCli(['store', 'backup', copy], env)).toMatchObject({ code: 0 });
        await first.close();
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
