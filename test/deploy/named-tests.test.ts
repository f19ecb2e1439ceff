/** Pages that say by which test something is shown: each test that they name exists, by file and title. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/processes.js';

/** Of each page, how many tests it names at least: a pattern that finds nothing proves nothing. */
const PAGES = { 'docs/standards.md': 60, 'docs/security.md': 25, 'docs/hostile-cases.md': 80 };

interface Named {
  readonly file: string;
  /** null where the page names the whole file. */
  readonly title: string | null;
}

/** @returns file and titles of each `test/…`: “title”, “title” */
function namedOn(text: string): Named[] {
  return [...text.matchAll(/`(test\/[\w./-]+\.(?:test\.ts|test\.tsx|mjs))`((?::? ?,? ?“[^”]+”)*)/g)].flatMap(
    ([, file = '', titles = '']): Named[] => {
      const each = [...titles.matchAll(/“([^”]+)”/g)].map(([, title = '']) => ({ file, title }));
      return each.length === 0 ? [{ file, title: null }] : each;
    },
  );
}

/** Whether a test or a group of tests has this title, and not only a comment. */
function hasTitle(source: string, title: string): boolean {
  const words = title.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll("'", "\\\\?'");
  const call = String.raw`(?:\bit|\bdescribe|\btest|\))(?:\.[\w.]+)*\(\s*`;
  return new RegExp(`${call}(['"\`])${words}\\1`).test(source);
}

describe('a page that names tests', () => {
  it.each(Object.entries(PAGES))('%s names such as there are', (page, least) => {
    const named = namedOn(readFileSync(join(ROOT, page), 'utf8'));
    const missing = named.filter(({ file, title }) => {
      if (!existsSync(join(ROOT, file))) return true;
      return title !== null && !hasTitle(readFileSync(join(ROOT, file), 'utf8'), title);
    });
    expect(missing).toEqual([]);
    expect(named.filter(({ title }) => title !== null).length).toBeGreaterThan(least);
  });

  it('is found out when there is none', () => {
    const source = "// of a comment\nit.each([1])('of %s', () => {});\ndescribe('a group', () => {});";
    expect(['of %s', 'a group', 'of', 'of a comment'].map((title) => hasTitle(source, title))).toEqual([
      ...[true, true, false, false],
    ]);
    expect(namedOn('`test/a.test.ts`: “one”, “two”, `test/b.test.ts`')).toEqual([
      { file: 'test/a.test.ts', title: 'one' },
      { file: 'test/a.test.ts', title: 'two' },
      { file: 'test/b.test.ts', title: null },
    ]);
  });
});
