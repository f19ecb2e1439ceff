/** docs/first-steps.md and "An invoice, worked through" of docs/history.md, pasted: each block prints what the page shows below it. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { launchCli, ROOT, tempFolder } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

interface Example {
  readonly text: string;
  /** The block right below it; empty where there is none. */
  readonly shown: string;
}

/** @param isExample whether a block is one, by its language and text */
function examplesIn(page: string, isExample: (language: string, text: string) => boolean): Example[] {
  const blocks = [...page.matchAll(/^```(\w*)\n(.*?)^```\n(?=(\n```)?)/gms)];
  return blocks.flatMap(([, language = '', text = '', followed], at) => {
    if (!isExample(language, text)) return [];
    const [, nextLanguage = '', next = ''] = blocks[at + 1] ?? [];
    return [{ text, shown: followed === undefined || isExample(nextLanguage, next) ? '' : next }];
  });
}
const pageOf = (name: string) => readFile(join(ROOT, 'docs', name), 'utf8');

/** Names of members, in their order, with what they hold; of lists the first item. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.entries(value).map(([name, member]) => [name, shapeOf(member)]);
}

/** @returns what the pages call by name: addresses, key and token of a demo of its own, whose clock may be set */
async function openDemo(): Promise<Record<string, string>> {
  const clock = { GATEWAY_TEST_CLOCK: '1' };
  const demo = launchCli(['demo'], { PORT: '0', ADMIN_PORT: '0', TMPDIR: await tempFolder(), ...clock });
  await waitFor('the last line', () => demo.stdout.includes('Ctrl-C stops everything.'), demo);
  const found = (pattern: RegExp) => pattern.exec(demo.stdout)?.[1] ?? '';
  return {
    PATH: process.env.PATH ?? '',
    PLATFORM: found(/^ {2}platform +(\S+)$/m),
    GATEWAY: found(/^ {2}gateway +(\S+)$/m),
    ADMIN: `${found(/^ {2}admin +(\S+)$/m)}/admin/v1`,
    KEY: found(/x-api-key: (\w+)/),
    ADMIN_TOKEN: found(/Bearer (dga_[^']+)'/),
  };
}

it('the first steps: every call works as it is pasted, and answers what is shown below it', async () => {
  const env = await openDemo();
  const examples = examplesIn(await pageOf('first-steps.md'), (_, text) => text.startsWith('curl '));
  for (const { text, shown } of examples) {
    const { stdout } = await promisify(execFile)('sh', ['-c', text], { env });
    expect(stdout, text).not.toContain('"/docs/errors/');
    if (text.includes('_format=csv')) expect(stdout.replaceAll('\r\n', '\n')).toBe(shown);
    else if (shown !== '') {
      const [came, told] = [JSON.parse(stdout), JSON.parse(shown)] as Record<string, unknown>[];
      // The first call of a key has no usage and no forecast yet, and numbers of a team are its own.
      const known = ({ usage: _, forecast: __, ...rest }: Record<string, unknown> = {}) => rest;
      const [answer, page] = [known(came), known(told)];
      expect(shapeOf(answer), text).toEqual(shapeOf(page));
      if ('data' in page) expect(answer.data).toEqual(page.data);
    }
  }
  expect([examples.length, examples.filter(({ shown }) => shown !== '').length]).toEqual([5, 3]);
});

const shells = new Set<ChildProcess>();
afterAll(() => {
  for (const shell of shells) shell.kill('SIGKILL');
});

const END = '---- the block has ended';

/** One shell for all blocks, as a terminal is. @returns runs a block, and gives what it prints */
async function openTerminal(): Promise<(block: string) => Promise<string>> {
  const shell = spawn('sh', [], {
    cwd: await tempFolder(),
    env: await openDemo(),
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
  const sections = (await pageOf('history.md')).split(/^## /m);
  const examples = examplesIn(
    sections.find((text) => text.startsWith('An invoice, worked')) ?? '',
    (language) => language === 'sh',
  );
  const paste = await openTerminal();
  for (const { text, shown } of examples) {
    const first = await paste(text);
    if (onlyAsks(text)) await expect.poll(() => paste(text), { timeout: 60_000 }).toBe(shown.trim());
    else expect(first, text).toBe(shown.trim());
  }
  expect([examples.length, examples.filter(({ shown }) => shown !== '').length]).toEqual([6, 4]);
});
