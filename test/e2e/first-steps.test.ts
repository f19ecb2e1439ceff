/** docs/first-steps.md, pasted: each call is made to the demo, and what the page shows below it is what comes. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { launch, ROOT, tempFolder } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

interface Example {
  readonly command: string;
  /** The block right below it; empty where there is none. */
  readonly shown: string;
}

function examplesOf(page: string): Example[] {
  const blocks = [...page.matchAll(/^```(\w*)\n(.*?)^```\n(?=(\n```)?)/gms)];
  return blocks.flatMap(([, , text = '', followed], index) =>
    text.startsWith('curl ')
      ? [{ command: text, shown: followed === undefined ? '' : (blocks[index + 1]?.[2] ?? '') }]
      : [],
  );
}

/** Names of members, in their order, with what they hold; of lists the first item. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.entries(value).map(([name, member]) => [name, shapeOf(member)]);
}

async function openDemo(): Promise<{ readonly env: Record<string, string>; end(): Promise<void> }> {
  const demo = launch('node', [join(ROOT, 'dist/cli.js'), 'demo'], {
    PORT: '0',
    ADMIN_PORT: '0',
    TMPDIR: await tempFolder(),
  });
  await waitFor('the last line', () => demo.stdout.includes('Ctrl-C stops everything.'), demo);
  const KEY = /x-api-key: (\w+)/.exec(demo.stdout)?.[1] ?? '';
  const GATEWAY = /^ {2}gateway +(\S+)$/m.exec(demo.stdout)?.[1] ?? '';
  return {
    env: { PATH: process.env.PATH ?? '', KEY, GATEWAY },
    async end() {
      process.kill(demo.pid, 'SIGTERM');
      await demo.exited;
    },
  };
}

it('every call works as it is pasted, and answers what is shown below it', async () => {
  const examples = examplesOf(await readFile(join(ROOT, 'docs/first-steps.md'), 'utf8'));
  const demo = await openDemo();
  const shown: string[] = [];
  for (const example of examples) {
    const { stdout } = await promisify(execFile)('sh', ['-c', example.command], { env: demo.env });
    expect(stdout, example.command).not.toContain('"/docs/errors/');
    if (example.command.includes('_format=csv')) {
      expect(stdout.replaceAll('\r\n', '\n')).toBe(example.shown);
    } else if (example.shown !== '') {
      const [came, told] = [JSON.parse(stdout), JSON.parse(example.shown)] as Record<string, unknown>[];
      // The first call of a key has no usage yet, and numbers of a team are its own.
      const [{ usage: _, ...answer }, { usage: __, ...page }] = [came ?? {}, told ?? {}];
      expect(shapeOf(answer), example.command).toEqual(shapeOf(page));
      if ('data' in page) expect(answer.data).toEqual(page.data);
    }
    if (example.shown !== '') shown.push(example.command);
  }
  expect([examples.length, shown.length]).toEqual([5, 3]);
  await demo.end();
});
