/** Files that are cut off, garbled or changed by a bit: the start is refused, or nothing is wrong with what is read. */
import { cp, mkdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkDataFile } from '../../../src/store/embedded/data-file.js';
import { refuseNetworkFolder } from '../../../src/store/embedded/data-folder.js';
import { refuseDamage } from '../../../src/store/embedded/durable-folders.js';
import { StoreRefused } from '../../../src/store/refused.js';
import { change } from '../conformance-registry.js';
import { inFolder, openIn } from './in-folder.js';

const dataFile = (folder: string) => join(folder, 'state', 'data.mdb');

/** A store with records of several pages, some of them freed. */
async function fill(folder: string): Promise<void> {
  const { registry, documents, counters, close } = await openIn(folder);
  for (let at = 0; at < 40; at += 1)
    await registry.commit(change({ [`r${at % 30}`]: `${at}`.padEnd(at * 40) }, undefined, [`line ${at}`]));
  await registry.commit(change({ r3: null }));
  await documents.create('long', 'x'.repeat(30_000), 3_600_000);
  await counters.add('1', [{ group: 'a', field: 'x', by: 1 }], [], 3_600_000);
  await close();
}

const contents = async (folder: string) => {
  const { registry, documents, counters, close } = await openIn(folder);
  const found = [
    await registry.load(),
    await registry.readAudit(100),
    await documents.get('long'),
    await counters.read(['a']),
  ];
  await close();
  return found;
};

const RESTORE = 'dsp-gateway store restore <backup folder>';

describe('a store whose file is damaged', () => {
  it.each([
    ['is cut off within its last page', (bytes: number) => bytes - 1],
    ['has lost half', (bytes: number) => bytes / 2],
    ['has lost all but its first page', () => 4096],
    ['is empty', () => 0],
  ])('is refused, with the file and what to do, when it %s', (_how, length) =>
    inFolder(async (folder) => {
      await fill(folder);
      await truncate(dataFile(folder), length((await stat(dataFile(folder))).size));
      const opening = openIn(folder);
      await expect(opening).rejects.toThrow(StoreRefused);
      await expect(opening).rejects.toThrow(`${dataFile(folder)} is damaged: it is cut off`);
      await expect(opening).rejects.toThrow(RESTORE);
    }),
  );

  it('is refused when its first pages are garbled', () =>
    inFolder(async (folder) => {
      await fill(folder);
      const file = await readFile(dataFile(folder));
      await writeFile(dataFile(folder), Buffer.concat([Buffer.alloc(8192, 0x5a), file.subarray(8192)]));
      await expect(openIn(folder)).rejects.toThrow('page 0 is not what it should be');
    }));

  it('is refused when a record was changed, and let go of for whoever has mended it', () =>
    inFolder(async (folder) => {
      await fill(folder);
      const file = await readFile(dataFile(folder));
      const changed = Buffer.from(file.toString('latin1').replaceAll('line 7', 'line 9'), 'latin1');
      await writeFile(dataFile(folder), changed);
      await expect(openIn(folder)).rejects.toThrow('the checksum of a record is wrong');
      await writeFile(dataFile(folder), file);
      expect(await contents(folder)).toHaveLength(4);
    }));

  it(
    'shows what was stored or is refused, whichever bit of it is changed',
    () =>
      inFolder(async (folder) => {
        await fill(folder);
        const before = await contents(folder);
        const file = await readFile(dataFile(folder));
        const draft = join(folder, 'draft');
        await mkdir(draft);
        let refused = 0;
        const harmless: number[] = [];
        // A step that has no factor with the size of a page; all of the meta pages, where each bit counts.
        const places = [
          ...Array.from({ length: 80 }, (_, at) => 2 * at),
          ...Array.from({ length: 80 }, (_, at) => 4096 + 2 * at + 1),
          ...Array.from({ length: Math.floor(file.length / 611) }, (_, at) => at * 611),
        ];
        for (const [at, place] of places.entries()) {
          const changed = Buffer.from(file);
          changed[place] = (changed[place] ?? 0) ^ (1 << (at % 8));
          await writeFile(join(draft, 'data.mdb'), changed);
          try {
            checkDataFile(join(draft, 'data.mdb'));
            harmless.push(at);
          } catch (error) {
            expect((error as Error).name).toBe('DataFileDamaged');
            refused += 1;
          }
        }
        expect(refused).toBeGreaterThan(places.length / 10);
        // Those let through lie where nothing is: a sample of them is opened as a whole.
        expect(harmless.length).toBeGreaterThan(6);
        for (const at of harmless.filter((_, nth) => nth % Math.ceil(harmless.length / 4) === 0)) {
          const place = places[at] ?? 0;
          const changed = Buffer.from(file);
          changed[place] = (changed[place] ?? 0) ^ (1 << (at % 8));
          await writeFile(dataFile(folder), changed);
          expect(await contents(folder)).toEqual(before);
          await writeFile(dataFile(folder), file);
        }
      }),
    120_000,
  );

  it('is refused when the process that looks at it is ended by a signal', () =>
    inFolder(async (folder) => {
      await fill(folder);
      await cp(join(folder, 'state'), join(folder, 'copy'), { recursive: true });
      await expect(
        refuseDamage(join(folder, 'copy'), 'Restore it', ['-e', "process.kill(process.pid, 'SIGBUS')"]),
      ).rejects.toThrow('looking at it ended by SIGBUS. Restore it');
    }));
});

describe('a data folder that cannot be used', () => {
  it.each(['registry.journal', 'counters.journal', 'documents'])(
    'is refused for what is of an earlier form: %s',
    (name) =>
      inFolder(async (folder) => {
        await writeFile(join(folder, name), '');
        await expect(openIn(folder)).rejects.toThrow(`holds a store of an earlier form (${name})`);
      }),
  );

  it.each([
    [0x6969, 'NFS'],
    [0xff534d42 | 0, 'CIFS'],
    [0x01021997, '9p'],
    [0x65735546, 'FUSE'],
  ])('is refused on a file system of type %d', (type, name) =>
    expect(refuseNetworkFolder('/data', async () => type)).rejects.toThrow(
      `on a file system of type ${name}`,
    ),
  );

  it('is taken on the disk of this machine', () =>
    inFolder(async (folder) => {
      await expect(refuseNetworkFolder(folder)).resolves.toBeUndefined();
    }));
});
