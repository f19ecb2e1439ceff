/** `_final`: what is final, or nothing of it; or what is final of it. */
import { describe, expect, it } from 'vitest';
import { prove } from '../support/prove.js';
import { type Call, outcomeOf, type Reply, reportIn, withGateway } from '../support/start-gateway.js';
import { DAY, HOUR } from '../support/test-clock.js';

const SERIES = 'advertiserId=1&byDate=1';
/** On the 21st the 15th is final, and the 16th is on the 22nd. */
const QUERY = `${SERIES}&dateFrom=2026-11-14&dateTo=2026-11-18`;
const YOUNG = ['2026-11-16', '2026-11-17', '2026-11-18'];

async function scene() {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  await prove(gateway, key);
  const ask = async (query: string, call: Call = {}) => {
    const reply = await gateway.report(key, query, call);
    await gateway.services.settled();
    return reply;
  };
  return { gateway, key, ask };
}

const detailOf = (reply: Reply) => reply.json<{ detail: string }>().detail;

describe('an answer by date', () => {
  it('names its first day that is not final, and none where all are', async () => {
    const { ask } = await scene();
    const { meta } = reportIn(await ask(QUERY));
    expect(meta).toMatchObject({ final: false, firstProvisionalDate: '2026-11-16' });
    const final = reportIn(await ask(`${SERIES}&dateFrom=2026-11-14&dateTo=2026-11-15`));
    expect(final.meta).toMatchObject({ final: true });
    expect(final.meta).not.toHaveProperty('firstProvisionalDate');
  });

  it('names it as well where it is not answered by days', async () => {
    const { gateway, key } = { ...(await scene()) };
    const other = `advertiserId=2&byDate=1&byCampaign=1&dateFrom=2026-11-14&dateTo=2026-11-18`;
    const { meta } = reportIn(await gateway.report(key, other));
    expect(meta).toMatchObject({ final: false, firstProvisionalDate: '2026-11-16' });
  });
});

describe('with _final=require', () => {
  it('days that are too young are refused without a call, each with when it is expected', async () => {
    const { gateway, ask } = await scene();
    const calls = gateway.simulator.callCount;
    const reply = await ask(`${QUERY}&_final=require`);
    expect(outcomeOf(reply)).toBe('409 not_final');
    expect(detailOf(reply)).toBe(
      'Not final: 2026-11-16 (expected to be final on 2026-11-22), 2026-11-17 (expected to be final on 2026-11-23), 2026-11-18 (expected to be final on 2026-11-24).',
    );
    expect(gateway.simulator.callCount).toBe(calls);
  });

  it('a day that was fetched before it was final is fetched again, though it is fresh', async () => {
    const { gateway, ask } = await scene();
    gateway.clock.set('2026-11-21T23:50:00Z');
    const query = `${SERIES}&dateFrom=2026-11-14&dateTo=2026-11-16`;
    const before = reportIn(await ask(query));
    expect(before.meta.final).toBe(false);
    gateway.clock.advance(HOUR / 3);
    gateway.simulator.restate({ advertiserId: 1, from: '2026-11-16', to: '2026-11-16' });
    const reply = await ask(`${query}&_final=require`);
    expect(reportIn(reply).meta.final).toBe(true);
    expect(reportIn(reply).data).not.toEqual(before.data);
    expect(reply.headers['cache-status']).toContain('days=1/3');
    const again = await ask(`${query}&_final=require`);
    expect([again.status, again.headers['cache-status']?.includes('hit')]).toEqual([200, true]);
  });

  it('what the platform could not be asked for since is 409, and not what was provisional', async () => {
    const { gateway, ask } = await scene();
    await ask(QUERY);
    gateway.clock.advance(4 * DAY);
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    const reply = await ask(`${QUERY}&_final=require`);
    expect(outcomeOf(reply)).toBe('409 not_final');
    expect(detailOf(reply)).toMatch(/could not be asked since, .*: 2026-11-16, 2026-11-17, 2026-11-18\.$/);
  });

  it('is of use for sums of a period, for the platform’s bytes, and as of a moment', async () => {
    const { ask } = await scene();
    const sums = 'advertiserId=1&dateFrom=2026-11-10&dateTo=';
    expect(reportIn(await ask(`${sums}2026-11-15&_final=require`)).meta.final).toBe(true);
    expect(outcomeOf(await ask(`${sums}2026-11-16&_final=require`))).toBe('409 not_final');
    expect((await ask(`${sums}2026-11-15&_final=require&_format=raw`)).status).toBe(200);
    const then = await ask(`${SERIES}&dateFrom=2026-11-10&dateTo=2026-11-12&_final=require&_asOf=2026-11-20`);
    expect(outcomeOf(then)).toBe('404 not_known_then');
  });
});

describe('with _final=only', () => {
  it('days that are not final are left out of the period, and named', async () => {
    const { gateway, ask } = await scene();
    const reply = await ask(`${QUERY}&_final=only&_days=1`);
    const { data, meta } = reportIn(reply);
    expect(data.map(({ date }) => date)).toEqual(['2026-11-14', '2026-11-15']);
    expect(meta).toMatchObject({ final: true, period: { from: '2026-11-14', to: '2026-11-15' } });
    expect(meta.days?.map(({ date }) => date)).toEqual(['2026-11-14', '2026-11-15']);
    expect(meta.warnings).toEqual([
      { code: 'provisional_days_left_out', days: YOUNG, message: expect.stringContaining('2026-11-22') },
    ]);
    expect(reply.headers['cache-control']).toMatch(/max-age=/);
    gateway.clock.advance(DAY);
    expect(reportIn(await ask(`${QUERY}&_final=only`)).data).toHaveLength(3);
  });

  it('nothing that is final is an empty answer that says so, without a call', async () => {
    const { gateway, ask } = await scene();
    const calls = gateway.simulator.callCount;
    const { data, meta } = reportIn(await ask(`${SERIES}&_period=yesterday&_final=only&_days=1&_totals=1`));
    expect(data).toEqual([]);
    expect(meta).toMatchObject({ period: null, final: false, rowCount: 0, days: [] });
    expect(meta).not.toHaveProperty('revision');
    expect(meta.warnings?.[0]).toMatchObject({
      code: 'provisional_days_left_out',
      days: ['2026-11-20'],
      message: expect.stringContaining('there are no rows'),
    });
    expect((await ask(`${SERIES}&_period=yesterday&_final=only&_format=csv`)).text).toBe('');
    expect(gateway.simulator.callCount).toBe(calls);
  });

  it('a day that could not be fetched since it is final is left out, too', async () => {
    const { gateway, ask } = await scene();
    await ask(QUERY);
    gateway.clock.advance(DAY);
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    const { data, meta } = reportIn(await ask(`${QUERY}&_final=only`));
    expect(data.map(({ date }) => date)).toEqual(['2026-11-14', '2026-11-15']);
    expect(meta.warnings?.[0]?.days).toEqual(YOUNG);
  });

  it('totals are those of the days that are left', async () => {
    const { ask } = await scene();
    const only = reportIn(await ask(`${QUERY}&_final=only&_totals=1`));
    const cut = reportIn(await ask(`${SERIES}&dateFrom=2026-11-14&dateTo=2026-11-15&_totals=1`));
    expect(only.meta.totals).toEqual(cut.meta.totals);
    expect(only.meta.revision).toBe(cut.meta.revision);
  });
});

describe('refused is', () => {
  it.each([
    ['an empty one', `${QUERY}&_final=`, /must be one of require, only/],
    ['one in other case', `${QUERY}&_final=Only`, /must be one of/],
    ['one given twice', `${QUERY}&_final=only&_final=only`, /./],
    ['one without a period', `${SERIES}&_final=require`, /add dateFrom and dateTo/],
    ['one with an open period', `${SERIES}&dateTo=2026-11-15&_final=require`, /add dateFrom and dateTo/],
    ['only of sums', 'advertiserId=1&_period=last_7_days&_final=only', /byDate=1, or give _final=require/],
    ['only of the platform’s bytes', `${QUERY}&_final=only&_format=raw`, /_format=raw/],
    ['one with the final vintage', `${QUERY}&_final=only&_vintage=final`, /_vintage=final/],
  ])('_final: %s', async (_what, query, message) => {
    const { ask } = await scene();
    const reply = await ask(query);
    expect(outcomeOf(reply)).toBe('400 invalid_query');
    expect(reply.json<{ errors: unknown[] }>().errors).toEqual([
      { param: '_final', message: expect.stringMatching(message) },
    ]);
  });
});

it('is given to HEAD and POST, and as 304; and is no way to a foreign advertiser', async () => {
  const { gateway, key, ask } = await scene();
  const got = await ask(`${QUERY}&_final=only`);
  expect((await ask(`${QUERY}&_final=only`, { method: 'HEAD' })).headers.etag).toBe(got.headers.etag);
  const etag = got.headers.etag as string;
  expect((await ask(`${QUERY}&_final=only`, { headers: { 'if-none-match': etag } })).status).toBe(304);
  expect((await ask(`${QUERY}&_final=require`, { method: 'HEAD' })).status).toBe(409);
  const posted = await gateway.report(key, '_final=only', {
    method: 'POST',
    json: { advertiserId: 1, byDate: true, dateFrom: '2026-11-14', dateTo: '2026-11-18' },
  });
  expect(reportIn(posted).data).toEqual(reportIn(got).data);
  const other = await gateway.addTeam({ id: 'other', advertisers: [2] });
  for (const wish of ['require', 'only'])
    expect(outcomeOf(await gateway.report(other, `${QUERY}&_final=${wish}`))).toBe(
      '403 advertiser_forbidden',
    );
});
