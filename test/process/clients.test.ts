/** docs/clients.md: examples are taken from the page and run against a gateway with a simulated platform. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { newTeam } from '../support/ask.js';
import { failingFirst } from '../support/failing-first.js';
import { type OpenGateway, openGateway } from '../support/open-gateway.js';
import { ROOT, tempFolder } from '../support/processes.js';

let gateway: OpenGateway['gateway'];
let key: string;
let page: string;
beforeAll(async () => {
  ({ gateway } = await openGateway());
  ({ key } = await newTeam(gateway, { id: 'growth', advertisers: [1] }));
  page = await readFile(join(ROOT, 'docs/clients.md'), 'utf8');
});

/** The one recipe in a language. */
function recipe(language: string): string {
  const found = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))];
  expect(found).toHaveLength(1);
  return found[0]?.[1] ?? '';
}

/** @returns what it wrote, failed or not */
async function run(program: string, file: string, text: string, advertiser: string, url = gateway.data) {
  const path = join(await tempFolder(), file);
  await writeFile(path, text);
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, GATEWAY_URL: url, DSP_GATEWAY_KEY: key };
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

const REPEATING: readonly [string, string, string, string][] = [
  ['Node', 'node', 'report.mjs', 'js'],
  ['Python', 'python3', 'report.py', 'python'],
];

it.each(REPEATING)(
  'the example for %s does not repeat not_cached',
  async (_what, program, file, language) => {
    const { url, statuses } = await failingFirst([504, 504], 'not_cached');
    const { stderr, code } = await run(program, file, recipe(language), '1', url);
    expect([code, statuses]).toEqual([1, [504]]);
    expect(stderr.trim()).toBe('not_cached: Failed.\nRead.');
  },
);

it.each(REPEATING)(
  'the example for %s ends where the wait would be longer than a minute',
  async (_what, program, file, language) => {
    const { url, statuses } = await failingFirst([429, 429], 'upstream_budget_exhausted', '14815');
    const { stderr, code } = await run(program, file, recipe(language), '1', url);
    expect([code, statuses]).toEqual([1, [429]]);
    expect(stderr.trim()).toBe('upstream_budget_exhausted: Failed.\nRead.');
  },
);

it.each(REPEATING)(
  'the example for %s repeats a request that failed with 502, 504 or 503',
  async (_what, program, file, language) => {
    const { url, statuses } = await failingFirst([502, 504, 503]);
    const { lines, code } = await run(program, file, recipe(language), '1', url);
    expect([code, statuses, lines.at(-1)]).toEqual([0, [], '2026-10-01,1,1,1.5']);
  },
);

it.each(REPEATING)(
  'the example for %s says each fault of a request',
  async (_what, program, file, language) => {
    const text = recipe(language).replace(/byDate(: |=)1/, "byDate$1'x'");
    const { stderr, code } = await run(program, file, text, 'x');
    expect(stderr).toMatch(
      /^invalid_query: .* \(1 of 2 faults\)\n {2}advertiserId must .*\n {2}byDate must .*\nSend .*; .*\.\n$/,
    );
    expect(code).toBe(1);
  },
);

describe('the example for Node', () => {
  it('writes the days of a report, and which may still change', async () => {
    const { lines, stderr, code } = await run('node', 'report.mjs', recipe('js'), '1');
    expect(lines.map((line) => line.split(',')[0])).toEqual(['2026-10-01', '2026-10-02', '2026-10-03']);
    expect(lines.every((line) => /^[\d-]+,\d+,\d+,[\d.]+$/.test(line))).toBe(true);
    expect([stderr, code]).toEqual(['all days are final\n', 0]);
  });

  it('says why there is nothing', async () => {
    const { stderr, code } = await run('node', 'report.mjs', recipe('js'), '2');
    expect(stderr).toMatch(
      /^advertiser_forbidden: The team .*\nChoose one of the advertisers of your team \(1\).*\n$/,
    );
    expect(code).toBe(1);
  });
});

describe('the example for Python', () => {
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
      expect.stringMatching(
        /^advertiser_forbidden: The team .*\nChoose one of the advertisers of your team \(1\)/,
      ),
      1,
    ]);
  });
});

describe('the example for Sheets', () => {
  /** Google's four services, of which only the address is asked, by a program of its own: theirs waits for an answer. */
  const PLAYED = `
    const { execFileSync } = require('node:child_process');
    const asking = \`const [url, headers] = process.argv.slice(1);
      fetch(url, { headers: JSON.parse(headers) }).then(async (answer) =>
        process.stdout.write(JSON.stringify([answer.status, Object.fromEntries(answer.headers), await answer.text()])));\`;
    const cells = [];
    const sheet = {
      clearContents: () => cells.splice(0),
      getRange: (...at) => ({ setValues: (rows) => cells.push({ at, rows }) }),
    };
    const UrlFetchApp = {
      fetch(url, { headers }) {
        const [status, heads, text] = JSON.parse(
          execFileSync(process.execPath, ['-e', asking, url, JSON.stringify(headers)], { encoding: 'utf8' }),
        );
        return { getResponseCode: () => status, getHeaders: () => heads, getContentText: () => text };
      },
    };
    const PropertiesService = { getScriptProperties: () => ({ getProperty: (name) => process.env[name] }) };
    const SpreadsheetApp = { getActive: () => ({ getSheetByName: () => null, insertSheet: () => sheet }) };
    const Utilities = {
      sleep() {},
      parseCsv: (text) => text.trim().split('\\r\\n').map((line) => line.split(',')),
    };`;

  it('fills the sheet with the rows of a report', async () => {
    const program = `${PLAYED}\n${recipe('gs')}\nrefresh();\nconsole.log(JSON.stringify(cells));`;
    const { lines, stderr, code } = await run('node', 'report.cjs', program, '1');
    expect([stderr, code]).toEqual(['', 0]);
    const [{ at, rows }] = JSON.parse(lines[0] ?? '') as [{ at: number[]; rows: string[][] }];
    expect(rows[0]?.slice(0, 2)).toEqual(['date', 'advertiserId']);
    expect(rows.length).toBeGreaterThan(7);
    expect(at).toEqual([1, 1, rows.length, rows[0]?.length]);
  });
});

describe('examples whose programs may not be here', () => {
  it('in R: reads a report where there is R with httr2, and stands as it did elsewhere', async () => {
    const program = `${recipe('r')}\ncat(nrow(report), class(report$date), names(report)[1:3])`;
    if (!(await runs('Rscript', ['-e', 'library(httr2)']))) return expect(program).toContain('req_perform');
    const { lines, code } = await run('Rscript', 'report.R', program, '1');
    expect([lines.at(-1), code]).toEqual(['7 Date date advertiserId currency', 0]);
  });

  it('with pandas: reads a report where there is pandas, and stands as it did elsewhere', async () => {
    const program = `${recipe('py')}\nprint(report.date.dtype.kind, report.impressions.dtype.kind, len(report))`;
    if (!(await runs('python3', ['-c', 'import pandas'])))
      return expect(program).toContain('pandas.read_csv');
    const { lines, stderr, code } = await run('python3', 'report.py', program, '1');
    expect([stderr, lines, code]).toEqual(['', [expect.stringMatching(/^M i (29|30)$/)], 0]);
  });

  it('with DuckDB: reads a report through a pipe where there is DuckDB, and what it would read elsewhere', async () => {
    const [asked = '', read = ''] = recipe('sh').split(/(?<=\|\n)(?= *duckdb)/);
    const hasDuckDb = await runs('duckdb', ['-version']);
    const program = hasDuckDb ? asked + read : asked.replace(/\|\n$/, '');
    const { lines, stderr, code } = await run('sh', 'report.sh', program, '1');
    expect([stderr, code]).toEqual(['', 0]);
    expect(lines[0]).toMatch(hasDuckDb ? /^date,impressions$/ : /^date,advertiserId,currency,impressions,/);
    expect(lines.length).toBeGreaterThan(25);
    expect(read).toContain("read_csv('/dev/stdin')");
  });
});

/** Whether there is a program, with what it needs. */
const runs = (program: string, args: readonly string[]): Promise<boolean> =>
  promisify(execFile)(program, args).then(
    () => true,
    () => false,
  );
