/** The pages of the documentation that come with the gateway, by their addresses below `/docs`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGE_ROOT } from '../../package-root.js';
import { type Rendered, renderMarkdown } from './markdown.js';

const FOLDER = fileURLToPath(new URL('docs/', PACKAGE_ROOT));
const START = 'index.md';
/** Has a page that is made from the catalogue, for either plane. */
const MADE_ELSEWHERE: ReadonlySet<string> = new Set(['errors.md']);

export interface Library {
  /** Names of files that have a page: `caching.md`, `adr/0001-fastify.md`. */
  readonly names: readonly string[];
  /** @param name one of them */
  page(name: string): Rendered;
  /** Its title, without rendering all of it. */
  titleOf(name: string): string;
}

/** Nothing where the folder is not there: the interface and the errors have pages all the same. */
export function openLibrary(folder = FOLDER): Library {
  const names = filesIn(folder);
  const rendered = new Map<string, Rendered>();
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  return {
    names,
    page(name) {
      const known = rendered.get(name);
      if (known !== undefined) return known;
      const page = renderMarkdown(read(name), (href) => addressOf(name, href, names));
      rendered.set(name, page);
      return page;
    },
    titleOf: (name) => /^# (.+)$/m.exec(read(name))?.[1]?.replaceAll('`', '') ?? name,
  };
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => name.replaceAll('\\', '/'))
      .filter((name) => name.endsWith('.md') && !MADE_ELSEWHERE.has(name))
      .sort();
  } catch {
    return [];
  }
}

/** Where a page is read: `caching.md` at `/docs/caching`. */
export function addressOfPage(name: string): string {
  if (name === START) return '/docs';
  return `/docs/${name.replace(/(\/index)?\.md$/, '')}`;
}

/** @returns where a link of one page leads; null for files that are not served */
export function addressOf(from: string, href: string, names: readonly string[]): string | null {
  if (/^(https?:|#|\/)/.test(href)) return href;
  const [path = '', hash] = href.split('#', 2);
  const name = posix.normalize(posix.join(posix.dirname(from), path));
  const fragment = hash === undefined ? '' : `#${hash}`;
  if (MADE_ELSEWHERE.has(name)) return addressOfPage(name) + fragment;
  return names.includes(name) ? addressOfPage(name) + fragment : null;
}
