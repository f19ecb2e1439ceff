/** `dsp-gateway cache` as an operator runs it, against a gateway that runs. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Explanation } from '../../src/api/data/explain.js';
import { admin, ask, daysBefore, newTeam, REPORT } from '../support/ask.js';
import { type OpenGateway, openGateway } from '../support/open-gateway.js';
import { runCli } from './run-cli.js';

let gateway: OpenGateway['gateway'];
let inside: OpenGateway['inside'];
let sim: OpenGateway['sim'];
let key: string;
let today: string;
beforeAll(async () => {
  ({ gateway, inside, sim } = await openGateway());
  ({ key } = await newTeam(gateway, { id: 'cli' }));
  today = await sim.today();
});
beforeEach(() => admin(gateway, 'POST', '/cache/purge', { all: true }));

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runAny(['cache', ...args], env);

const runAny = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runCli(args, { ADMIN_PORT: new URL(gateway.admin).port, ADMIN_TOKEN: gateway.adminToken, ...env }, '', {
    nowMs: inside.clock.now,
  });

const report = async (query: string) => {
  const { status } = await ask(`${gateway.data}${REPORT}?${query}`, { key });
  expect(status).toBe(200);
};
const week = (ago: number) =>
  `advertiserId=1&byDate=1&dateFrom=${daysBefore(today, ago)}&dateTo=${daysBefore(today, ago - 2)}`;

/** The first report of a kind has it proven, soon after its answer. The days that the test looks at are of its period. */
async function prove(): Promise<void> {
  const search = new URLSearchParams({ endpoint: 'campaigns/get', query: week(20) });
  await report(week(20));
  await expect
    .poll(
      async () => {
        const { policy } = (await admin(gateway, 'GET', `/cache/explain?${search}`)) as Explanation;
        return policy.divisibility?.state;
      },
      { timeout: 20_000 },
    )
    .toBe('proven');
}

/** The cells of a table's lines, below its rule. */
function tableIn(stdout: string): string[][] {
  const lines = stdout.split('\n');
  const rule = lines.findIndex((line) => /^-+( {2}-+)+$/.test(line));
  const heads = lines[rule - 1] as string;
  const starts = [...(lines[rule] as string).matchAll(/-+/g)].map(({ index, 0: dashes }) => [
    index,
    index + dashes.length,
  ]);
  const end = lines.indexOf('', rule);
  const cells = (line: string) => starts.map(([from, to]) => line.slice(from, to).trim());
  // A column is as wide as its widest cell: nothing stands between them.
  for (const line of lines.slice(rule + 1, end)) {
    expect(starts.every(([from = 0]) => from === 0 || line.slice(from - 2, from).trim() === '')).toBe(true);
  }
  return [cells(heads), ...lines.slice(rule + 1, end).map(cells)];
}

describe('cache explain', () => {
  it('shows each day in a table, and the call that would be made', async () => {
    const query = week(20);
    const { code, stdout, stderr } = await run(['explain', query]);
    expect([code, stderr]).toEqual([0, '']);
    const [from, middle, to] = [20, 19, 18].map((ago) => daysBefore(today, ago));
    expect(stdout).toMatch(/^GET \/api\/v1\/report\/campaigns\/get\?advertiserId=1&byDate=1&/);
    expect(stdout).toContain(
      'kept      as one period: the gateway has not yet tested whether single days add up\n',
    );
    expect(tableIn(stdout)).toEqual([
      ['date', 'state', 'as of', 'age', 'fresh for', 'rows'],
      ...[from, middle, to].map((date) => [date, 'missing', '–', '–', '–', '–']),
    ]);
    expect(stdout.endsWith(`A request now makes 1 platform call:\n  ${from} to ${to}\n`)).toBe(true);
  });

  it('shows what is learned, what is final, how old it is, and that no call is needed', async () => {
    await prove();
    inside.clock.pass(3_600_000);
    const { stdout } = await run(['explain', week(20)]);
    expect(stdout).toContain('kept      day by day: proven: a day has the same numbers in every period\n');
    expect(stdout).toMatch(/^learned {3}Cached by day\. A period of 28 days /m);
    const [, ...days] = tableIn(stdout);
    expect(days).toHaveLength(3);
    for (const [date, state, asOf, age, freshFor, rows] of days) {
      expect([state, rows]).toEqual(['final', '1']);
      expect(asOf).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect([date, age]).toEqual([date, expect.stringMatching(/^1 h( \d+ (min|s))?$/)]);
      expect(freshFor).toMatch(/^29 d 2[23] h$/);
    }
    expect(stdout.endsWith('A request now makes no platform call.\n')).toBe(true);
    expect((await runAny(['status'])).stdout).toMatch(/^by day +1 kind of reports, proven to add up$/m);
  });

  it('shows a refusal that is remembered', async () => {
    await sim.fault({ kind: 'status', status: 404, message: 'unknown' });
    const { status } = await ask(`${gateway.data}${REPORT}?${week(9)}`, { key });
    expect(status).toBe(404);
    const { stdout } = await run(['explain', week(9)]);
    expect(stdout).toMatch(/^refused {3}by the platform with 404, cached for \d+ s$/m);
    expect(stdout.endsWith('A request now makes no platform call.\n')).toBe(true);
  });

  it('prints for scripts what the admin API answers', async () => {
    await report(week(20));
    const { code, stdout } = await run(['explain', week(20), '--json']);
    expect(code).toBe(0);
    const search = new URLSearchParams({ endpoint: 'campaigns/get', query: week(20) });
    const answer = await admin(gateway, 'GET', `/cache/explain?${search}`);
    const timeless = (value: unknown) => JSON.stringify(value).replaceAll(/"(age|ttl)Seconds":-?\d+/g, '');
    expect(timeless(JSON.parse(stdout))).toBe(timeless(answer));
  });

  it('takes the whole address of a report, as an app or a log has it', async () => {
    const address = `https://gateway.example/api/v1/report/creatives/get?${week(9)}`;
    const { code, stdout } = await run(['explain', address]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^GET \/api\/v1\/report\/creatives\/get\?advertiserId=1&byDate=1&/);
    // Without a query it is an address still.
    expect((await run(['explain', 'https://gateway.example/api/v1/report/campaigns/get'])).stdout).toMatch(
      /^GET \/api\/v1\/report\/campaigns\/get\n/,
    );
    expect((await run(['explain', `?${week(9)}`])).stdout).toMatch(
      /^GET \/api\/v1\/report\/campaigns\/get\?/,
    );
  });

  it.each([['cache', 'explain'], ['learn']])(
    'takes an endpoint with its query: %s %s',
    async (...command) => {
      const { code, stdout } = await runAny([...command, `creatives/get?${week(9)}`], {
        GATEWAY_URL: gateway.data,
        DSP_GATEWAY_KEY: key,
      });
      expect(code).toBe(0);
      if (command[0] === 'cache') expect(stdout).toMatch(/^GET \/api\/v1\/report\/creatives\/get\?/);
    },
  );

  it('looks at another endpoint', async () => {
    const { code, stdout } = await run(['explain', 'advertiserId=1', '--endpoint', 'creatives/get']);
    expect(code).toBe(0);
    expect(stdout).toContain('/api/v1/report/creatives/get?advertiserId=1');
    expect(stdout).toContain('  open to open\n');
  });

  it('says what is wrong with a query, on standard error and by its code', async () => {
    const { code, stdout, stderr } = await run(['explain', 'advertiserId=x&dateFrom=2026-02-30']);
    expect([code, stdout]).toEqual([65, '']);
    expect(stderr).toMatch(/advertiserId must be .* \(1 of 2 faults\)$/m);
    expect(stderr).toMatch(/^ {2}\S*dateFrom must be /m);
  });
});

describe('cache purge', () => {
  const missing = async (query: string) => tableIn((await run(['explain', query])).stdout).at(-1)?.[1];

  it('forgets what it is told to, and nothing else', async () => {
    await report(week(20));
    const [from, to] = [daysBefore(today, 40), daysBefore(today, 30)];
    const other = await run(['purge', '--advertiser', '1', '--from', from, '--to', to]);
    expect(other).toMatchObject({
      code: 0,
      stdout: `purged: advertiser 1, days ${from} to ${to}\n`,
      stderr: '',
    });
    expect(await missing(week(20))).toBe('final');
    const own = await run(['purge', '--endpoint', 'campaigns/get']);
    expect(own).toMatchObject({ code: 0, stdout: 'purged: endpoint campaigns/get\n', stderr: '' });
    expect(await missing(week(20))).toBe('missing');
  });

  it('makes entries stale with --soft, and names the price with --dry-run', async () => {
    await report(week(20));
    const scope = ['purge', '--advertiser', '1', '--soft'];
    const { stdout } = await run([...scope, '--dry-run']);
    expect(stdout).toMatch(
      /^would be stale: advertiser 1\n\d+ known reports? would be fetched again by at least \d+ platform calls?, in the background, when requested\n$/,
    );
    expect(await missing(week(20))).toBe('final');
    expect(await run(scope)).toMatchObject({ code: 0, stdout: 'stale: advertiser 1\n', stderr: '' });
    const purgedAt = new Date(inside.clock.now()).toISOString();
    expect(await missing(week(20))).toBe(`stale (purged ${purgedAt})`);
    // Without confirmation: nothing is lost.
    expect((await run(['purge', '--all', '--soft'])).stdout).toMatch(/^stale: all \(about /);
    expect((await run(['purge', '--soft'])).code).toBe(64);
  });

  it('forgets everything, and says so for scripts', async () => {
    await report(week(20));
    const { code, stdout } = await run(['purge', '--all', '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([0, { purged: 'all' }]);
    expect(await missing(week(20))).toBe('missing');
  });

  it.each([
    [[], 64, 'or --all'],
    [['--all', '--advertiser', '1'], 64, '--all excludes other options'],
    [['--advertiser', 'x'], 65, '--advertiser <id>'],
    [['--from', '2026-02-30'], 65, '--from must be'],
    [['--from', '2026-11-02', '--to', '2026-11-01'], 65, '--to must'],
  ])('refuses %j, names what is wrong, and forgets nothing', async (args, wanted, words) => {
    await report(week(20));
    const { code, stdout, stderr } = await run(['purge', ...args]);
    expect([code, stdout]).toEqual([wanted, '']);
    expect(stderr).toContain(words);
    expect(await missing(week(20))).toBe('final');
  });
});

describe('both', () => {
  const both: readonly [string, readonly string[]][] = [
    ['explain', ['explain', 'advertiserId=1']],
    ['purge', ['purge', '--all']],
  ];

  it.each(both)('%s explains itself, with an example', async (name) => {
    const { code, stdout } = await run([name, '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain(`dsp-gateway cache ${name}`);
    expect(stdout).toContain('Example');
    expect(stdout).toContain('--json');
  });

  it.each(both)('%s says that there is no gateway', async (_name, args) => {
    const { code, stdout, stderr } = await run(args, { ADMIN_PORT: '1' });
    expect([code, stdout]).toEqual([69, '']);
    expect(stderr).toContain('http://127.0.0.1:1 cannot be reached');
  });

  it.each(both)('%s does nothing with a wrong token, and does not repeat it', async (_name, args) => {
    const { code, stdout, stderr } = await run(args, { ADMIN_TOKEN: 'WRONG-TOKEN' });
    expect([code, stdout]).toEqual([77, '']);
    expect(stderr).not.toBe('');
    expect(stderr).not.toContain('WRONG-TOKEN');
  });

  it.each([[['explain']], [['purge', '--everything']], [['forget']]])(
    'refuses the command line %j as such',
    async (args) => {
      const { code, stdout, stderr } = await run(args);
      expect([code, stdout]).toEqual([64, '']);
      expect(stderr).toContain('error:');
    },
  );
});
