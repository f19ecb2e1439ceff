import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { kindsOfTests } from './kinds.js';

const HELPERS = {
  'starts.ts': "import { spawn } from 'node:child_process';\nexport const start = () => spawn('true');\n",
  'passes-on.ts': "export { start } from './starts.js';\n",
  'harmless.ts': "import type { start } from './starts.js';\nexport type Start = typeof start;\n",
};

async function kindOf(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-kinds-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, helper] of Object.entries({ ...HELPERS, 'new.test.ts': text })) {
    await writeFile(join(folder, name), helper);
  }
  const { quick, real } = kindsOfTests(folder);
  expect([...quick, ...real]).toEqual(['new.test.ts']);
  return quick.length === 1 ? 'quick' : 'real';
}

it.each([
  ['imports nothing', 'expect(1).toBe(1);'],
  ['imports a helper that starts nothing', "import { a } from './harmless.js';"],
  ['imports the type of what starts one', "import type { start } from './starts.js';"],
  ['tells of what starts one', "// import { spawn } from 'node:child_process';"],
])('a new test is quick when it %s', async (_what, text) => {
  expect(await kindOf(`${text}\n`)).toBe('quick');
});

it.each([
  ['starts a process itself', "import { spawn } from 'node:child_process';"],
  ['imports what starts one', "import { start } from './starts.js';"],
  ['imports it over several lines', "import {\n  start,\n  type Start,\n} from './starts.js';"],
  ['imports what passes it on', "import { start } from './passes-on.js';"],
  ['imports it when it runs', "const { start } = await import('./starts.js');"],
])('a new test is not quick when it %s', async (_what, text) => {
  expect(await kindOf(`${text}\n`)).toBe('real');
});

it('quick tests start no process, whatever they import', () => {
  const { spawn, execFileSync } = process.getBuiltinModule('node:child_process');
  expect(() => spawn('true')).toThrow('a process in a quick test');
  expect(() => execFileSync('true')).toThrow('a process in a quick test');
});

it('the folders of quick tests and of real ones hold what their names say', () => {
  const { quick, real } = kindsOfTests();
  const folders = (names: readonly string[]) => new Set(names.map((name) => name.split('/')[0]));
  for (const pure of ['report', 'policy', 'http']) expect(folders(real)).not.toContain(pure);
  expect(folders(quick)).not.toContain('process');
});
