import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OPEN_CHARGES_MAX } from '../../../src/store/charges-port.js';
import { StoreRefused } from '../../../src/store/refused.js';
import { change } from '../conformance-registry.js';
import { bodiesOf, keep } from '../entries.js';
import { inFolder, openIn as open } from './in-folder.js';

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

describe('the embedded store', () => {
  it('makes its folder, for its user alone, and all files in it', () =>
    inFolder(async (folder) => {
      const dataDir = join(folder, 'some', 'where');
      const store = await open(dataDir);
      await store.registry.commit(change({ a: '1' }));
      await store.documents.create('key', 'text', 60_000);
      expect(await modeOf(dataDir)).toBe('700');
      const environment = ['data.mdb', 'lock.mdb'];
      const environments = ['cache/3-1', 'history', 'state'];
      const paths = environments.flatMap((name) => [name, ...environment.map((file) => join(name, file))]);
      const found = (await readdir(dataDir, { recursive: true })).sort();
      expect(found).toEqual(['lock', 'cache', ...paths].sort());
      const modes = found.map(async (file) => [file, await modeOf(join(dataDir, file))]);
      expect(Object.fromEntries(await Promise.all(modes))).toEqual({
        lock: '600',
        cache: '700',
        ...Object.fromEntries(paths.map((path) => [path, path.endsWith('.mdb') ? '600' : '700'])),
      });
      await store.close();
      expect((await readdir(dataDir)).sort()).toEqual(['cache', 'history', 'state']);
    }));

  it('opens a folder that processes of an earlier release shared, and removes what they did that by', () =>
    inFolder(async (folder) => {
      const first = await open(folder);
      await first.registry.commit(change({ a: '1' }));
      await first.close();
      for (const name of ['gate/opening', 'gate/writing', 'volatile']) {
        await mkdir(join(folder, name), { recursive: true });
        await writeFile(join(folder, name, 'data.mdb'), 'of lmdb');
      }
      const second = await open(folder);
      expect((await second.registry.load()).records.get('a')?.value).toBe('1');
      expect(second.log.lines).toEqual([]);
      expect((await readdir(folder)).sort()).toEqual(['cache', 'history', 'lock', 'state']);
      await second.close();
    }));

  it('leaves the mode of a folder that was there, and warns when others may look into it', () =>
    inFolder(async (folder) => {
      const dataDir = join(folder, 'open');
      await mkdir(dataDir, { mode: 0o755 });
      const store = await open(dataDir);
      expect(await modeOf(dataDir)).toBe('755');
      expect(store.log.lines).toMatchObject([{ level: 'warn', fields: { folder: dataDir, mode: '755' } }]);
      await store.close();
    }));

  it('refuses a charge once too many are open, until one of them ends', () =>
    inFolder(async (folder) => {
      const { charges, close } = await open(folder);
      const charge = (id: string) =>
        charges.charge({ id, purse: 'p', amount: 1, max: 2 * OPEN_CHARGES_MAX, note: '', ttlMs: 60_000 });
      await Promise.all(Array.from({ length: OPEN_CHARGES_MAX }, (_, at) => charge(`${at}`)));
      await expect(charge('b')).rejects.toMatchObject({ name: 'StoreUnavailable', why: 'no-room' });
      await charges.end('0', 'kept');
      expect(await charge('b')).toMatchObject({ kind: 'made' });
      await close();
    }));

  it('has the registry and the cache again when it is opened again', () =>
    inFolder(async (folder) => {
      const first = await open(folder);
      await first.registry.commit(change({ a: '1' }, undefined, ['line']));
      await keep(first.cache, [{ key: 'k', value: Buffer.from('v'), ttlMs: 60_000, version: 1 }]);
      const { epoch } = await first.registry.load();
      await first.close();

      const second = await open(folder);
      expect(await second.registry.load()).toEqual({
        epoch,
        version: 1,
        records: new Map([['a', { value: '1', revision: 1 }]]),
      });
      expect(await second.registry.changes(epoch, 0)).not.toBeNull();
      expect((await second.registry.readAudit(9)).map(({ text }) => text)).toEqual(['line']);
      expect(await bodiesOf(second.cache, ['k'])).toEqual([Buffer.from('v')]);
      await second.close();
    }));

  it('is refused a folder that another has, however it is spelt, and leaves that one alone', () =>
    inFolder(async (folder) => {
      const first = await open(folder);
      await expect(open(join(folder, '..', folder.split('/').at(-1) ?? '', '.'))).rejects.toThrow(
        StoreRefused,
      );
      expect(await first.registry.commit(change({ a: '1' }))).toEqual({ version: 1 });
      await first.close();
    }));

  it('takes no change of teams and keys once the folder that holds them was removed', () =>
    inFolder(async (folder) => {
      const store = await open(folder);
      await store.registry.commit(change({ a: '1' }));
      await rm(join(folder, 'state'), { recursive: true });
      await expect(store.registry.commit(change({ b: '1' }))).rejects.toThrow('data.mdb was removed');
      expect(store.health()).toMatchObject({ ok: false });
      await store.close();
    }));
});
