/** Requests that are refused, as operators see them: whose they are, and what was asked for. */
import { expect, it } from 'vitest';
import type { AnswerOf } from '../../src/api/operations/operation.js';
import type { getStatus, listRequests } from '../../src/api/operations/overview.js';
import { ADMIN_TOKEN, outcomeOf, type TestGateway, withTeam } from '../support/start-gateway.js';
import { HOUR, MINUTE } from '../support/test-clock.js';
import { FINAL } from './reports.js';

type Listed = AnswerOf<typeof listRequests>;

const listed = async (gateway: TestGateway, query = '') =>
  ((await gateway.manage('GET', `/requests${query}`)) as Listed).requests;
const notesOf = async (gateway: TestGateway) =>
  ((await gateway.manage('GET', '/status')) as AnswerOf<typeof getStatus>).notes;

const refusalOf = async ({ admin }: TestGateway, path: string) =>
  (
    await admin.inject({
      url: `/admin/v1${path}`,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    })
  ).json<object>();

const REPORT = { endpoint: 'campaigns/get', advertiserId: '1' };

it('a report that is refused is listed with its advertiser and period, which the tail does not show', async () => {
  const limits = { requestsPerMinute: 1 };
  const { gateway, key } = await withTeam({}, { id: 'growth', advertisers: [2], limits });
  const tailed: object[] = [];
  const stop = gateway.services.tail.watch({
    onLine: (line) => void tailed.push(line),
    onDropped: () => {},
  });
  await expect.poll(() => gateway.services.tail.isOn).toBe(true);
  expect(outcomeOf(await gateway.report(key, FINAL))).toBe('403 advertiser_forbidden');
  expect(outcomeOf(await gateway.report(key, FINAL))).toBe('429 rate_limited');
  expect(outcomeOf(await gateway.report(key, 'dateFrom=soon'))).toBe('429 rate_limited');
  const [unclear, limited, forbidden] = await listed(gateway, '?team=growth');
  for (const one of [limited, forbidden])
    expect(one?.report).toMatchObject({ ...REPORT, from: expect.stringMatching(/^2026-/) });
  expect(unclear?.report).toBeUndefined();
  const other = await gateway.report(key, `byDate=1&${FINAL}`);
  expect(outcomeOf(other)).toBe('429 rate_limited');
  const [byCampaign] = await listed(gateway);
  expect([limited, byCampaign].map((one) => one?.report?.split)).toEqual([
    ['campaign'],
    ['date', 'campaign'],
  ]);
  expect(byCampaign?.report?.target?.split('?')).toEqual([
    '/api/v1/report/campaigns/get',
    'advertiserId=1&byCampaign=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-15',
  ]);
  await gateway.report(key, `unknown=secret&${FINAL}`);
  const [passedOn] = await listed(gateway);
  expect(passedOn?.report).not.toHaveProperty('target');
  await expect.poll(() => tailed.length).toBe(5);
  expect(JSON.stringify(tailed)).not.toContain('"report"');
  stop();
});

it('a call about a report that is refused is listed with its advertiser', async () => {
  const { gateway, key } = await withTeam({}, { id: 'growth', advertisers: [2] });
  const about = `/gateway/v1/explain?endpoint=campaigns/get&query=${encodeURIComponent(FINAL)}`;
  expect(outcomeOf(await gateway.call(about, { key }))).toBe('403 advertiser_forbidden');
  expect(await listed(gateway)).toMatchObject([{ team: 'growth', report: REPORT }]);
});

it('who goes on calling with a revoked key is told in status, requests and the list of keys for an hour', async () => {
  const { gateway, key } = await withTeam({}, { id: 'growth' });
  const keys = async () => (await gateway.manage('GET', '/teams/growth/keys')).keys as { id: string }[];
  const [{ id } = { id: '' }] = await keys();
  await gateway.manage('DELETE', `/keys/${id}`);
  gateway.clock.advance(MINUTE);
  expect(await notesOf(gateway)).toEqual([]);
  for (const from of ['192.0.2.1', '192.0.2.7']) {
    const reply = await gateway.report(key, FINAL, { from });
    expect(outcomeOf(reply)).toBe('401 revoked_api_key');
    // A holder of an old key learns nothing about the team.
    expect(reply.headers).not.toHaveProperty('ratelimit');
  }
  expect(await notesOf(gateway)).toEqual([
    expect.stringMatching(
      /^team growth called 2 times in the last hour with the key '.+', revoked on 2026-11-21, last from 192\.0\.2\.7 \(give it the new key\)$/,
    ),
  ]);
  expect(await keys()).toMatchObject([{ id, refusedCalls: { calls: 2, address: '192.0.2.7' } }]);
  const [first] = await listed(gateway, '?team=growth');
  expect(first).toMatchObject({ team: 'growth', key: id, code: 'revoked_api_key' });
  expect(first).not.toHaveProperty('report');
  const { usage } = await gateway.manage('GET', '/usage');
  expect(usage).toEqual([]);
  gateway.clock.advance(HOUR + 5 * MINUTE);
  expect(await notesOf(gateway)).toEqual([]);
  expect(await keys()).toMatchObject([{ id, refusedCalls: null }]);
});

it('reports that failed by the token are listed under both of its names', async () => {
  const { gateway, key } = await withTeam();
  gateway.simulator.revoke();
  expect(outcomeOf(await gateway.report(key, FINAL))).toBe('503 credential_unavailable');
  const found = await listed(gateway, '?part=token');
  expect(found).toMatchObject([{ code: 'credential_unavailable' }]);
  expect(await listed(gateway, '?part=credential')).toEqual(found);
});

it('requests are listed by the code of their problem, and an unknown code is named with the one meant', async () => {
  const { gateway, key } = await withTeam(
    {},
    { id: 'growth', advertisers: [2], limits: { requestsPerMinute: 1 } },
  );
  expect(outcomeOf(await gateway.report(key, FINAL))).toBe('403 advertiser_forbidden');
  expect(outcomeOf(await gateway.report(key, FINAL))).toBe('429 rate_limited');
  expect(await listed(gateway)).toHaveLength(2);
  expect(await listed(gateway, '?team=growth&code=rate_limited')).toMatchObject([{ code: 'rate_limited' }]);
  expect(await listed(gateway, '?code=upstream_timeout')).toEqual([]);
  const askedFor = (code: string) => refusalOf(gateway, `/requests?code=${code}`);
  expect(await askedFor('rate_limted')).toMatchObject({
    status: 400,
    errors: [{ param: 'code', message: 'is no code of a problem: did you mean `rate_limited`?' }],
  });
  expect(await askedFor('toString')).toMatchObject({ status: 400, errors: [{ param: 'code' }] });
});

it('requests of a team that does not exist are refused with the id meant, those of a deleted team are listed', async () => {
  const { gateway, key } = await withTeam({}, { id: 'growth', advertisers: [2] });
  for (const call of ['requests', 'tail'])
    expect(await refusalOf(gateway, `/${call}?team=grwoth`)).toMatchObject({
      status: 404,
      detail: 'There is no team with this id: did you mean `growth`?',
    });
  await gateway.report(key, FINAL);
  await gateway.manage('DELETE', '/teams/growth');
  expect(await listed(gateway, '?team=growth')).toHaveLength(1);
  expect(await refusalOf(gateway, '/requests?team=nosuch')).toMatchObject({
    detail: 'There is no team with this id.',
  });
});

it('a request is asked for by less than six letters of its id: how many are needed is told', async () => {
  const { gateway } = await withTeam();
  expect(await refusalOf(gateway, '/requests/ee0')).toMatchObject({
    status: 404,
    detail: 'No request has the id ee0; of a longer id, at least six characters are needed.',
  });
});
