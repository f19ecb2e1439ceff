/**
 * Looks through the file of an environment without lmdb, which trusts it: a page that is missing or wrong would end the
 * process, be overwritten, or hide records. The form is that of lmdb's data version 2, little-endian, 64 bit.
 */
import { fail, whole, withFile } from './data-bytes.js';
import { readMeta } from './data-meta.js';
import { createWalk } from './data-tree.js';
import { recordIsWhole } from './record-bytes.js';

/**
 * Compares the pages that say where everything is with the length of the file.
 * @throws DataFileDamaged
 */
export function checkMeta(path: string): void {
  withFile(path, (file) => void readMeta(file));
}

/**
 * Looks at every page and the checksum of every record.
 * @returns how many records there are
 * @throws DataFileDamaged
 */
export function checkDataFile(path: string): number {
  return withFile(path, (file) => {
    const meta = readMeta(file);
    const used = new Set<number>();
    const use = (first: number, pages: number): void => {
      for (let page = first; page < first + pages; page += 1) {
        if (page < 2 || page > meta.lastPage) fail(`page ${page} is beyond the end`);
        if (used.has(page)) fail(`page ${page} is used twice`);
        used.add(page);
      }
    };
    const walk = createWalk(file, meta, use);
    walk(meta.main, (key, data) => {
      if (!recordIsWhole(key, data)) fail('the checksum of a record is wrong');
    });
    walk(meta.free, (_key, data) => {
      for (const { first, pages } of freePages(data)) use(first, pages);
    });
    return meta.main.entries;
  });
}

/** A count, then so many entries: a page; or, below zero, how many pages follow the page after it; 0: nothing. */
function freePages(data: Buffer): { readonly first: number; readonly pages: number }[] {
  const count = data.length < 8 ? 0 : whole(data);
  if (data.length % 8 !== 0 || (count + 1) * 8 > data.length) fail('a list of free pages is cut off');
  const runs: { first: number; pages: number }[] = [];
  let pages = 1;
  for (let at = 1; at <= count; at += 1) {
    const entry = Number(data.readBigInt64LE(8 * at));
    if (entry < 0) pages = -entry;
    else {
      if (entry > 0) runs.push({ first: entry, pages });
      pages = 1;
    }
  }
  return runs;
}
