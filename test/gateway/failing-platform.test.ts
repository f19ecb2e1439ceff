/** The share of failed platform calls, in every place where an operator looks. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TailLine } from '../../src/api/tail/tail.js';
import { failedReportsOf } from '../../src/lib/words.js';
import type { Conditions } from '../../src/telemetry/health.js';
import type { Incident } from '../../src/telemetry/incidents.js';
import type { Verdict } from '../../src/telemetry/verdict.js';
import { agentOf } from '../api/mcp/agent.js';
import { rule } from '../support/scene.js';
import {
  ADMIN_TOKEN,
  gatewayAt,
  type SimulatedGateway,
  type TestGateway,
  withTeam,
} from '../support/start-gateway.js';
import { DAY, MINUTE, NOON, SECOND } from '../support/test-clock.js';

let days = 0;

/** A report of a day that no report had before. */
function uncached(): string {
  days += 1;
  const day = new Date(NOON - (20 + days) * DAY).toISOString().slice(0, 10);
  return `advertiserId=1&byDate=1&dateFrom=${day}&dateTo=${day}`;
}

/** Requests reports that are not cached. @param how a fault of the platform for each; null: it answers */
async function ask(gateway: SimulatedGateway, key: string, times: number, how: object | null) {
  if (how !== null) gateway.simulator.fault({ kind: 'status', ...how, times });
  for (let asked = 0; asked < times; asked += 1) await gateway.report(key, uncached());
}

async function readyz(gateway: TestGateway) {
  const reply = await gateway.call('/readyz');
  return { status: reply.status, ...reply.json<Conditions & { readonly worst: Conditions }>() };
}

async function verdict(gateway: TestGateway): Promise<Verdict> {
  return (await gateway.manage('GET', '/status')).verdict as Verdict;
}

const FAILS = { status: 500 };
const CALM = { config: { platform: { circuit: { failures: 1000 } }, ...rule({ divisible: 'never' }) } };

it('the platform answers 500 to nine of ten calls: not well in status, doctor, /readyz and gauges', async () => {
  const { gateway, key } = await withTeam(CALM);
  for (let round = 0; round < 3; round += 1) {
    await ask(gateway, key, 1, null);
    await ask(gateway, key, 9, FAILS);
  }
  const says = 'most calls fail: 27 of 30 within the last 5 minutes';
  expect(await readyz(gateway)).toMatchObject({ status: 200, platform: says, worst: { platform: says } });
  expect(await verdict(gateway)).toMatchObject({
    level: 'not well',
    since: expect.any(String),
    findings: [
      {
        level: 'not well',
        part: 'platform',
        says: expect.stringContaining('27 of 30'),
        details: 'Last failure: status 500. Teams: team-1.',
      },
    ],
  });
  const { checks } = (await gateway.manage('POST', '/doctor')) as { checks: readonly object[] };
  expect(checks).toContainEqual(
    expect.objectContaining({ level: 'not well', says: expect.stringContaining('27 of 31') }),
  );
  expect(await gateway.manage('GET', '/status')).toMatchObject({
    platform: { recentCalls: 31, recentFailedCalls: 27 },
    reports: { recent: 30, recentFailed: 27 },
  });
  gateway.clock.pass(MINUTE);
  expect((await gateway.manage('GET', '/status')).reports).toEqual({
    ...{ recent: 30, recentFailed: 27, noneFailedSince: new Date(NOON + MINUTE).toISOString() },
  });
  const gauges = await gateway.services.metrics.registry.metrics();
  expect(gauges).toMatch(/^dsp_gateway_platform_recent_calls 31$/m);
  expect(gauges).toMatch(/^dsp_gateway_platform_recent_failed_calls 27$/m);
});

describe('failed calls in a row', () => {
  it('are a warning from the third on, since the first, with a cause; /readyz stays 200', async () => {
    const { gateway, key } = await withTeam(CALM);
    await ask(gateway, key, 1, null);
    gateway.clock.pass(MINUTE);
    await ask(gateway, key, 2, FAILS);
    expect(await verdict(gateway)).toEqual({ level: 'well', findings: [] });
    gateway.clock.pass(MINUTE);
    await ask(gateway, key, 1, FAILS);
    const platform = 'calls fail: the last 3 since 12:01 UTC';
    expect(await readyz(gateway)).toMatchObject({ status: 200, platform, worst: { platform } });
    const since = new Date(NOON + MINUTE).toISOString();
    expect(await verdict(gateway)).toMatchObject({
      level: 'warning',
      since,
      findings: [
        {
          since,
          says: expect.stringMatching(/^The last 3 calls of the platform failed, since 12:01 UTC: /),
          details: 'Last failure: status 500. Teams: team-1.',
        },
      ],
    });
    gateway.clock.pass(6 * MINUTE);
    expect(await verdict(gateway)).toMatchObject({ level: 'warning', since });
    await ask(gateway, key, 1, null);
    expect(await verdict(gateway)).toMatchObject({ level: 'well', findings: [] });
  });

  it('end with an answer to doctor, which says what it was, as status does', async () => {
    const { gateway, key } = await withTeam(CALM);
    await ask(gateway, key, 1, null);
    await ask(gateway, key, 4, FAILS);
    expect(await verdict(gateway)).toMatchObject({ level: 'warning' });
    gateway.clock.pass(MINUTE + 7 * SECOND);
    const { checks } = (await gateway.manage('POST', '/doctor')) as { checks: readonly object[] };
    const says =
      'Well again since 12:01:07 UTC, after 67 seconds: failed calls: status 500: 4; 4 reports failed (team-1).';
    expect(checks).toContainEqual({ name: 'calls of the platform', level: 'well', says, do: null });
    const recovered = { part: 'platform', at: new Date(NOON + 67 * SECOND).toISOString(), says };
    expect(await verdict(gateway)).toEqual({ level: 'well', recovered, findings: [] });
  });

  it('after an answer are a warning until they are too few', async () => {
    const { gateway, key } = await withTeam(CALM);
    await ask(gateway, key, 6, FAILS);
    await ask(gateway, key, 1, null);
    await ask(gateway, key, 6, FAILS);
    await gateway.manage('POST', '/doctor');
    expect(await verdict(gateway)).toMatchObject({
      level: 'warning',
      findings: [
        { says: expect.stringContaining('12 of 14 within the last 5 minutes, none since 12:00:00 UTC') },
      ],
    });
    await gateway.services.tally.flush();
    expect((await gateway.manage('GET', '/status')).incidents).toMatchObject([{ until: null }]);
    gateway.clock.pass(6 * MINUTE);
    expect(await verdict(gateway)).toMatchObject({
      level: 'well',
      recovered: { at: new Date(NOON).toISOString() },
    });
  });

  it('do not warn if each follows an answer', async () => {
    const { gateway, key } = await withTeam(CALM);
    for (let round = 0; round < 3; round += 1) {
      await ask(gateway, key, 1, FAILS);
      await ask(gateway, key, 2, null);
    }
    expect(await verdict(gateway)).toEqual({ level: 'well', findings: [] });
  });
});

it('doctor makes one counted call while the platform fails, and tells what came of it instead of advising itself', async () => {
  const config = { platform: { circuit: { failures: 3 } }, ...rule({ divisible: 'never' }) };
  const { gateway, key } = await withTeam({ config });
  await ask(gateway, key, 3, FAILS);
  expect((await verdict(gateway)).findings[0]?.do).toMatch(
    / calls it again, and so does dsp-gateway doctor\.$/,
  );
  const { simulator } = gateway;
  simulator.clearCalls();
  simulator.fault({ kind: 'status', status: 503, times: 0 });
  const { checks } = (await gateway.manage('POST', '/doctor')) as {
    checks: readonly { do: string | null }[];
  };
  expect(simulator.calls).toHaveLength(1);
  const tried = `just tried ${new URL(simulator.url).origin}: the platform answered the probe with status 503.`;
  expect(checks.flatMap((one) => one.do ?? []).join(' ')).toContain(tried);
  expect(JSON.stringify(checks)).not.toContain('dsp-gateway doctor');
  const counted = await gateway.services.metrics.registry.metrics();
  expect(counted).toContain('dsp_gateway_platform_calls_total{outcome="failed",team="gateway"} 1');
  await gateway.services.tally.flush();
  expect((await gateway.manage('GET', '/usage')).usage).toContainEqual(
    expect.objectContaining({ team: 'gateway', upstreamCalls: 1 }),
  );
});

describe('the last failure', () => {
  it.each([
    [{ kind: 'garbage' }, 'unreadable answer'],
    [{ kind: 'reset' }, 'connection reset'],
  ] as const)('of %o is told as: %s', async (fault, why) => {
    const { gateway, key } = await withTeam(CALM);
    gateway.simulator.fault({ ...fault, times: 0 });
    await ask(gateway, key, 10, null);
    const [found] = (await verdict(gateway)).findings;
    expect(found?.details).toBe(`Last failure: ${why}. Teams: team-1.`);
  });

  it('that was mended is well at once, and told in the past by /readyz until five minutes are over', async () => {
    const { gateway, key } = await withTeam(CALM);
    await ask(gateway, key, 11, FAILS);
    gateway.clock.pass(SECOND);
    await ask(gateway, key, 1, null);
    expect(await verdict(gateway)).toMatchObject({ level: 'well', recovered: { part: 'platform' } });
    expect((await readyz(gateway)).worst.platform).toBe(
      'calls failed at 12:00 UTC: 11 of 12 within the last 5 minutes',
    );
    gateway.clock.pass(6 * MINUTE);
    expect((await readyz(gateway)).worst.platform).toBe('ok');
  });
});

describe('the share of failed calls', () => {
  it('counts answers that cannot be read and broken connections as failed, refusals of a query not', async () => {
    const { gateway, key } = await withTeam(CALM);
    await ask(gateway, key, 6, null);
    await ask(gateway, key, 3, { kind: 'status', status: 422 });
    await ask(gateway, key, 1, { kind: 'status', status: 404 });
    expect(await verdict(gateway)).toMatchObject({ level: 'well' });
    await ask(gateway, key, 1, { kind: 'garbage' });
    await ask(gateway, key, 1, { kind: 'html' });
    expect(await verdict(gateway)).toMatchObject({ level: 'well' });
    await ask(gateway, key, 1, { kind: 'redirect' });
    expect(await readyz(gateway)).toMatchObject({
      platform: 'calls fail: the last 3 since 12:00 UTC',
    });
  });

  it('leaves out pauses and refused tokens, which have conditions of their own', async () => {
    const { gateway, key } = await withTeam(CALM);
    await ask(gateway, key, 10, null);
    await ask(gateway, key, 1, { status: 429, retryAfterS: 1 });
    gateway.clock.pass(2 * SECOND);
    gateway.simulator.revoke();
    await ask(gateway, key, 1, null);
    const { platform } = await gateway.manage('GET', '/status');
    expect(platform).toMatchObject({ recentCalls: 12, recentFailedCalls: 0 });
  });

  it('is well again five minutes after the last failure, even if the clock is set back', async () => {
    const { gateway, key } = await withTeam(CALM);
    await ask(gateway, key, 10, null);
    await ask(gateway, key, 5, FAILS);
    gateway.clock.pass(4 * MINUTE);
    await ask(gateway, key, 1, null);
    expect((await readyz(gateway)).platform).toMatch(/^calls failed from 12:00 to 12:04 UTC: 5 of 16 /);
    gateway.clock.pass(MINUTE + 10 * SECOND);
    expect((await readyz(gateway)).platform).toBe('ok');
    await ask(gateway, key, 10, FAILS);
    await ask(gateway, key, 1, null);
    gateway.clock.advance(-60 * MINUTE);
    expect((await readyz(gateway)).platform).toBe('ok');
  });
});

describe('several replicas', () => {
  it('have their calls judged together if each alone made too few', async () => {
    const { gateway, key } = await withTeam(CALM);
    const { simulator, store: sharedStore, clock } = gateway;
    const other = await gatewayAt(simulator, { ...CALM, sharedStore, clock });
    await Promise.all([gateway, other].map(({ services }) => services.limits.replicas.join()));
    await ask(gateway, key, 2, FAILS);
    expect(await readyz(gateway)).toMatchObject({ platform: 'ok', worst: { platform: 'ok' } });
    await ask(Object.assign(other, { simulator }), key, 2, FAILS);
    const inRow = { platform: 'calls fail: the last 4 since 12:00 UTC' };
    await expect.poll(async () => (await readyz(gateway)).worst).toMatchObject(inRow);
    expect(await readyz(gateway)).toMatchObject({ status: 200, ready: true, platform: 'ok' });
    await ask(Object.assign(other, { simulator }), key, 16, FAILS);
    const worst = { platform: 'most calls fail: the last 20 since 12:00 UTC' };
    await expect.poll(async () => (await readyz(gateway)).worst).toMatchObject(worst);
    expect(await verdict(gateway)).toMatchObject({ level: 'not well' });
  });
});

it('the tail has the code of each problem', async () => {
  const { gateway, key } = await withTeam(CALM);
  const seen: (readonly [string | null, string | undefined])[] = [];
  const { tail } = gateway.services;
  const onLine = ({ outcome, code }: TailLine) => void seen.push([outcome, code]);
  const stop = tail.watch({ onLine, onDropped: () => {} });
  onTestFinished(stop);
  await expect.poll(() => tail.isOn).toBe(true);
  await ask(gateway, key, 1, null);
  await ask(gateway, key, 1, FAILS);
  await gateway.report(key, 'dateFrom=nonsense');
  await gateway.call('/api/v1/report/campaigns/get');
  await expect
    .poll(() => seen)
    .toEqual([
      ['miss', undefined],
      ['failed', 'upstream_error'],
      ['error', 'invalid_query'],
      ['error', 'missing_api_key'],
    ]);
});

it('a failed request is found by its id, with the cause, also while no call is made', async () => {
  const { gateway, key } = await withTeam({ config: { platform: { circuit: { failures: 2 } } } });
  gateway.simulator.fault({ kind: 'status', ...FAILS, times: 0 });
  const problemOf = async () =>
    (await gateway.report(key, uncached())).json<{ requestId: string }>().requestId;
  for (let failed = 0; failed < 2; failed += 1) await problemOf();
  const found = await gateway.manage('GET', `/requests/${await problemOf()}`);
  expect(found).toMatchObject({
    team: 'team-1',
    status: 503,
    code: 'upstream_circuit_open',
    title: expect.any(String),
    cause: 'status 500',
    report: { endpoint: 'campaigns/get', advertiserId: '1' },
  });
  const listed = await gateway.manage('GET', '/requests?outcome=failed&limit=2');
  expect(listed).toMatchObject({ requests: [found, {}], more: 1, searched: 1, processes: 1 });
  const unknown = await gateway.admin.inject({
    url: '/admin/v1/requests/nobody',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  expect([unknown.statusCode, unknown.json<{ detail: string }>().detail]).toEqual([
    404,
    'No request with this id is among the last 2,000 that each process answered with a problem; 1 of 1 process was searched.',
  ]);
});

it('an incident is kept in status: from, until, cause, failed reports and teams', async () => {
  const { gateway, key } = await withTeam(CALM);
  const incidents = async () => (await gateway.manage('GET', '/status')).incidents;
  expect(await incidents()).toEqual([]);
  await ask(gateway, key, 4, FAILS);
  const noon = new Date(NOON).toISOString();
  const cause = 'status 500: 4';
  const { requests } = (await gateway.manage('GET', '/requests?outcome=failed')) as {
    requests: { requestId: string }[];
  };
  const requestIds = requests
    .map(({ requestId }) => requestId)
    .reverse()
    .slice(0, 3);
  const incident = { part: 'platform', from: noon, cause, failedReports: 4, requestIds, teams: ['team-1'] };
  await expect.poll(incidents, { timeout: 20_000 }).toEqual([{ ...incident, until: null }]);
  await ask(gateway, key, 1, null);
  await expect.poll(incidents, { timeout: 20_000 }).toEqual([{ ...incident, until: noon }]);
});

it('each failed report counts at the incident of its part, as many as are listed of it, also in one minute', async () => {
  const { gateway, key } = await withTeam(CALM);
  await ask(gateway, key, 5, FAILS);
  const incidents = async () => (await gateway.manage('GET', '/status')).incidents as Incident[];
  await expect.poll(incidents, { timeout: 20_000 }).toHaveLength(1);
  gateway.clock.pass(24 * SECOND);
  await ask(gateway, key, 1, null);
  await expect.poll(async () => (await incidents())[0]?.until, { timeout: 20_000 }).not.toBeNull();
  gateway.clock.pass(14 * SECOND);
  gateway.simulator.revoke();
  await ask(gateway, key, 4, null);
  const counted = async () =>
    (await incidents()).map(({ part, failedReports, requestIds }) => [
      ...[part, failedReports, requestIds?.length],
    ]);
  await expect.poll(counted, { timeout: 20_000 }).toEqual([
    ['credential', 4, 3],
    ['platform', 5, 3],
  ]);
  for (const one of await incidents()) {
    const query = new URLSearchParams({ ...failedReportsOf(one), limit: '200' });
    const { requests } = (await gateway.manage('GET', `/requests?${query}`)) as {
      requests: readonly { readonly requestId: string }[];
    };
    expect(requests).toHaveLength(one.failedReports);
    expect(requests.map(({ requestId }) => requestId)).toEqual(
      expect.arrayContaining([...(one.requestIds ?? [])]),
    );
  }
  const { failedReports } = await gateway.manage('GET', '/series?range=1h');
  expect(failedReports).toEqual({ ofIncidents: 9, outside: 0 });
});

it('incidents and findings name the teams whose reports failed by their part, not those of an earlier one', async () => {
  const { gateway, key } = await withTeam(CALM, { id: 'bidding' });
  const growth = await gateway.addTeam({ id: 'growth' });
  await ask(gateway, key, 2, FAILS);
  await ask(gateway, growth, 2, FAILS);
  await expect
    .poll(async () => (await verdict(gateway)).findings[0]?.details)
    .toContain('Teams: bidding, growth.');
  gateway.clock.pass(30 * SECOND);
  await ask(gateway, key, 1, null);
  gateway.simulator.revoke();
  await ask(gateway, growth, 1, null);
  const [refused] = (await verdict(gateway)).findings.filter(({ part }) => part === 'credential');
  expect(refused?.details).toMatch(/^Teams: growth\. /);
  const teams = async () => {
    const { incidents } = await gateway.manage('GET', '/status');
    return (incidents as Incident[]).map((one) => [one.part, one.teams]);
  };
  expect(await teams()).toEqual([
    ['credential', ['growth']],
    ['platform', ['bidding', 'growth']],
  ]);
});

it.each(['1h', '24h', '30d'])(
  'failed reports of incidents and outside of them are all that failed, range %s',
  async (range) => {
    const { gateway, key } = await withTeam(CALM);
    await ask(gateway, key, 1, null);
    await ask(gateway, key, 1, FAILS);
    await ask(gateway, key, 1, null);
    gateway.clock.pass(10 * MINUTE);
    await ask(gateway, key, 4, FAILS);
    const counted = async () => {
      const { incidents } = await gateway.manage('GET', '/status');
      return (incidents as { failedReports: number }[]).map(({ failedReports }) => failedReports);
    };
    await expect.poll(counted, { timeout: 20_000 }).toEqual([4]);
    const { failedReports, series } = (await gateway.manage('GET', `/series?range=${range}`)) as {
      failedReports: object;
      series: { outcomes: { failed: number[] } };
    };
    expect([failedReports, sum(series.outcomes.failed)]).toEqual([{ ofIncidents: 4, outside: 1 }, 5]);
  },
);

interface Sums {
  readonly requests: number;
  readonly errors: number;
  readonly hitRatio: number | null;
}
const sum = (numbers: readonly number[] = []) => numbers.reduce((all, one) => all + one, 0);

it('a failed report counts the same in usage, series and ledger, whichever way it was requested', async () => {
  const scopes = ['report:read', 'report:pin', 'mcp'];
  const { gateway, key } = await withTeam(CALM, { id: 'growth', scopes });
  const queried = { advertiserId: 2, period: { relative: 'yesterday' }, split: ['date'] };
  const cached = uncached();
  for (let times = 0; times < 3; times += 1) await gateway.report(key, cached);
  const agent = await agentOf(gateway, key);
  gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
  await ask(gateway, key, 4, null);
  expect(await agent.call('query_report', queried)).toMatchObject({ isError: true });
  const pinned = { endpoint: 'campaigns/get', query: uncached() };
  expect((await gateway.call('/gateway/v1/pins', { key, method: 'POST', json: pinned })).status).toBe(502);
  // Refusals were not looked up in the cache.
  await gateway.report(key, 'dateFrom=nonsense');
  expect(await agent.call('query_report', { advertiserId: 'x y' })).toMatchObject({ isError: true });
  await gateway.report(key, `${cached}&byCampaign=1`, { headers: { 'cache-control': 'only-if-cached' } });
  await gateway.call('/api/v1/report/campaigns/get');
  // What a browser asks for by itself needs no key.
  for (const path of ['/favicon.ico', '/docs/nothere', '/nothere']) await gateway.call(path);
  await gateway.services.settled();
  await gateway.services.tally.flush();
  const { usage } = (await gateway.manage('GET', '/usage')) as { usage: readonly object[] };
  expect(usage).toMatchObject([{ team: 'growth', hits: 2, misses: 7, errors: 9 }]);
  const { series } = (await gateway.manage('GET', '/series?range=1h')) as {
    series: { errors: number[]; requests: number[]; outcomes: Record<string, number[]> };
  };
  expect([sum(series.outcomes.failed), sum(series.errors)]).toEqual([6, 10]);
  const { teams, withoutKey } = (await gateway.manage('GET', '/series/teams?range=1h')) as {
    teams: readonly Sums[];
    withoutKey: Sums;
  };
  expect(teams).toMatchObject([{ errors: 9, hitRatio: 0.2222 }, { requests: 0 }].slice(0, teams.length));
  expect(withoutKey).toMatchObject({ requests: 1, errors: 1, hitRatio: null });
  expect(sum(teams.map(({ requests }) => requests)) + withoutKey.requests).toBe(sum(series.requests));
});
