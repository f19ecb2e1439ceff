/** Writes the documentation as HTML, as a gateway serves it: `data/` and `admin/` differ in the status of some errors. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorPages } from './errors.js';
import { type ReaderPage, readerPage } from './layout.js';
import { addressOfPage, pageNames, renderFile, shelvesOf } from './library.js';

const WRITTEN = new URL('../../dist/pages/', import.meta.url);

export function writePages(): void {
  const names = pageNames();
  const pages = names.map((name) => [name, renderFile(name, names)] as const);
  const shelves = shelvesOf(new Map(pages.map(([name, { title }]) => [name, title])));
  const write = (folder: string, path: string, page: ReaderPage) => {
    const file = fileURLToPath(new URL(`${folder}${path}.html`, WRITTEN));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, readerPage(page, shelves));
  };
  for (const [name, page] of pages) {
    const address = addressOfPage(name);
    write('all', address, { address, ...page });
  }
  for (const plane of ['data', 'admin'])
    for (const { path, ...page } of errorPages(plane === 'admin')) write(plane, path, page);
}
