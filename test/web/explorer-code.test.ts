/** The question on screen as code: quoted so that nothing in it is run, and run as it stands against a real gateway. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { snippetsOf } from '../../src/web/explorer/code.js';
import { FIRST_QUESTION, pathOf, type Question, readQuestion } from '../../src/web/explorer/question.js';
import { ask, newTeam } from '../support/ask.js';
import { type OpenGateway, openGateway } from '../support/open-gateway.js';
import { tempFolder } from '../support/processes.js';

const run = promisify(execFile);
const ORIGIN = 'http://127.0.0.1:8080';

const HOSTILE = [
  `'; touch owned; '`,
  '$(touch owned)`touch owned`$' + '{HOME}',
  '"\\"\\\\ \\u0041 \\n',
  'line\nbreak\r\ttab',
  'Größe 広告 🙂 \u202eabc\u2028\u0085\u{e0041}',
  '%s%n {{x}} [1-3] {a,b} #@&=+',
  '\u0000',
];

const text = fc.oneof(
  fc.constantFrom(...HOSTILE),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
);

/** Whatever an address may hold. */
const questions: fc.Arbitrary<Question> = fc
  .record({
    endpoint: text,
    advertiserId: text,
    period: text,
    dateFrom: text,
    dateTo: text,
    spentBased: text,
    asOf: text,
  })
  .map((part) => ({ ...FIRST_QUESTION, ...part }));

const hostile = fc.sample(questions, { numRuns: 150, seed: 1 });
const snippetOf = (question: Question, name: string, origin = ORIGIN): string =>
  snippetsOf(question, origin).find((one) => one.name === name)?.text ?? '';
const addressOf = (question: Question, format = 'json'): string =>
  new URL(pathOf(question, { _format: format }), ORIGIN).href;
const normal = (url: string): string => new URL(url).href;

/** Parameters as a server reads them: encoders differ in which characters they leave. */
function readAs(url: string): { readonly path: string; readonly query: [string, string][] } {
  const { pathname, searchParams } = new URL(url);
  return { path: decodeURIComponent(pathname), query: [...searchParams] };
}

/** Signs beyond the first plane stay as they are: an escape of two halves is no sign to Python. */
const HIGH = /[\u{10000}-\u{10ffff}]/gu;

const AsyncFunction = (async () => {}).constructor as new (
  ...args: string[]
) => (...given: unknown[]) => Promise<void>;

describe('whatever the question holds', () => {
  it('has one address by sh, and nothing in it is run', async () => {
    const folder = await tempFolder();
    // In the place of curl: tells its arguments, each ended by a zero.
    const script = ['curl() { printf "%s\\0" "$@"; }', ...hostile.map((one) => snippetOf(one, 'curl'))];
    const file = join(folder, 'all.sh');
    await writeFile(file, script.join('\n'));
    const { stdout } = await run('sh', [file], { cwd: folder, env: { DSP_GATEWAY_KEY: 'dgw_x y' } });
    const told = stdout.split('\0').slice(0, -1);
    expect(told).toHaveLength(hostile.length * 7);
    const calls = hostile.map((_, index) => told.slice(index * 7, index * 7 + 7));
    for (const [index, args] of calls.entries()) {
      expect(args.slice(4, 6)).toEqual(['--header', 'x-api-key: dgw_x y']);
      expect(normal(args[6] ?? '')).toBe(addressOf(hostile[index] as Question));
    }
  });

  it('has one address by JavaScript, and nothing in it is run', async () => {
    for (const question of hostile) {
      const asked: string[] = [];
      const fetch = async (url: string, { headers }: RequestInit) => {
        expect(headers).toEqual({ 'x-api-key': 'dgw_x' });
        asked.push(url);
        return { ok: true, json: async () => ({ data: [], meta: {} }) };
      };
      const snippet = new AsyncFunction('fetch', 'process', 'console', snippetOf(question, 'javascript'));
      await snippet(fetch, { env: { DSP_GATEWAY_KEY: 'dgw_x' } }, { log: () => {} });
      expect(asked.map(readAs)).toEqual([readAs(addressOf(question))]);
    }
  });

  it('has one address by Python, and nothing in it is run', async () => {
    const folder = await tempFolder();
    await writeFile(
      join(folder, 'snippets.json'),
      JSON.stringify(hostile.map((one) => snippetOf(one, 'python'))),
    );
    await writeFile(join(folder, 'all.py'), PYTHON_STUB);
    const { stdout } = await run('python3', ['all.py'], {
      cwd: folder,
      env: { DSP_GATEWAY_KEY: 'dgw_x' },
    });
    const asked = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as string[];
    expect(asked.map(readAs)).toEqual(hostile.map((question) => readAs(addressOf(question))));
  });

  it('has one address by Apps Script, and the rows go into the sheet', () => {
    for (const question of hostile) {
      const asked: string[] = [];
      const [services, written] = sheetServices(asked);
      new Function(...Object.keys(services), `${snippetOf(question, 'sheets')}\nrefresh();`)(
        ...Object.values(services),
      );
      expect(asked.map(normal)).toEqual([addressOf(question, 'csv')]);
      expect(written).toEqual([[['a', 'b']]]);
    }
  });

  it('writes no rows into the sheet where the answer has none', () => {
    const [services, written] = sheetServices([], []);
    new Function(...Object.keys(services), `${snippetOf(FIRST_QUESTION, 'sheets')}\nrefresh();`)(
      ...Object.values(services),
    );
    expect(written).toEqual([]);
  });

  it('shows no sign that is not seen, or that turns the direction of what is', () => {
    fc.assert(
      fc.property(questions, (question) => {
        for (const { text: code } of snippetsOf(question, ORIGIN))
          expect(code.replaceAll('\n', '').replaceAll(HIGH, '')).not.toMatch(/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/u);
      }),
    );
  });
});

const PYTHON_STUB = `
import io, json, urllib.request
asked = []
def urlopen(request):
    asked.append(request.full_url)
    assert request.get_header("X-api-key") == "dgw_x"
    return io.BytesIO(b'{"data": []}')
urllib.request.urlopen = urlopen
for snippet in json.load(open("snippets.json", encoding="utf-8")):
    exec(compile(snippet, "snippet", "exec"), {})
print(json.dumps(asked))
`;

/** Google's services, as far as the code uses them. */
function sheetServices(asked: string[], rows = [['a', 'b']]): [Record<string, unknown>, unknown[]] {
  const written: unknown[] = [];
  const sheet = {
    clearContents: () => {},
    getRange: (...range: number[]) => ({
      setValues: (rows: unknown) => {
        expect(range).toEqual([1, 1, 1, 2]);
        written.push(rows);
      },
    }),
  };
  const services = {
    PropertiesService: { getScriptProperties: () => ({ getProperty: () => 'dgw_x' }) },
    UrlFetchApp: {
      fetch: (url: string) => {
        asked.push(url);
        return { getResponseCode: () => 200, getContentText: () => 'a,b' };
      },
    },
    Utilities: { parseCsv: () => rows },
    SpreadsheetApp: { getActive: () => ({ getSheetByName: () => null, insertSheet: () => sheet }) },
  };
  return [services, written];
}

describe('against a real gateway', () => {
  let gateway: OpenGateway['gateway'];
  let key: string;
  let rows: unknown;
  let folder: string;
  const question = readQuestion(
    new URLSearchParams('advertiserId=1&byDate=1&byCampaign=1&_period=last_7_days&spentBased=usd'),
  ) as Question;

  beforeAll(async () => {
    ({ gateway } = await openGateway({ switches: { accountNames: 'hostile' } }));
    ({ key } = await newTeam(gateway, { id: 'growth' }));
    folder = await tempFolder();
    const shown = await ask(gateway.data + pathOf(question, { _format: 'json', _totals: '1' }), { key });
    rows = shown.json<{ data: unknown[] }>().data;
    expect((rows as unknown[]).length).toBeGreaterThan(7);
  });

  it.each([
    ['curl', 'sh', 'report.sh'],
    ['javascript', process.execPath, 'report.mjs'],
    ['python', 'python3', 'report.py'],
  ] as const)('%s gives the rows that the page shows', async (name, command, file) => {
    await writeFile(join(folder, file), snippetOf(question, name, gateway.data));
    const { PATH = '' } = process.env;
    const env = { PATH, DSP_GATEWAY_KEY: key };
    const { stdout } = await run(command, [file], { cwd: folder, env, maxBuffer: 50_000_000 });
    const told = JSON.parse(stdout) as { data?: unknown };
    expect(told.data ?? told).toEqual(rows);
    // What is refused ends in failure, with what to do.
    const refused = await run(command, [file], {
      cwd: folder,
      env: { ...env, DSP_GATEWAY_KEY: 'dgw_wrong' },
    }).catch((error: { stdout: string; stderr: string }) => error);
    expect(refused).toBeInstanceOf(Error);
    expect(refused.stdout + refused.stderr).toContain('invalid_api_key');
  });
});
