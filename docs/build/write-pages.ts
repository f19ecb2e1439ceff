/** Writes the documentation as HTML, as a gateway serves it: `data/` and `admin/` differ in the status of some errors. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FRAME } from '../../src/api/data/docs-pages.js';
import { ANSWERS } from '../../src/api/data/docs-search.js';
import { errorPages } from './errors.js';
import { type ReaderPage, readerPage } from './layout.js';
import { addressOfPage, pageNames, renderFile, shelvesOf } from './library.js';
import { sectionsOf } from './sections.js';

const WRITTEN = new URL('../../dist/pages/', import.meta.url);

export function writePages(): void {
  const names = pageNames();
  const pages = names.map((name) => [name, renderFile(name, names)] as const);
  const shelves = shelvesOf(new Map(pages.map(([name, { title }]) => [name, title])));
  const write = (name: string, text: string) => {
    const file = fileURLToPath(new URL(name, WRITTEN));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  const sections = pages.flatMap(([name, { title, html }]) => sectionsOf(addressOfPage(name), title, html));
  const sought = sections.filter(({ address }) => !/^\/docs\/(?:adr|changelog)\b/.test(address));
  const words = [...Object.keys(ANSWERS), ...sought.map(({ page, heading }) => heading || page)];
  const offered = [...new Set(words)].sort();
  const writePage = (path: string, page: ReaderPage) =>
    write(`${path}.html`, readerPage(page, shelves, offered));
  for (const [name, page] of pages) {
    const address = addressOfPage(name);
    writePage(`all${address}`, { address, ...page });
  }
  writePage('all/frame', { address: '/docs/search', title: FRAME.title, html: FRAME.text });
  write('all/sections.json', JSON.stringify(sections));
  for (const plane of ['data', 'admin']) {
    const errors = errorPages(plane === 'admin');
    for (const { path, ...page } of errors) writePage(`${plane}${path}`, page);
    const ofErrors = errors.flatMap(({ path, title, html }) => sectionsOf(path, title, html));
    write(`${plane}/errors.json`, JSON.stringify(ofErrors));
  }
}
