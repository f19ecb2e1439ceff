/** docs/recipes.md: recipes are taken from the page and run against a gateway with a simulated platform. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { newTeam } from '../support/ask.js';
import { type Gateway, ROOT, startGateway, startPlatform, tempFolder } from '../support/processes.js';

let gateway: Gateway;
let key: string;
let page: string;
beforeAll(async () => {
  gateway = await startGateway((await startPlatform()).env);
  ({ key } = await newTeam(gateway, { id: 'growth', advertisers: [1] }));
  page = await readFile(join(ROOT, 'docs/recipes.md'), 'utf8');
});

/** The one recipe in a language. */
function recipe(language: string): string {
  const found = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))];
  expect(found).toHaveLength(1);
  return found[0]?.[1] ?? '';
}

/** @returns what it wrote, failed or not */
async function run(program: string, file: string, text: string, advertiser: string) {
  const path = join(await tempFolder(), file);
  await writeFile(path, text);
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, DSP_GATEWAY_URL: gateway.data, DSP_GATEWAY_KEY: key };
  const ran = promisify(execFile)(program, [path, advertiser, '2026-10-01', '2026-10-03'], { env });
  const {
    stdout,
    stderr,
    code = 0,
  } = (await ran.catch((error: { stdout: string; stderr: string; code: number }) => error)) as {
    stdout: string;
    stderr: string;
    code?: number;
  };
  return { lines: stdout.trim().split(/\r?\n/), stderr, code };
}

describe('the recipe for Node', () => {
  it('writes the days of a report, and which may still change', async () => {
    const { lines, stderr, code } = await run('node', 'report.mjs', recipe('js'), '1');
    expect(lines.map((line) => line.split(',')[0])).toEqual(['2026-10-01', '2026-10-02', '2026-10-03']);
    expect(lines.every((line) => /^[\d-]+,\d+,\d+,[\d.]+$/.test(line))).toBe(true);
    expect([stderr, code]).toEqual(['all days are final\n', 0]);
  });

  it('says why there is nothing', async () => {
    const { stderr, code } = await run('node', 'report.mjs', recipe('js'), '2');
    expect(stderr).toContain('advertiser_forbidden: Use an advertiser of your team');
    expect(code).not.toBe(0);
  });
});

describe('the recipe for Python', () => {
  it('writes the days of a report as CSV', async () => {
    const { lines, stderr, code } = await run('python3', 'report.py', recipe('python'), '1');
    expect([stderr, code]).toEqual(['', 0]);
    expect(lines[0]).toMatch(/^date,advertiserId,currency,impressions,/);
    expect(lines.slice(1).map((line) => line.split(',')[0])).toEqual([
      '2026-10-01',
      '2026-10-02',
      '2026-10-03',
    ]);
  });

  it('says why there is nothing', async () => {
    const { stderr, code } = await run('python3', 'report.py', recipe('python'), '2');
    expect([stderr.trim(), code]).toEqual([
      expect.stringMatching(/^advertiser_forbidden: Use an advertiser/),
      1,
    ]);
  });
});

describe('recipes that are not run here, for their programs are not', () => {
  it.each(['r', 'sql', 'gs', 'powerquery'])(
    'in %s: hold no key, and ask for what there is',
    async (language) => {
      const text = recipe(language);
      expect(text).not.toMatch(/dgw_\w/);
      expect(text).toContain('report/campaigns/get');
      expect(text).toMatch(/_format`?\s*=\s*"?csv/);
      expect(text).toContain('x-api-key');
    },
  );

  it('for Sheets: is JavaScript', () => {
    expect(() => new Function(recipe('gs'))).not.toThrow();
  });
});
