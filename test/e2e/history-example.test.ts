/** docs/history.md, "An invoice, worked through", pasted: what the page shows below a block is what the block prints. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, expect, it } from 'vitest';
import { launch, ROOT, tempFolder } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

interface Example {
  readonly lines: string;
  /** The block right below it; null where there is none. */
  readonly shown: string | null;
}

function examplesOf(page: string): Example[] {
  const section = page.split(/^## /m).find((text) => text.startsWith('An invoice, worked through')) ?? '';
  return [...section.matchAll(/^```sh\n(.*?)^```\n(?:\n```\n(.*?)^```\n)?/gms)].map(
    ([, lines = '', shown = null]) => ({ lines, shown }),
  );
}

async function openDemo(): Promise<Record<string, string>> {
  const demo = launch('node', [join(ROOT, 'dist/cli.js'), 'demo'], {
    PORT: '0',
    ADMIN_PORT: '0',
    GATEWAY_TEST_CLOCK: '1',
    TMPDIR: await tempFolder(),
  });
  await waitFor('the last line', () => demo.stdout.includes('Ctrl-C stops everything.'), demo);
  const found = (pattern: RegExp) => pattern.exec(demo.stdout)?.[1] ?? '';
  return {
    PLATFORM: found(/^ {2}platform +(\S+)$/m),
    GATEWAY: found(/^ {2}gateway +(\S+)$/m),
    ADMIN: `${found(/^ {2}admin +(\S+)$/m)}/admin/v1`,
    KEY: found(/x-api-key: (\w+)/),
    ADMIN_TOKEN: found(/Bearer (dga_[^']+)'/),
  };
}

const shells = new Set<ChildProcess>();
afterAll(() => {
  for (const shell of shells) shell.kill('SIGKILL');
});

const END = '---- the block has ended';

/** One shell for all blocks, as a terminal is. @returns runs a block, and gives what it prints */
async function openTerminal(env: Record<string, string>): Promise<(block: string) => Promise<string>> {
  const shell = spawn('sh', [], {
    cwd: await tempFolder(),
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  shells.add(shell);
  const lines = createInterface({ input: shell.stdout })[Symbol.asyncIterator]();
  return async (block) => {
    shell.stdin.write(`${block}\necho; echo '${END}'\n`);
    const printed: string[] = [];
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`the shell has ended: ${printed.join('\n')}`);
      if (value === END) return printed.join('\n').trim();
      printed.push(value);
    }
  };
}

/** A block that only asks may be pasted again: what an answer brought is written down behind it, a moment later. */
const onlyAsks = (lines: string) => lines.split('\n').every((line) => line === '' || line.startsWith('ask '));

it('an invoice of October: its pin, what changed since, and what was known on the 3rd', async () => {
  const examples = examplesOf(await readFile(join(ROOT, 'docs/history.md'), 'utf8'));
  const paste = await openTerminal(await openDemo());
  const shown: string[] = [];
  for (const example of examples) {
    const expected = (example.shown ?? '').trim();
    const first = await paste(example.lines);
    if (onlyAsks(example.lines))
      await expect.poll(() => paste(example.lines), { timeout: 60_000 }).toBe(expected);
    else expect(first, example.lines).toBe(expected);
    if (expected !== '') shown.push(expected);
  }
  expect([examples.length, shown.length]).toEqual([6, 4]);
});
