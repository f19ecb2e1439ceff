/** `POST /admin/v1/cache/purge` with `dryRun`: what would be forgotten, and nothing is. */
import { expect, it } from 'vitest';
import { prove } from '../../support/prove.js';
import { ADMIN_TOKEN, withGateway } from '../../support/start-gateway.js';

const WEEK = 'advertiserId=1&byDate=1&dateFrom=2026-11-08&dateTo=2026-11-14';
const ENDPOINT = 'campaigns/get';

async function scene() {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  await prove(gateway, key);
  await gateway.report(key, WEEK);
  await gateway.services.settled();
  const purge = (body: object) => gateway.manage('POST', '/cache/purge', body);
  return { gateway, key, purge };
}

interface Preview {
  readonly days: number | null;
  readonly reports: readonly object[];
  readonly report: {
    readonly entries: number;
    readonly days: readonly string[];
    readonly bytes: number;
  } | null;
}

it('tells the days, entries and bytes of a report that would be forgotten, and forgets and audits nothing', async () => {
  const { gateway, key, purge } = await scene();
  const before = gateway.simulator.calls.length;
  const audit = await gateway.manage('GET', '/audit');
  const scope = { advertiserId: 1, endpoint: ENDPOINT, from: '2026-11-09', to: '2026-11-10' };
  const told = await purge({ ...scope, query: WEEK, dryRun: true });
  expect(told).toMatchObject({
    purged: 'advertiser 1, endpoint campaigns/get, days 2026-11-09 to 2026-11-10',
    dryRun: true,
    preview: { days: 2, report: { days: ['2026-11-09', '2026-11-10'] } },
  });
  const { report } = told.preview as Preview;
  expect(report?.entries).toBeGreaterThanOrEqual(2);
  expect(report?.bytes).toBeGreaterThan(0);
  expect(await gateway.manage('GET', '/audit')).toEqual(audit);
  expect((await gateway.report(key, WEEK)).headers['cache-status']).toContain('hit');
  expect(gateway.simulator.calls.length).toBe(before);
  await purge(scope);
  const after = (await purge({ ...scope, query: WEEK, dryRun: true })).preview as Preview;
  expect(after.report).toMatchObject({ entries: 0, days: [], bytes: 0 });
});

it('tells which reports would be asked for anew, of those that were measured', async () => {
  const { gateway, key, purge } = await scene();
  gateway.clock.advance(8 * 86_400_000);
  await gateway.report(key, WEEK);
  await gateway.services.settled();
  const reports = async (body: object) =>
    ((await purge({ ...body, dryRun: true })).preview as Preview).reports;
  const known = [{ endpoint: ENDPOINT, advertiserId: 1, split: ['date'] }];
  expect(await reports({ all: true })).toEqual(known);
  expect(await reports({ advertiserId: 1 })).toEqual(known);
  expect(await reports({ advertiserId: 2 })).toEqual([]);
  expect(await reports({ endpoint: 'creatives/get' })).toEqual([]);
});

it.each([
  [{ dryRun: true }, 'all'],
  [{ advertiserId: 1, query: WEEK }, 'query'],
  [{ advertiserId: 1, query: WEEK, dryRun: true }, 'query'],
  [{ from: '2026-11-09', to: '2026-11-08', dryRun: true }, 'to'],
])('%j is refused as the purge itself', async (payload, param) => {
  const gateway = await withGateway();
  const reply = await gateway.admin.inject({
    ...{ method: 'POST', url: '/admin/v1/cache/purge', payload },
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  expect([reply.statusCode, reply.json<{ errors: object[] }>().errors]).toMatchObject([422, [{ param }]]);
});
