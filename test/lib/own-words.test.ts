/** The texts in the source that people see: pages, command line, refusals, descriptions, log. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import ts from 'typescript-5';
import { expect, it } from 'vitest';
import { OWN_WORDS } from '../support/own-words.js';
import { ROOT } from '../support/processes.js';

/** Texts between tags, and literals that are sentences or titles: with a blank, or in an attribute. */
function textsIn(file: string, source: string): string[] {
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isJsxText(node)) texts.push(node.text);
    else if (
      ts.isStringLiteralLike(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddleOrTemplateTail(node)
    )
      if (node.text.includes(' ') || ts.isJsxAttribute(node.parent)) texts.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true));
  return texts;
}

const ownWords = (file: string, source: string) =>
  textsIn(file, source).filter((text) => OWN_WORDS.test(text));

it('finds a word of the source in texts, not in names, paths, settings and comments', () => {
  const source = [
    '// A generation of days.',
    "const truth = { vintage: 'first', path: '/gateway/v1/truth', about: 'See finality.mode and get_finality.' };",
    'const page = <Card title="Finality"><p>Found divisible {truth.path}</p>{`of this epoch`}</Card>;',
  ].join('\n');
  expect(ownWords('page.tsx', source)).toEqual(['Finality', 'Found divisible ', 'of this epoch']);
});

/** Without the simulator, which has switches of these names, and scripts that Redis runs. */
it('no text in the source has one: each has plain words', async () => {
  const files = (await readdir(join(ROOT, 'src'), { recursive: true })).filter(
    (file) => /\.tsx?$/.test(file) && !/^(?:simulator|store.redis)/.test(file),
  );
  const found = await Promise.all(
    files.map(async (file) =>
      ownWords(file, await readFile(join(ROOT, 'src', file), 'utf8')).map(
        (text) => `${file}: ${text.trim()}`,
      ),
    ),
  );
  expect(found.flat()).toEqual([]);
});
