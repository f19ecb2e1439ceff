/** The documentation leads somewhere, names what there is, and has the tables of the code. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { pageNames, shelvesOf } from '../../docs/build/library.js';
import { SCOPES } from '../../src/config/sign-in-settings.js';
import { CATALOGUE } from '../../src/errors/catalogue.js';
import { DECLARED } from '../../src/reports/query/declared-parameters.js';
import { GATEWAY_PARAMETERS } from '../../src/reports/query/parameters.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { measured } from '../support/measured.js';
import { withGateway } from '../support/start-gateway.js';
import { errorsPage, replacePart, switchesTable } from './pages.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface Page {
  /** From the repository's root. */
  readonly path: string;
  readonly text: string;
}

let pages: Page[];
const page = (path: string): string => pages.find((one) => one.path === path)?.text ?? '';

beforeAll(async () => {
  const below = await readdir(join(ROOT, 'docs'), { recursive: true });
  const paths = [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'CHANGELOG.md',
    ...below.map((name) => join('docs', name)),
  ];
  const markdown = paths.filter((path) => path.endsWith('.md'));
  pages = await Promise.all(
    markdown.map(async (path) => ({ path, text: await readFile(join(ROOT, path), 'utf8') })),
  );
});

/** Every match of a pattern's first group, with the page it is on. */
function mentions(pattern: RegExp): { readonly path: string; readonly found: string }[] {
  return pages.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map((match) => ({ path, found: match[1] as string })),
  );
}

describe('links', () => {
  it('lead to files that are there, and to headings that are on them', () => {
    const dead = mentions(/\]\(([^)\s]+)\)/g).filter(({ path, found }) => {
      if (/^https:\/\//.test(found)) return false;
      const [file = '', anchor] = found.split('#', 2);
      const target = file === '' ? path : relative(ROOT, join(ROOT, dirname(path), file));
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && !anchorsOf(page(target)).includes(anchor);
    });
    expect(dead).toEqual([]);
  });

  it('reach every page from the README', () => {
    const seen = new Set<string>();
    const walk = (path: string): void => {
      if (seen.has(path)) return;
      seen.add(path);
      for (const [, target = ''] of page(path).matchAll(/\]\(([^)#\s]+\.md)[^)]*\)/g))
        walk(join(dirname(path), target));
    };
    walk('README.md');
    expect(pages.map(({ path }) => path).filter((path) => !seen.has(path))).toEqual([]);
  });

  it('of the list beside each page lead, under each heading, to pages that the index has under it', () => {
    const titles = new Map(
      pageNames()
        .filter((name) => name !== 'index.md')
        .map((name) => [name, name]),
    );
    const index = page('docs/index.md');
    const far = shelvesOf(titles).flatMap(({ title, places }) => {
      const [, section = ''] = index.split(`## ${title}\n`);
      const [under = ''] = section.split('\n## ');
      const own = places.filter((place) => titles.has(place.title));
      return own.map((place) => place.title).filter((name) => !under.includes(`](${name}`));
    });
    expect(far).toEqual([]);
  });

  it('lead from the index to every page but single decisions', () => {
    const named = [...page('docs/index.md').matchAll(/\]\(([^)#\s]+\.md)/g)].map(([, name = '']) => name);
    const all = pages.map(({ path }) => relative('docs', path)).filter((path) => !path.startsWith('..'));
    const missing = all.filter((path) => !/^(index|adr\/\d.*)\.md$/.test(path) && !named.includes(path));
    expect(missing).toEqual([]);
  });
});

it('drawings say in words what they show, follow light and dark, and load nothing', async () => {
  const names = (await readdir(join(ROOT, 'docs', 'pictures'))).filter((name) => name.endsWith('.svg'));
  expect(names).not.toEqual([]);
  for (const name of names) {
    const text = await readFile(join(ROOT, 'docs', 'pictures', name), 'utf8');
    expect(text).toMatch(/<title id="[\w-]+">[^<]+<\/title>\n<desc id="[\w-]+">[^<]{100,}<\/desc>/);
    expect(text).toContain('@media(prefers-color-scheme:dark)');
    expect(text.replace('http://www.w3.org/2000/svg', '')).not.toMatch(
      /https?:|@import|@font-face|<image|<script/,
    );
  }
});

describe('names', () => {
  it('of files are files', () => {
    const files = mentions(/`((?:src|test|helm|config|docs|bench)\/[\w./-]*)`/g);
    expect(files.length).toBeGreaterThan(20);
    expect(files.filter(({ found }) => !existsSync(join(ROOT, found)))).toEqual([]);
  });
});

describe('the contract', () => {
  /** @returns what is quoted in a column of the tables below a heading */
  function told(heading: string, column: number): string[] {
    const [part = ''] = (page('docs/contract.md').split(`\n${heading}\n`)[1] ?? '').split('\n#');
    const rows = part.split('\n').filter((line) => line.startsWith('| '));
    const cells = rows.slice(1).map((line) => line.split(' | ')[column] ?? '');
    return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)).toSorted();
  }

  it('names every error, parameter and scope', () => {
    expect(told('## Errors', 1)).toEqual(Object.keys(CATALOGUE).toSorted());
    expect(told('### Parameters of a report', 0)).toEqual([...GATEWAY_PARAMETERS].toSorted());
    const ofLimitedTeams = page('docs/contract.md').split('### Parameters of a limited team')[1] ?? '';
    for (const [name, kind] of DECLARED)
      expect(ofLimitedTeams).toMatch(new RegExp(`\\| [^|]*\`${name}\`[^|]* \\| \`${kind}\` \\|`));
    expect(told('### Scopes', 0)).toEqual([...SCOPES].toSorted());
  });

  it('names every call that the planes describe of themselves', async () => {
    const gateway = await withGateway();
    const described = async (plane: typeof gateway.data) => {
      const { paths } = (await plane.inject('/openapi.json')).json<{ paths: Record<string, object> }>();
      return Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods)
          .filter((method) => method !== 'head')
          .map((method) => `${method.toUpperCase()} ${path}`),
      );
    };
    const ofAdmin = (call: string) => call.includes('/admin/v1');
    expect(told('## Admin plane', 0).filter(ofAdmin)).toEqual(
      (await described(gateway.admin)).filter(ofAdmin).toSorted(),
    );
    const own = (await described(gateway.data)).filter((call) => !call.includes('/api/v1/'));
    expect(own.length).toBeGreaterThan(2);
    expect(told('## Data plane', 0)).toEqual(expect.arrayContaining(own));
  });
});

describe('tables', () => {
  it('of errors are the catalogue', async () => {
    await expect(errorsPage()).toMatchFileSnapshot(join(ROOT, 'docs', 'errors.md'));
  });

  it('of switches are those of the simulator', async () => {
    const text = replacePart(page('docs/simulator.md'), 'switches', switchesTable());
    await expect(text).toMatchFileSnapshot(join(ROOT, 'docs', 'simulator.md'));
  });

  it('of metrics name each one with its labels', () => {
    const metrics = createMetrics(measured()).registry.getMetricsAsArray() as unknown as readonly {
      readonly name: string;
      readonly labelNames: readonly string[];
    }[];
    const are = metrics
      .filter(({ name }) => !/^dsp_gateway_(process|nodejs)_/.test(name))
      .map(({ name, labelNames }) => `${name} ${labelNames.map((label) => `\`${label}\``).join(', ')}`);
    const shown = [...page('docs/metrics.md').matchAll(/^\| `(dsp_gateway_\w+)` \| \w+ \|([^|]*)\|/gm)];
    const told = shown.map(([, name, labels = '']) => `${name} ${labels.trim()}`);
    expect(told.toSorted()).toEqual(are.toSorted());
  });
});

/** Headings as GitHub makes anchors of them. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
