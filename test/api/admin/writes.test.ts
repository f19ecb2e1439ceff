/** Stopping and resuming writes, and settling those of unknown outcome, over the admin API. */
import { describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, type TestGateway, withGateway } from '../../support/start-gateway.js';

const ROUTE = 'POST /api/v1/campaign/create';
const REASON = 'budgets look wrong';

async function ask(gateway: TestGateway, method: 'GET' | 'POST', path: string, json?: unknown) {
  const answer = await gateway.admin.inject({
    method,
    url: `/admin/v1/${path}`,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(json === undefined ? {} : { payload: JSON.stringify(json) }),
  });
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
}

const audited = async (gateway: TestGateway) =>
  ((await gateway.manage('GET', '/audit?action=writes')) as { entries: object[] }).entries;

describe('writes over the admin API', () => {
  it('are stopped and resumed, for all and for one team, with who, when and why', async () => {
    const gateway = await withGateway();
    await gateway.addTeam({ id: 'growth' });
    const stop = { by: 'admin', at: '2026-11-21T12:00:00.000Z', reason: REASON };
    expect(await ask(gateway, 'GET', 'writes')).toEqual({ status: 200, body: { all: null, teams: [] } });
    const one = await ask(gateway, 'POST', 'writes/stop', { team: 'growth', reason: REASON });
    expect(one).toEqual({ status: 200, body: { all: null, teams: [{ team: 'growth', ...stop }] } });
    const both = await ask(gateway, 'POST', 'writes/stop', { reason: REASON });
    expect(both.body).toEqual({ all: stop, teams: [{ team: 'growth', ...stop }] });
    const { writes, verdict } = (await ask(gateway, 'GET', 'status')).body;
    expect(writes).toEqual(both.body);
    expect(verdict).toMatchObject({
      findings: expect.arrayContaining([expect.objectContaining({ part: 'writes' })]),
    });
    expect((await ask(gateway, 'POST', 'writes/resume', { reason: 'fixed' })).body).toEqual(one.body);
    const end = await ask(gateway, 'POST', 'writes/resume', { team: 'growth', reason: 'fixed' });
    expect(end).toEqual({ status: 200, body: { all: null, teams: [] } });
    expect(await audited(gateway)).toMatchObject([
      { action: 'writes.resume', subject: 'the team growth', after: { teamId: 'growth', reason: 'fixed' } },
      { action: 'writes.resume', subject: 'all teams', after: { reason: 'fixed' } },
      { action: 'writes.stop', subject: 'all teams', after: { reason: REASON } },
      { action: 'writes.stop', actor: 'admin', after: { teamId: 'growth', reason: REASON } },
    ]);
  });

  it('are not stopped for a team that there is not, nor resumed where nothing is stopped', async () => {
    const gateway = await withGateway();
    const stop = await ask(gateway, 'POST', 'writes/stop', { team: 'grwoth', reason: REASON });
    expect(stop).toMatchObject({ status: 404, body: { code: 'not_found' } });
    const resume = await ask(gateway, 'POST', 'writes/resume', { reason: REASON });
    expect(resume).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(await audited(gateway)).toEqual([]);
  });

  it.each([
    {},
    { reason: '' },
    { reason: ' ' },
    { reason: 'two\nlines' },
    { reason: 'x'.repeat(301) },
    { reason: 'x', tema: 'y' },
  ])('are not stopped by %j, which gives no reason', async (body) => {
    const gateway = await withGateway();
    const answer = await ask(gateway, 'POST', 'writes/stop', body);
    expect(answer).toMatchObject({ status: 422, body: { code: 'invalid_body' } });
    expect((await ask(gateway, 'GET', 'writes')).body).toEqual({ all: null, teams: [] });
  });

  it('of unknown outcome are listed and settled once, audited', async () => {
    const gateway = await withGateway();
    const { reservations } = gateway.services;
    const reserve = async () => {
      const answer = await reservations.reserve({
        team: 'growth',
        route: ROUTE,
        amount: 2_500_000,
        max: 9_000_000,
        currency: 'EUR',
      });
      if (answer.kind === 'over') throw new Error('there was room');
      return answer.reservation;
    };
    const [one, other] = [await reserve(), await reserve()];
    await reservations.keepUnknown(one, 'it ended with upstream_timeout');
    const shown = {
      id: one.id,
      ...{ team: 'growth', route: ROUTE, day: '2026-11-21', amount: 2.5, currency: 'EUR' },
      at: '2026-11-21T12:00:00.000Z',
      why: 'it ended with upstream_timeout',
    };
    const list = async () => (await ask(gateway, 'GET', 'writes/unknown')).body;
    expect(await list()).toEqual({ writes: [shown] });
    const settle = (id: string, outcome = 'not') => ask(gateway, 'POST', 'writes/settle', { id, outcome });
    expect(await settle(other.id)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(await settle(one.id, 'perhaps')).toMatchObject({ status: 422 });
    const twice = await Promise.all([settle(one.id), settle(one.id)]);
    expect(twice.map(({ status }) => status).sort()).toEqual([200, expect.any(Number)]);
    expect(twice.find(({ status }) => status === 200)?.body).toEqual({ settled: shown, outcome: 'not' });
    expect(await list()).toEqual({ writes: [] });
    expect((await reservations.left('growth', ROUTE, 9_000_000)).left).toBe(6_500_000);
    expect(await audited(gateway)).toMatchObject([
      { action: 'writes.settle', subject: one.id, after: { teamId: 'growth', amount: 2.5, outcome: 'not' } },
    ]);
    gateway.clock.advance(120_000);
    expect(await list()).toMatchObject({ writes: [{ id: other.id, why: expect.stringContaining('ended') }] });
    expect(await settle(other.id, 'happened')).toMatchObject({ status: 200 });
    expect((await reservations.left('growth', ROUTE, 9_000_000)).left).toBe(6_500_000);
  });

  it('show what a team may still spend today, by each rule that has a day, in the order of the guard', async () => {
    const gateway = await withGateway();
    await gateway.addTeam({
      id: 'growth',
      writeGuard: {
        'PATCH /api/v1/campaign/*': { amounts: [{ field: 'body.bid', max: 5 }] },
        [ROUTE]: { budget: { field: 'body.total', currency: 'EUR', maxPerDay: 10.5 } },
        'PUT /api/v1/campaign/*': { budget: { field: 'body.total', maxPerCall: 1, maxPerDay: 3 } },
      },
    });
    await gateway.addTeam({ id: 'open' });
    const asked = { team: 'growth', route: ROUTE, amount: 2_250_000, max: 10_500_000 };
    expect(await gateway.services.reservations.reserve(asked)).toMatchObject({ kind: 'reserved' });
    const budgets = (team: string) => ask(gateway, 'GET', `teams/${team}/write-budgets`);
    const day = '2026-11-21';
    expect((await budgets('growth')).body).toEqual({
      budgets: [
        { route: ROUTE, day, maxPerDay: 10.5, left: 8.25, currency: 'EUR' },
        { route: 'PUT /api/v1/campaign/*', day, maxPerDay: 3, left: 3, currency: null },
      ],
    });
    expect(await budgets('open')).toEqual({ status: 200, body: { budgets: [] } });
    expect(await budgets('nobody')).toMatchObject({ status: 404, body: { code: 'not_found' } });
    const record = gateway.services.registry.get('team/growth')?.value ?? '';
    const later = JSON.stringify({ ...JSON.parse(record), writeGuard: { [ROUTE]: { mostCalls: 3 } } });
    await gateway.services.registry.commit({ writes: new Map([['team/growth', later]]), audit: [] });
    expect(await budgets('growth')).toMatchObject({ status: 503, body: { code: 'write_guard_unavailable' } });
  });

  it('say of a wrong guard what is wrong within, and nothing of the form that it could have had beside', async () => {
    const gateway = await withGateway();
    await gateway.addTeam({ id: 'growth' });
    const change = async (writeGuard: unknown) => {
      const { statusCode, body } = await gateway.admin.inject({
        method: 'PATCH',
        url: '/admin/v1/teams/growth',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
        payload: { writeGuard },
      });
      expect(statusCode).toBe(422);
      return JSON.parse(body).errors;
    };
    expect(await change({ [ROUTE]: { budget: { field: 'body.a', maxPerDay: -1 } } })).toEqual([
      { param: `writeGuard.${ROUTE}.budget.maxPerDay`, message: 'must be a number from 0 to 9007199254' },
    ]);
    expect(await change('none')).toContainEqual({
      param: 'writeGuard',
      message: expect.stringMatching(/^must be a mapping of at most 100 names.*, or null$/),
    });
  });
});
