/** The files of the documentation: which there are, and the address of each below `/docs`. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Shelf } from './layout.js';
import { type Rendered, renderMarkdown } from './markdown.js';

const FOLDER = fileURLToPath(new URL('../', import.meta.url));
/** Its pages are made from the catalogue of errors, for each plane. */
const ERRORS = 'errors.md';
/** Lies beside the folder, where tools look for it. */
const CHANGELOG = '../CHANGELOG.md';

/** The order of the pages; those that are not named here follow. */
const SHELVES: readonly (readonly [title: string, names: string])[] = [
  [
    'Decide',
    'index decide costs trial outages simulator proven trust wrong stored security licences size-it performance upgrade ../CHANGELOG',
  ],
  ['Call it', 'explorer first-steps clients contract caching history changes final agents'],
  ['Run it', 'operations settings compose kubernetes sign-in who-may-what limits write-guard metrics cli'],
  ['Change it', 'architecture adr/index hardening standards'],
];
/** The shelf that ends with {@link OWN}. */
const OWN_SHELF = 1;
const OWN = [
  { address: '/docs/api', title: 'API reference' },
  { address: '/docs/errors', title: 'Errors' },
];

/** @returns names of files that have a page, from the folder of the documentation: `caching.md`, `../CHANGELOG.md` */
export function pageNames(): readonly string[] {
  const below = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).map((name) =>
    name.replaceAll('\\', '/'),
  );
  return [...below.filter((name) => name.endsWith('.md') && name !== ERRORS), CHANGELOG].sort();
}

export function renderFile(name: string, names: readonly string[]): Rendered {
  const drawingOf = (href: string) =>
    href.endsWith('.svg') ? readFileSync(join(FOLDER, dirname(name), href), 'utf8') : null;
  const text = readFileSync(join(FOLDER, name), 'utf8');
  return renderMarkdown(text, (href) => addressOf(name, href, names), drawingOf);
}

/** Where a page is read: `caching.md` at `/docs/caching`. */
export function addressOfPage(name: string): string {
  if (name === CHANGELOG) return '/docs/changelog';
  return name === 'index.md' ? '/docs' : `/docs/${name.replace(/(\/index)?\.md$/, '')}`;
}

/** @returns where a link of one page leads; null for files that are not served */
export function addressOf(from: string, href: string, names: readonly string[]): string | null {
  if (/^(https?:|#|\/)/.test(href)) return href;
  const [path = '', hash] = href.split('#', 2);
  const name = posix.relative('docs', posix.join('docs', posix.dirname(from), path));
  if (name !== ERRORS && !names.includes(name)) return null;
  return addressOfPage(name) + (hash === undefined ? '' : `#${hash}`);
}

/** @param titles the title of each file's page, by name */
export function shelvesOf(titles: ReadonlyMap<string, string>): readonly Shelf[] {
  const place = (name: string) => ({ address: addressOfPage(name), title: titles.get(name) ?? name });
  const named = SHELVES.map(
    ([title, names]) => [title, names.split(' ').map((name) => `${name}.md`)] as const,
  );
  const known = new Set(named.flatMap(([, names]) => names));
  const shelves = named.map(([title, names], at) => ({
    title,
    places: [...names.filter((name) => titles.has(name)).map(place), ...(at === OWN_SHELF ? OWN : [])],
  }));
  const further = [...titles.keys()].filter((name) => !name.startsWith('adr/') && !known.has(name));
  return [...shelves, { title: 'More', places: further.map(place) }].filter(
    ({ places }) => places.length > 0,
  );
}
