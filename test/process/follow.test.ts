/** docs/clients.md: programs that follow the feed of changes, run against a gateway with a simulated platform that restates days. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { encodeEntry } from '../../src/reports/feed/entry.js';
import { type LiveScene, liveScene } from '../gateway/changes-live-scene.js';
import { ROOT, tempFolder } from '../support/processes.js';
import { reportIn } from '../support/start-gateway.js';
import { HOUR } from '../support/test-clock.js';

const [FIRST, LAST] = ['2026-11-14', '2026-11-20'];
const REPORT = 'advertiserId=1&byDate=1&byCampaign=1';
const RANGE = `${REPORT}&dateFrom=${FIRST}&dateTo=${LAST}`;

let page: string;
beforeAll(async () => {
  page = await readFile(join(ROOT, 'docs/clients.md'), 'utf8');
});

/** The one recipe in a language, in a folder of its own. */
async function recipe(language: string, file: string): Promise<string> {
  const found = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))];
  expect(found).toHaveLength(1);
  const path = join(await tempFolder(), file);
  await writeFile(path, found[0]?.[1] ?? '');
  return path;
}

function environment({ url, key }: LiveScene) {
  const { PATH = '', HOME = '', PYTHONPATH = '' } = process.env;
  return { PATH, HOME, PYTHONPATH, GATEWAY_URL: url, DSP_GATEWAY_KEY: key };
}

const python = async (args: readonly string[], env: NodeJS.ProcessEnv = process.env) =>
  await promisify(execFile)('python3', args, { env });
const hasDuckDb = () =>
  python(['-c', 'import duckdb']).then(
    () => true,
    () => false,
  );

/** The place of this table in another feed. */
const lose = (file: string) =>
  python([
    '-c',
    `import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE place SET next = 'other' || substr(next, instr(next, '_'))")
db.commit()`,
    file,
  ]);

/** Numbers from 0 up to a limit, the same in each run. */
function random(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % limit;
  };
}

/** Days that the platform restates at random, each of which is seen by somebody's request. */
async function restate({ gateway, ask }: LiveScene, next: (limit: number) => number): Promise<void> {
  for (let n = 0; n < 3; n += 1) {
    const day = `2026-11-${14 + next(7)}`;
    gateway.simulator.restate({ advertiserId: 1, from: day, to: day });
    gateway.clock.advance(2 * HOUR);
    await ask(RANGE);
    gateway.clock.advance(2 * HOUR);
    await ask(RANGE);
  }
}

/** Every day that the platform restates, and somebody's request sees. */
async function restateAll({ gateway, ask }: LiveScene): Promise<void> {
  gateway.simulator.restate({ advertiserId: 1, from: FIRST, to: LAST });
  gateway.clock.advance(2 * HOUR);
  await ask(RANGE);
  gateway.clock.advance(2 * HOUR);
  await ask(RANGE);
}

/** Rows of a table of the loader, in order. */
async function rowsIn(file: string): Promise<unknown[]> {
  const module = file.endsWith('.duckdb') ? 'duckdb' : 'sqlite3';
  const query = 'SELECT row FROM facts WHERE date BETWEEN ? AND ? ORDER BY date, n';
  const program = `import json, sys, ${module}
print(json.dumps([json.loads(row) for (row,) in ${module}.connect(sys.argv[1]).execute("${query}", sys.argv[2:4]).fetchall()]))`;
  const { stdout } = await python(['-c', program, file, FIRST, LAST]);
  return JSON.parse(stdout) as unknown[];
}

/** The cells of the platform: what a report shows that was fetched just now. */
const cells = async ({ ask, gateway }: LiveScene) => {
  const { data } = reportIn(await ask(RANGE));
  const truth = gateway.simulator.truth({
    advertiserId: 1,
    dateFrom: FIRST,
    dateTo: LAST,
    byDate: true,
    byCampaign: true,
  });
  const sums = (rows: readonly object[]) =>
    rows.map((row) => Object.entries(row).find(([name]) => name === 'impressions')?.[1]);
  expect(sums(data).map(Number)).toEqual(sums(truth).map(Number));
  return data;
};

const FILES = ['facts.db', 'facts.duckdb'];

it.each(FILES)('the loader in Python keeps the cells of the platform in %s', async (name) => {
  if (name.endsWith('.duckdb') && !(await hasDuckDb()))
    return expect(process.stderr.write('not run: python3 has no module duckdb\n')).toBeDefined();
  const scene = await liveScene({}, '&byCampaign=1');
  await scene.ask(RANGE);
  const program = await recipe('python3', 'follow.py');
  const file = join(await tempFolder(), name);
  const load = () => python([program, file, FIRST, LAST], environment(scene));
  const next = random(7);
  for (let round = 0; round < 3; round += 1) {
    const { stderr } = await load();
    expect(stderr).toBe('');
    expect(await rowsIn(file)).toEqual(await cells(scene));
    await restate(scene, next);
  }
  expect(await rowsIn(file)).not.toEqual(await cells(scene));
  await load();
  expect(await rowsIn(file)).toEqual(await cells(scene));
});

it('the loader says what it has loaded, which days changed, and that it waits', async () => {
  const scene = await liveScene({}, '&byCampaign=1');
  await scene.ask(RANGE);
  const program = await recipe('python3', 'follow.py');
  const file = join(await tempFolder(), 'facts.db');
  const { stdout } = await python([program, file, FIRST, LAST], environment(scene));
  expect(stdout).toMatch(
    /^loaded 2026-11-14 to 2026-11-20: \d+ rows of 7 days\nreading which days have changed since\n\S+facts\.db has what the gateway has\n$/,
  );
  const child = spawn('python3', [program, file, FIRST, LAST, '--follow'], { env: environment(scene) });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await expect
    .poll(() => said)
    .toMatch(/^reading which days have changed since, then waiting for more; Ctrl-C ends\n$/);
  await scene.untilWaiting();
  await restateAll(scene);
  await expect.poll(() => said).toMatch(/^2026-11-20: other numbers$/m);
  const ended = once(child, 'exit');
  child.kill('SIGINT');
  expect((await ended)[0]).toBe(0);
});

it('the loader does not tell once more the days that it has loaded, whose first reading the feed tells later', async () => {
  const scene = await liveScene({}, '&byCampaign=1');
  const before = await scene.now();
  const program = await recipe('python3', 'follow.py');
  const file = join(await tempFolder(), 'facts.db');
  const load = () => python([program, file, FIRST, LAST], environment(scene));
  const loaded = (await load()).stdout;
  await scene.gateway.services.settled();
  expect(await scene.now()).not.toBe(before);
  expect(loaded + (await load()).stdout).not.toMatch(/^2026-/m);
});

it('the loader removes days that are deleted, and starts anew where its offset is lost', async () => {
  const scene = await liveScene({}, '&byCampaign=1');
  await scene.ask(RANGE);
  const program = await recipe('python3', 'follow.py');
  const file = join(await tempFolder(), 'facts.db');
  const load = () => python([program, file, FIRST, LAST], environment(scene));
  await load();
  expect((await rowsIn(file)).length).toBeGreaterThan(7);
  await scene.gateway.manage('POST', '/history/erase', { advertiserId: 1 });
  await scene.gateway.services.settled();
  await load();
  expect(await rowsIn(file)).toEqual([]);
  await lose(file);
  const { stdout } = await load();
  expect(stdout).toContain('loading all days anew\nloaded 2026-11-14 to 2026-11-20:');
  expect(await rowsIn(file)).toEqual(await cells(scene));
});

it('the loader skips days outside its range, and loads the table anew for another range', async () => {
  const scene = await liveScene({}, '&byCampaign=1');
  await scene.ask(RANGE);
  const program = await recipe('python3', 'follow.py');
  const file = join(await tempFolder(), 'facts.db');
  const load = (first: string, last: string) => python([program, file, first, last], environment(scene));
  const days = async () => [...new Set((await rowsIn(file)).map((row) => (row as { date: string }).date))];
  const two = ['2026-11-15', '2026-11-16'] as const;
  await load(...two);
  await restateAll(scene);
  await load(...two);
  expect(await days()).toEqual(two);
  await load(FIRST, LAST);
  expect(await rowsIn(file)).toEqual(await cells(scene));
});

it('the loader empties its table when its team loses the advertiser, and loads it anew when it is given back', async () => {
  const scene = await liveScene({}, '&byCampaign=1');
  await scene.ask(RANGE);
  const program = await recipe('python3', 'follow.py');
  const file = join(await tempFolder(), 'facts.db');
  const load = () => python([program, file, FIRST, LAST], environment(scene));
  const grants = async (given: number[], taken: number[]) => {
    const at = scene.gateway.clock.now();
    await scene.gateway.store.changes.append(
      encodeEntry({ type: 'grants', team: 'history', at, given, taken }),
    );
  };
  await load();
  await grants([], [1, 2]);
  await load();
  expect(await rowsIn(file)).toEqual([]);
  await grants([1], []);
  await load();
  expect(await rowsIn(file)).toEqual(await cells(scene));
});

it('the program for Node writes a line for each change, and goes on where it ended', async () => {
  const scene = await liveScene();
  const program = await recipe('mjs', 'follow.mjs');
  await symlink(join(ROOT, 'node_modules'), join(program, '../node_modules'));
  const file = join(await tempFolder(), 'place.txt');
  await writeFile(file, await scene.now());
  const start = () => {
    const child = spawn(process.execPath, [program, file], { env: environment(scene) });
    const lines: string[] = [];
    child.stdout.setEncoding('utf8').on('data', (text: string) => lines.push(...text.trim().split('\n')));
    onTestFinished(() => void child.kill('SIGKILL'));
    return { child, lines };
  };
  const kindsOf = (lines: readonly string[]) =>
    lines.map((line) => `${line.split('\t')[0]} ${line.split('\t')[1]?.slice(-10)}`);
  const one = start();
  await scene.untilWaiting();
  const query = 'advertiserId=1&byDate=1&dateFrom=2026-11-17&dateTo=2026-11-19';
  await scene.ask(query);
  await expect
    .poll(() => kindsOf(one.lines))
    .toEqual(['first 2026-11-17', 'first 2026-11-18', 'first 2026-11-19']);
  await expect.poll(() => readFile(file, 'utf8')).toBe(await scene.now());
  one.child.kill('SIGKILL');
  await scene.untilWaiting(0);
  await scene.restated(query);
  const two = start();
  await expect.poll(() => kindsOf(two.lines)).toEqual(['restated 2026-11-18']);
  expect(two.lines[0]).toMatch(/\t[\d.]+\t[\d.]+$/);
});
