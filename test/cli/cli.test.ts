/** The command line against a running gateway: what it does, what it says, and its exit codes. */

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Input } from '../../src/cli/terminal.js';
import { ask, newTeam, REPORT } from '../support/ask.js';
import { type OpenGateway, openGateway } from '../support/open-gateway.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { type Ran, runCli } from './run-cli.js';

const PROBE = '/api/v1/report/campaigns/get?advertiserId=1&dateFrom=2026-01-01&dateTo=2026-01-01';

let opened: OpenGateway;
let gateway: OpenGateway['gateway'];
let folder: string;
beforeAll(async () => {
  opened = await openGateway({ mints: true, env: { PLATFORM_PROBE: PROBE } });
  gateway = opened.gateway;
  folder = await mkdtemp(join(tmpdir(), 'dgw-cli-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** As an operator who has said once where the gateway is. */
const cli = (line: string, input: string | Input = ''): Promise<Ran> => {
  const env = { GATEWAY_ADMIN_URL: gateway.admin, ADMIN_TOKEN: gateway.adminToken };
  return runCli(line.split(' '), env, input, { nowMs: () => opened.inside.clock.now() });
};
const done = async (line: string, input?: string): Promise<Ran> => {
  const ran = await cli(line, input);
  expect(ran, line).toMatchObject({ code: 0, stderr: '' });
  return ran;
};
const outcome = async (key: string): Promise<unknown> => {
  const answer = await ask(`${gateway.data}${REPORT}?advertiserId=1&_period=yesterday`, { key });
  return answer.status === 200 ? 200 : answer.json().code;
};
/** Where nobody listens. */
async function closedAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await promisify(server.close.bind(server))();
  return `http://127.0.0.1:${port}`;
}
const inFile = async (name: string, text: string): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
};

it('lists of nothing say what to do next', async () => {
  expect((await done('teams list')).stdout).toContain('create one: dsp-gateway teams create <team>');
  expect((await done('keys list')).stdout).toContain('issue one: dsp-gateway keys issue <team>');
  expect((await done('teams list --json')).stdout).toBe('[]\n');
});

describe('teams', () => {
  it('are created, shown, listed, changed and deleted', async () => {
    const made = await done(
      'teams create growth --name Growth --advertisers 1,2 --max-range-days 92 --ip-allow 127.0.0.0/8',
    );
    expect(made.stdout).toMatch(/^team +growth\nname +Growth\nstate +active\nmanaged by +hand$/m);
    expect(made.stdout).toMatch(/^advertisers +1, 2$/m);
    expect((await done('teams show growth --json')).json()).toMatchObject({
      id: 'growth',
      name: 'Growth',
      advertisers: [1, 2],
      ipAllow: ['127.0.0.0/8'],
      limits: { maxRangeDays: 92, maxConcurrent: 32 },
    });
    await done(
      'teams update growth --advertisers all --scopes report:read,cache:refresh --disabled --default-format csv',
    );
    expect((await done('teams show growth --json')).json()).toMatchObject({
      name: 'Growth',
      advertisers: '*',
      scopes: ['report:read', 'cache:refresh'],
      disabled: true,
      defaultFormat: 'csv',
    });
    await done('teams update growth --advertisers none --scopes none --ip-allow none --enabled');
    expect((await done('teams show growth --json')).json()).toMatchObject({
      advertisers: [],
      scopes: [],
      ipAllow: [],
      disabled: false,
    });
    expect((await done('teams list')).stdout).toMatch(/^growth +Growth +none +600 +5000 +active +hand$/m);
    expect((await done('teams list --json')).json<{ id: string }[]>().map(({ id }) => id)).toContain(
      'growth',
    );
    expect((await done('teams delete growth --yes')).stdout).toBe('deleted: growth\n');
    expect((await done('teams list --json')).json<{ id: string }[]>().map(({ id }) => id)).not.toContain(
      'growth',
    );
  });

  it('have a write guard by a file of JSON, which is shown by its routes', async () => {
    const guard = { 'POST /api/v1/x': { amounts: [{ field: 'body.bid', max: 5 }] } };
    const file = await inFile('guard.json', JSON.stringify(guard));
    expect((await done(`teams create spender --write-guard ${file}`)).stdout).toMatch(
      /^write guard +POST \/api\/v1\/x$/m,
    );
    expect((await done('teams show spender --json')).json()).toMatchObject({ writeGuard: guard });
    expect((await done('teams update spender --write-guard -', '{}')).stdout).toMatch(
      /^write guard +refuses every write$/m,
    );
    expect((await done('teams update spender --write-guard none')).stdout).toMatch(/^write guard +none$/m);
    expect((await done('teams create saver --write-guard none')).stdout).toMatch(/^write guard +none$/m);
    const twice = await cli(
      'teams update spender --write-guard -',
      '{"POST /api/v1/x":{},"POST /api/v1/x":{}}',
    );
    expect([twice.code, twice.stderr]).toEqual([
      65,
      expect.stringContaining('standard input is not valid JSON'),
    ]);
    const wrong = await cli(
      'teams update spender --write-guard -',
      '{"GET /api/v1/x":{"amounts":[{"field":"body.bid","max":5}]}}',
    );
    expect(wrong.stderr).toContain('writeGuard.GET /api/v1/x');
    for (const id of ['spender', 'saver']) await done(`teams delete ${id} --yes`);
  });

  it('are deleted only by those who mean it', async () => {
    await done('teams create kept');
    const ran = await cli('teams delete kept');
    expect([ran.code, ran.stderr]).toEqual([64, expect.stringContaining('--yes')]);
    expect((await done('teams show kept --json')).json()).toMatchObject({ id: 'kept' });
  });

  it('with a name that would move the cursor are shown without that', async () => {
    await runCli(['teams', 'create', 'tricky', '--name', 'a\u001b[31mb'], {
      GATEWAY_ADMIN_URL: gateway.admin,
      ADMIN_TOKEN: gateway.adminToken,
    });
    const { stdout } = await done('teams list');
    expect(stdout).toContain('a�[31mb');
    expect(stdout).not.toContain('\u001b');
  });
});

describe('keys', () => {
  it('are issued, work, are rolled with an overlap, listed and revoked', async () => {
    await done('teams create keyed --advertisers 1');
    expect((await done('keys list keyed')).stdout).toBe(
      'There are no keys yet; issue one: dsp-gateway keys issue keyed --label <text>\n',
    );
    const issued = await done('keys issue keyed --label dashboards --expires 2199-01-01');
    const key = /^key +(dgw_\w+)$/m.exec(issued.stdout)?.[1] as string;
    const id = /^id +(key_\w+)$/m.exec(issued.stdout)?.[1] as string;
    expect(issued.stdout).toContain(`curl -s -H 'x-api-key: ${key}' ${gateway.data}/gateway/v1/me\n`);
    expect(await outcome(key)).toBe(200);
    const rolled = (await done(`keys roll ${id} --overlap 24h --json`)).json<{ key: string; id: string }>();
    expect(rolled.id).toBe(id);
    expect([await outcome(key), await outcome(rolled.key)]).toEqual([200, 200]);
    const [, row] = (await done('keys list keyed')).stdout.trim().split('\n').slice(1);
    expect(row).toMatch(new RegExp(`^${id} +keyed +dashboards +dgw_\\w{6} +valid +in \\d+ d`));
    expect(row).toMatch(/ (?:now|\d+ s ago), of either secret +dgw_\w+…, ends in 1 d$/);
    expect(await cli(`keys revoke ${id}`)).toMatchObject({
      code: 64,
      stderr: expect.stringContaining(`The key ${id} will be revoked permanently`),
    });
    expect(await outcome(key)).toBe(200);
    expect((await done(`keys revoke ${id} --yes`)).stdout).toBe(`revoked: ${id}\n`);
    expect([await outcome(key), await outcome(rolled.key)]).toEqual(['revoked_api_key', 'revoked_api_key']);
    // Its old secret is refused, too, and does not end in a day.
    expect((await done('keys list keyed')).stdout).toMatch(/ revoked +.* –$/m);
    const all = (await done('keys list --json')).json<{ id: string; revokedAt: string | null }[]>();
    expect(all.find((one) => one.id === id)?.revokedAt).toEqual(expect.any(String));
  });

  it('are listed as refused with the reason while their team is disabled', async () => {
    await done('teams create off');
    await done('keys issue off');
    await done('teams update off --disabled');
    expect((await done('keys list off')).stdout).toMatch(/ refused: team disabled +never /);
  });
});

it('a rolled key is told with its own end and that of the old secret, and a warning within 14 days', async () => {
  await done('teams create soon');
  const issued = await done('keys issue soon --expires 2026-12-01 --json');
  const { stdout } = await done(`keys roll ${issued.json<{ id: string }>().id} --overlap 0s --yes`);
  expect(stdout).toMatch(/\nWarning: the key ends in 9 d 12 h, and rolling it does not change that/);
  expect(stdout).toMatch(
    /dsp-gateway keys issue soon --expires <date>\.\nThe old secret has ended\.\n\nA first call, /,
  );
  const later = await done('keys issue soon --expires 2199-01-01 --json');
  expect(await cli(`keys roll ${later.json<{ id: string }>().id} --overlap 0s`)).toMatchObject({
    code: 64,
    stderr: expect.stringMatching(
      / ends at once, and calls with it are refused: right if it was lost or leaked, .* Repeat with --yes to do it\.$/m,
    ),
  });
  // As in the console: a day, without a question.
  expect((await done(`keys roll ${later.json<{ id: string }>().id}`)).stdout).toMatch(
    /\nThe old secret ends .*\(24 hours\);/,
  );
  const rolled = (await done(`keys roll ${later.json<{ id: string }>().id} --overlap 1h`)).stdout;
  expect(rolled).toMatch(/^expires +2199-01-01\S* \(in \d+ d/m);
  expect(rolled).toMatch(
    /\nThe old secret ends .*\(60 minutes\); the key's own end is unchanged\.\n\nA first call, /,
  );
  const text = /^key +(dgw_\w+)$/m.exec(rolled)?.[1];
  expect(rolled).toContain(`curl -s -H 'x-api-key: ${text}' ${gateway.data}/gateway/v1/me\n`);
  expect(rolled).not.toContain('Warning');
  await done('teams delete soon --yes');
});

it('help marks options that must be given', async () => {
  const { stdout } = await cli('writes stop --help');
  expect(stdout).toMatch(/--reason <text> .*\(required\)/s);
  expect(stdout).not.toMatch(/--team <\w+> [^-]*\(required\)/);
});

describe('the token', () => {
  it('is shown, staged from standard input or a file, verified, activated and rolled back, never printed', async () => {
    const minted = (await done('token show --json')).json<{ active: { id: string } }>().active.id;
    const token = await opened.sim.issueToken();
    const path = await inFile('token', `${token}\n`);
    const staged = await done(`token stage --from-file ${path} --expires 2199-01-01`);
    expect(staged.stdout).toMatch(
      /^pending +tok_\w+ .* staged .* no +in \d+ d (?:\d+ (?:h|min) )? *2199-01-01$/m,
    );
    const early = await cli('token activate');
    expect([early.code, early.stderr]).toEqual([
      4,
      'Verification failed: The pending token is not verified.\nVerify it by dsp-gateway token verify, or repeat with --force to activate it without verification.\n',
    ]);
    const spaced = await cli('token stage', 'two words\n');
    expect([spaced.code, spaced.stderr]).toEqual([
      65,
      expect.stringMatching(
        /^Invalid body: token must be printable ASCII characters without spaces, at most 16384\.\n/,
      ),
    ]);
    expect((await done('token verify')).stdout).toMatch(/^pending /m);
    expect((await done('token activate')).stdout).toMatch(/^active .* staged /m);
    const unasked = await cli('token rollback');
    expect([unasked.code, unasked.stderr]).toEqual([64, expect.stringContaining('Repeat with --yes')]);
    const back = await done('token rollback --yes --json');
    expect(back.json()).toMatchObject({ active: { id: minted }, previous: { source: 'staged' } });
    await done('token stage', 'another-token\n');
    expect((await done('token discard --json')).json()).toMatchObject({ pending: null });
    expect((await done('token rotate --mint')).stdout).toMatch(/^active /m);
    const shown = [staged, early, back].map(({ stdout, stderr }) => stdout + stderr).join('');
    expect(shown).not.toContain(token);
  });

  it('is rolled back to one that the platform has refused only by force, and shown as refused', async () => {
    const token = await opened.sim.issueToken();
    await done('token rotate', token);
    await opened.sim.revoke(token);
    // Its call replaces the token, as a request does.
    const { stdout } = await cli('doctor');
    expect(stdout).toMatch(/^ok +the token works: /m);
    expect((await done('token show --json')).json()).toMatchObject({
      active: { source: 'minted', refusedAt: null },
      previous: { refusedAt: expect.any(String) },
    });
    const refusal = await cli('token rollback --yes');
    expect([refusal.code, refusal.stdout]).toEqual([4, '']);
    expect(refusal.stderr).toMatch(
      /The platform has refused the previous token [0-9a-f]{16} since \d\d:\d\d UTC/,
    );
    expect(refusal.stderr).toContain('repeat with --force');
    const back = await done('token rollback --force --yes');
    expect(back.stdout).toMatch(/\n\nWarning: The platform refused this token at 20\S+Z\. If it still does/);
    expect((await done('token show')).stdout).toMatch(/^active .* refused /m);
    expect((await cli('status')).stdout).toMatch(/^NOT WELL: The platform refuses the token since /);
    expect((await done('token rollback --yes')).stdout).not.toContain('Warning');
  });

  it('is not rotated to one that the platform refuses', async () => {
    const before = (await done('token show --json')).json<{ active: object }>().active;
    const ran = await cli('token rotate', 'wrong-token-of-nobody');
    expect([ran.code, ran.stdout]).toEqual([4, '']);
    expect(ran.stderr).toContain('refused the token');
    expect(ran.stderr).not.toContain('wrong-token-of-nobody');
    expect((await done('audit --action token.verify --limit 1')).stdout).toMatch(
      /Z {2}admin failed to verify the token \S+: .*refused the token/,
    );
    expect((await done('token show --json')).json()).toMatchObject({ active: before, pending: null });
  });

  it.each([
    ['token rotate', '', 65, 'standard input is empty'],
    ['token stage --from-file /nowhere/token', '', 65, '/nowhere/token cannot be read'],
    ['token rotate --mint --from-file -', 'x', 64, '--mint excludes'],
    ['token stage --expires 2001-01-01', 'x', 65, '--expires must be an ISO date in the future'],
    ['token stage', 'x'.repeat(70_000), 65, 'more than 65536 bytes'],
  ])('%s says what is wrong', async (line, input, code, words) => {
    const ran = await cli(line, input);
    expect([ran.code, ran.stdout]).toEqual([code, '']);
    expect(ran.stderr).toContain(words);
  });
});

describe('secrets on the command line', () => {
  it.each([
    'token stage SECRET-OF-THE-TEST',
    'token rotate --token SECRET-OF-THE-TEST',
    'token rotate --token=SECRET-OF-THE-TEST',
    'token stage --platform-token SECRET-OF-THE-TEST',
    'teams list --admin-token SECRET-OF-THE-TEST',
    'keys revoke dgw_SECRET-OF-THE-TEST',
  ])('are refused and not repeated: %s', async (line) => {
    const ran = await cli(line);
    expect([ran.code, ran.stdout]).toEqual([64, '']);
    expect(ran.stderr).toMatch(/secrets are not accepted on the command line|allowed is an address/);
    expect(ran.stderr).not.toContain('SECRET-OF-THE-TEST');
  });
});

it.each(['http://SECRET-OF-THE-TEST@127.0.0.1', 'http://127.0.0.1?SECRET-OF-THE-TEST'])(
  'an address with a secret in it is refused and not repeated: %s',
  async (address) => {
    const ran = await cli(`status --url ${address}`);
    expect([ran.code, ran.stdout]).toEqual([65, '']);
    expect(ran.stderr).toContain('allowed is an address');
    expect(ran.stderr).not.toContain('SECRET-OF-THE-TEST');
  },
);

describe('the history', () => {
  it('of an advertiser is erased, and asks first', async () => {
    expect((await done('history erase --advertiser 7 --yes')).stdout).toBe(
      'erased: advertiser 7, 0 days of reports\n',
    );
    expect((await done('history erase --advertiser 7 --yes --json')).json()).toEqual({
      erased: 'advertiser 7',
      days: 0,
      complete: true,
    });
    expect(await cli('history erase --yes')).toMatchObject({ code: 64 });
  });

  it('of days that the platform no longer has is accepted as empty, with a dry run first', async () => {
    const command = 'history accept-empty --advertiser 7 --before 2026-01-01';
    const told = 'advertiser 7, days before 2026-01-01: 0 days of reports served from history\n';
    expect((await done(`${command} --dry-run`)).stdout).toBe(`would accept as empty: ${told}`);
    expect((await done(`${command} --yes`)).stdout).toBe(`accepted as empty: ${told}`);
    expect((await done(`${command} --endpoint creatives/get --dry-run --json`)).json()).toEqual({
      accepted: 'advertiser 7, endpoint creatives/get, days before 2026-01-01',
      days: 0,
      dryRun: true,
    });
    const wrong = await cli('history accept-empty --advertiser 7 --before yesterday --yes');
    expect(wrong.code).toBe(65);
    expect(wrong.stderr).toContain('before');
  });
});

it('the whole cache is forgotten at a terminal after a yes, or by --yes', async () => {
  const purge = (answer: string, ...more: string[]) =>
    runCli(
      ['cache', 'purge', '--all', ...more],
      { GATEWAY_ADMIN_URL: gateway.admin, ADMIN_TOKEN: gateway.adminToken },
      Object.assign(new PassThrough().end(answer), { isTTY: true }),
    );
  const no = await purge('n\n');
  expect([no.code, no.stdout]).toEqual([64, '']);
  expect(no.stderr).toMatch(/will be purged; .* \[y\/N\] nothing was done\n$/);
  expect((await purge('y\n')).stdout).toMatch(/^purged: all \(about \d+ answers? in memory, /);
  expect(await purge('', '--yes')).toMatchObject({ code: 0, stderr: '' });
});

it('usage shows how much the cache answered', async () => {
  await done('teams create asking --advertisers 1');
  const { key } = (await done('keys issue asking --json')).json<{ key: string }>();
  for (let left = 4; left > 0; left -= 1) expect(await outcome(key)).toBe(200);
  await expect
    .poll(async () => (await cli('usage --team asking')).stdout, { timeout: 20_000 })
    .toMatch(/^day +team +hit rate +requests .*\n.*\n\S+ +asking +(75|100) % +4 /);
  const summed = (await done('usage --by team')).stdout;
  expect(summed).toMatch(
    /^team +hit rate +requests .*\n(?:.*\n)*asking +(75|100) % +4 .*\n(?:.*\n)*all +\d+ % +\d+ /,
  );
  const { usage } = (await done('usage --by team --team asking --json')).json<{ usage: object[] }>();
  expect(usage).toMatchObject([{ team: 'asking', requests: 4 }]);
  expect(await cli('usage --by week')).toMatchObject({ code: 65 });
});

describe('status and audit', () => {
  it('name a key that ends soon as a note beside well, of which doctor warns', async () => {
    await done('teams create ending --advertisers 1');
    const expiresAt = new Date(opened.inside.clock.now() + 3 * 86_400_000).toISOString();
    const issued = await done(`keys issue ending --label dashboards --expires ${expiresAt} --json`);
    const { id } = issued.json<{ id: string }>();
    expect((await done('status')).stdout).toMatch(
      /^WELL\nnote: key 'dashboards' of team ending ends in 3 days\n/,
    );
    const { code, stdout } = await cli('doctor');
    expect([code, stdout]).toEqual([1, expect.stringContaining("'dashboards' of team ending")]);
    await done(`keys revoke ${id} --yes`);
    await done('teams delete ending --yes');
    expect((await done('status')).stdout).toMatch(/^WELL\n(?:note: .*\n)*\n(?:.*\n)*reports +/);
  });

  it('are told', async () => {
    const { stdout } = await done('status');
    expect(stdout).toMatch(/^WELL\n(?:note: .*\n)*\ntoken +ok, expires on \d{4}-\d\d-\d\d \(in \d+ d/);
    expect(stdout).toMatch(/^store +ok, embedded$/m);
    expect((await done('status --json')).json()).toMatchObject({ ready: true, verdict: { level: 'well' } });
    await done('teams create audited');
    const { stdout: trail } = await done('audit --limit 1');
    expect(trail).toMatch(
      /^\d{4}-\S+Z {2}admin created the team audited \(from 127\.0\.0\.1\)\nolder ones: --before \S+\n$/,
    );
    await done('teams update audited --upstream-calls-per-day 4321');
    expect((await done('audit --limit 1')).stdout).toMatch(
      /admin changed the team audited: platform calls a day \d+ → 4321 \(/,
    );
    await done('teams update audited --requests-per-minute 7 --max-concurrent 3 --max-range-days 9 --name x');
    expect((await done('audit --limit 1')).stdout).toMatch(/ \d+ → 7,.* and 1 more \(/);
    const [entry] = (await done('audit --action team.create --limit 1 --json')).json<
      { id: string; after: object }[]
    >();
    expect(entry?.after).toMatchObject({ id: 'audited' });
    await done('keys issue audited');
    const audited = async (search: string) =>
      (await done(`audit ${search} --json`)).json<{ action: string }[]>().map(({ action }) => action);
    expect(await audited('--team audited')).toEqual([
      ...['key.issue', 'team.update', 'team.update', 'team.create'],
    ]);
    expect(await audited('--team audited --action key --since 1h')).toEqual(['key.issue']);
    expect(await audited('--action team.create --limit 1')).toEqual(['team.create']);
    expect(await audited('--actor admin --search audited --limit 1')).toEqual(['key.issue']);
    expect(await audited('--actor somebody')).toEqual([]);
    expect(await audited('--since 2199-01-01')).toEqual([]);
    expect((await done('audit --since 2199-01-01')).stdout).toContain('no matching entries');
    const [older] = (await done(`audit --limit 1 --before ${entry?.id} --json`)).json<{ id: string }[]>();
    expect(older?.id).not.toBe(entry?.id);
  });
});

it('status tells each incident on lines of at most 100 characters, with what to run for its requests', async () => {
  const status = (await done('status --json')).json<object>();
  const requestIds = ['1', '2', '3'].map((digit) => `${digit.repeat(8)}-1111-4111-8111-111111111111`);
  const incident = {
    ...{ part: 'credential', from: '2026-11-01T12:00:30.000Z', until: '2026-11-01T12:03:10.000Z' },
    ...{ cause: 'the platform refused the token', failedReports: 7, requestIds },
    teams: [
      'growth',
      'warehouse',
      'bidding',
      'a-team-with-a-long-name',
      'another-team-with-a-long-name',
      'finance',
    ],
  };
  const { url } = await startRawPlatform(sends(JSON.stringify({ ...status, incidents: [incident] })));
  const { stdout } = await runCli(['status'], { GATEWAY_ADMIN_URL: url, ADMIN_TOKEN: 'any' });
  const [told = ''] = /^incident .*\n(?: .*\n)*/m.exec(stdout) ?? [];
  const lines = told.trimEnd().split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  expect(lines.map((line) => line.replace(/^(?:incident)? +/, ''))).toEqual([
    '2026-11-01 12:00 to 12:03 UTC (3 minutes): the platform refused the token;',
    '7 reports failed (growth, warehouse, bidding, a-team-with-a-long-name,',
    'another-team-with-a-long-name, finance)',
    'one of them: dsp-gateway requests show 11111111',
    'others: 22222222, 33333333',
    'and 4 more: dsp-gateway requests list --part token --since 2026-11-01T12:00Z \\',
    '--until 2026-11-01T12:03:59.999Z',
  ]);
});

it('status says that incidents are not known while the store does not answer', async () => {
  const status = (await done('status --json')).json<object>();
  const { url } = await startRawPlatform(sends(JSON.stringify({ ...status, incidents: null })));
  const { stdout } = await runCli(['status'], { GATEWAY_ADMIN_URL: url, ADMIN_TOKEN: 'any' });
  expect(stdout).toMatch(/^incidents +not known: /m);
});

it('status tells since when it is not well once: at its only finding, else of the whole', async () => {
  const since = new Date(opened.inside.clock.now() - 60_000).toISOString();
  const finding = { level: 'not well', part: 'platform', says: 'Calls fail.', do: 'Look.', since };
  const status = (await done('status --json')).json<object>();
  const shown = async (...findings: object[]) => {
    const answer = JSON.stringify({ ...status, notes: [], verdict: { level: 'not well', since, findings } });
    const { url } = await startRawPlatform(sends(answer));
    return (await runCli(['status'], { GATEWAY_ADMIN_URL: url, ADMIN_TOKEN: 'any' })).stdout;
  };
  const one = await shown(finding);
  expect(one).toMatch(/^NOT WELL: Calls fail\.\n {2}since: .*\n {2}do: Look\.\n\n/);
  expect(one).not.toContain('Not well since');
  expect(await shown(finding, finding)).toMatch(/\nNot well since /);
});

it('status says that it is well again, with exit code 0', async () => {
  const says =
    'Well again since 12:01:07 UTC, after 67 seconds: failed calls: status 500: 4; 4 reports failed.';
  const recovered = { part: 'platform', at: '2026-11-21T12:01:07.000Z', says };
  const status = (await done('status --json')).json<object>();
  const verdict = { level: 'well', recovered, findings: [] };
  const { url } = await startRawPlatform(sends(JSON.stringify({ ...status, notes: ['a note'], verdict })));
  const { stdout, code } = await runCli(['status'], { GATEWAY_ADMIN_URL: url, ADMIN_TOKEN: 'any' });
  expect([code, stdout.split('\n').slice(0, 2)]).toEqual([0, [says.replace('Well', 'WELL'), 'note: a note']]);
});

it('a failed request is shown by the first six letters of its id or more, if only one begins so', async () => {
  const { key } = await newTeam(gateway, { id: 'sought', scopes: ['report:read'], advertisers: [1] });
  const ids: string[] = [];
  for (const asked of ['nonsense=1', 'nonsense=2']) {
    const answer = await ask(`${gateway.data}${REPORT}?${asked}`, { key });
    ids.push(answer.json().requestId as string);
  }
  const [id = '', other = ''] = ids;
  const common = [...id].findIndex((letter, at) => letter !== other[at]);
  const shown = (await done(`requests show ${id.slice(0, Math.max(6, common + 1))} --json`)).json();
  expect(shown).toMatchObject({ requestId: id, team: 'sought' });
  expect(await cli(`requests show ${id.slice(0, 5)}`)).toMatchObject({ code: 3 });
});

it('a duration is refused with a word about minutes, and 10m is as long as 10min', async () => {
  for (const since of ['10m', '10min']) await done(`audit --since ${since}`);
  expect(await cli('audit --since 10minutes')).toMatchObject({
    ...{ code: 65, stderr: expect.stringContaining('or a duration such as 30min, 24h or 7d') },
  });
});

describe('exit codes', () => {
  it.each([
    ['teams show nobody', 3, 'Not found: There is no team with this id.'],
    [
      'teams create kept',
      4,
      'already exists.\nChange it by dsp-gateway teams update kept, or choose another id.\n',
    ],
    [
      'keys revoke key_nobody --yes',
      3,
      'no key with this id.\ndsp-gateway keys list lists the keys of a team.\n',
    ],
    ['token discard', 4, 'Nothing needs to be done; dsp-gateway token show shows what there is.\n'],
    ['token verify', 4, 'Stage one by dsp-gateway token stage; dsp-gateway token rotate takes'],
    ['cache explain /api/v1/campaign/get?userId=1', 65, '/api/v1/campaign/get is not a report'],
    ['teams create Capital', 65, '<team> must be lower-case letters'],
    ['teams create a --max-range-days 0', 65, '--max-range-days must be a whole number from 1 to 10000'],
    ['teams create a --max-range-days x', 65, 'It must be a whole number.'],
    ['teams create a --advertisers 1,x', 65, 'It must be a whole number.'],
    ['teams update kept', 64, 'nothing to change was given'],
    ['teams update kept --enabled --disabled', 64, 'exclude each other'],
    ['teams show ../token', 65, 'An id consists of letters'],
    ['teams', 64, 'Usage: dsp-gateway teams'],
    ['teams nonsense', 64, "unknown command 'nonsense'"],
    ['keys roll key_x --overlap 3', 65, 'The form is e.g.'],
    ['audit --limit 0', 65, 'from 1 to 1000'],
    ['cache purge --advertiser x', 65, 'It must be a whole number.'],
    ['cache purge --advertiser 0', 65, '--advertiser must be a whole number from 1'],
    ['cache purge --all --endpoint a', 64, '--all excludes other options'],
    [
      'audit --since nonsense',
      65,
      '--since must be an ISO date or time, e.g. 2026-11-01, or a duration such as 30min, 24h or 7d',
    ],
    ['audit --since 2026-99-99', 65, '--since must be an ISO date or time'],
    ['audit --action A!', 65, '--action must be an action such as token.activate'],
    [
      'writes resume --reason x',
      4,
      'name a team to resume its writes.\nCheck the current state, and send the change again if it is still wanted.\n',
    ],
    ['tail --outcome nonsense', 65, '--outcome must be one of hit, stale, '],
    ['usage --team nobody', 3, 'There is no team with this id.\ndsp-gateway teams list lists'],
    ['usage --from nonsense', 65, '--from must be a calendar day'],
    ['simulate --switch latencyMs=x', 65, 'latencyMs'],
    [
      'teams create a --scopes report',
      65,
      '--scopes must be one of report:read, report:pin, report:watch, platform:read, ',
    ],
    [
      'teams create a --advertisers 0 --default-format xml',
      65,
      '--advertisers must be a whole number from 1 to 9007199254740991. (1 of 2 faults)\n  --default',
    ],
    ['status --url nonsense', 65, '--url: allowed is an address such as'],
    ['status --admin-token-file /nowhere', 77, 'no admin token: there is no file /nowhere. Set ADMIN_TOKEN'],
  ])('%s → %i', async (line, code, words) => {
    const ran = await cli(line);
    expect([ran.code, ran.stdout]).toEqual([code, '']);
    expect(ran.stderr).toContain(words);
  });

  it('tell a wrong admin token, and a gateway that is none', async () => {
    const wrong = await runCli(['status'], { GATEWAY_ADMIN_URL: gateway.admin, ADMIN_TOKEN: 'wrong' });
    expect([wrong.code, wrong.stderr]).toEqual([
      77,
      `The gateway at ${gateway.admin} does not accept this admin token (from ADMIN_TOKEN).\nUse its token with ADMIN_TOKEN or --admin-token-file, or another gateway with --url.\n`,
    ]);
    const doctor = await runCli(['doctor'], { GATEWAY_ADMIN_URL: gateway.admin, ADMIN_TOKEN: 'wrong' });
    expect(doctor.stdout).toContain(`: The gateway at ${gateway.admin} does not accept this admin token`);
    expect(doctor.stdout).not.toContain('�');
    const odd = await runCli(['status'], { GATEWAY_ADMIN_URL: gateway.admin, ADMIN_TOKEN: 'two words' });
    expect([odd.code, odd.stderr]).toEqual([77, expect.stringContaining('ADMIN_TOKEN: has 9 characters')]);
    expect(odd.stderr).not.toContain('two words');
    const data = await runCli(['status'], { GATEWAY_ADMIN_URL: gateway.data, ADMIN_TOKEN: 'any' });
    expect([data.code, data.stderr]).toEqual([
      3,
      expect.stringMatching(/^there is no admin API at \S+, which may be the data plane; set the address/),
    ]);
    const gone = await closedAddress();
    const nobody = await runCli(['status'], { GATEWAY_ADMIN_URL: gone, ADMIN_TOKEN: 'any' });
    expect([nobody.code, nobody.stderr]).toEqual([2, '']);
    expect(nobody.stdout).toMatch(
      /^NOT WELL: The admin plane at \S+ cannot be reached \(.*\)\.\n {2}do: Start it with/,
    );
    const teams = await runCli(['teams', 'list'], { GATEWAY_ADMIN_URL: gone, ADMIN_TOKEN: 'any' });
    expect([teams.code, teams.stderr]).toEqual([69, expect.stringContaining('(connect ECONNREFUSED')]);
    const other = await runCli(['status'], { GATEWAY_ADMIN_URL: opened.platform.url, ADMIN_TOKEN: 'any' });
    expect([other.code, other.stderr]).toEqual([
      69,
      expect.stringContaining("is not a gateway's admin plane"),
    ]);
  });

  it('are 0 for help and version', async () => {
    expect(await done('--version')).toMatchObject({
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+( \([0-9a-f]{12}(-dirty)?\))?\n$/),
    });
    expect((await done('teams --help')).stdout).toContain('Usage: dsp-gateway teams');
  });
});

describe('the admin token', () => {
  it('is found in the file that the gateway made, or that is named', async () => {
    await inFile('admin.token', `${gateway.adminToken}\n`);
    const beside = await runCli(['status', '--json'], {
      ADMIN_PORT: new URL(gateway.admin).port,
      GATEWAY_DATA_DIR: folder,
    });
    expect(beside).toMatchObject({ code: 0, stderr: '' });
    const path = await inFile('admin', `${gateway.adminToken}\n`);
    const env = { GATEWAY_ADMIN_URL: `${gateway.admin}/` };
    expect(await runCli(['status'], { ...env, ADMIN_TOKEN_FILE: path })).toMatchObject({ code: 0 });
    const args = ['status', '--admin-token-file', path, '--url', gateway.admin];
    expect(await runCli(args, { ADMIN_TOKEN: 'not this one' })).toMatchObject({ code: 0 });
  });
});
