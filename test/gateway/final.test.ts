/** `_final`: what is final, or nothing of it; or what is final of it. */
import { describe, expect, it } from 'vitest';
import { outcomeOf, type Reply, reportIn } from '../support/start-gateway.js';
import { DAY, HOUR } from '../support/test-clock.js';
import { provenScene } from './history-scene.js';

const SERIES = 'advertiserId=1&byDate=1';
/** On the 21st the 15th is final, and the 16th is on the 22nd. */
const QUERY = `${SERIES}&dateFrom=2026-11-14&dateTo=2026-11-18`;
const YOUNG = ['2026-11-16', '2026-11-17', '2026-11-18'];

const detailOf = (reply: Reply) => reply.json<{ detail: string }>().detail;

describe('an answer by date', () => {
  it('names its first day that is not final, and none where all are', async () => {
    const { ask } = await provenScene();
    const { meta } = reportIn(await ask(QUERY));
    expect(meta).toMatchObject({ final: false, firstProvisionalDate: '2026-11-16' });
    const final = reportIn(await ask(`${SERIES}&dateFrom=2026-11-14&dateTo=2026-11-15`));
    expect(final.meta).toMatchObject({ final: true });
    expect(final.meta).not.toHaveProperty('firstProvisionalDate');
  });
});

describe('with _final=require', () => {
  it('days that are too young are refused without a call, each with when it is expected', async () => {
    const { gateway, ask } = await provenScene();
    const calls = gateway.simulator.callCount;
    const reply = await ask(`${QUERY}&_final=require`);
    expect(outcomeOf(reply)).toBe('409 not_final');
    expect(detailOf(reply)).toBe(
      'Not final: 2026-11-16 (expected to be final on 2026-11-22), 2026-11-17 (expected to be final on 2026-11-23), 2026-11-18 (expected to be final on 2026-11-24).',
    );
    expect(detailOf(await ask(`${SERIES}&dateFrom=2026-11-10&dateTo=2026-11-20&_final=require`))).toBe(
      'Not final: 2026-11-16 (expected to be final on 2026-11-22), 2026-11-17 (expected to be final on 2026-11-23) and 3 more, the last, 2026-11-20, on 2026-11-26.',
    );
    expect(gateway.simulator.callCount).toBe(calls);
  });

  it('a day that was fetched before it was final is fetched again, though it is fresh', async () => {
    const { gateway, ask, restate } = await provenScene();
    gateway.clock.set('2026-11-21T23:50:00Z');
    const query = `${SERIES}&dateFrom=2026-11-14&dateTo=2026-11-16`;
    const before = reportIn(await ask(query));
    expect(before.meta.final).toBe(false);
    gateway.clock.advance(HOUR / 3);
    restate('2026-11-16');
    const reply = await ask(`${query}&_final=require`);
    expect(reportIn(reply).meta.final).toBe(true);
    expect(reportIn(reply).data).not.toEqual(before.data);
    expect(reply.headers['cache-status']).toContain('days=1/3');
    const again = await ask(`${query}&_final=require`);
    expect([again.status, again.headers['cache-status']?.includes('hit')]).toEqual([200, true]);
  });

  it('what the platform could not be asked for since is 409, and not what was provisional', async () => {
    const { gateway, ask } = await provenScene();
    await ask(QUERY);
    gateway.clock.advance(4 * DAY);
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    const reply = await ask(`${QUERY}&_final=require`);
    expect(outcomeOf(reply)).toBe('409 not_final');
    expect(detailOf(reply)).toMatch(/but not fetched since: 2026-11-16, 2026-11-17, 2026-11-18\./);
  });

  it('is of use for sums of a period, for the platform’s bytes, and as of a moment', async () => {
    const { ask } = await provenScene();
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
    const { gateway, ask } = await provenScene();
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
    const { gateway, ask } = await provenScene();
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
    const { gateway, ask } = await provenScene();
    await ask(QUERY);
    gateway.clock.advance(DAY);
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    const { data, meta } = reportIn(await ask(`${QUERY}&_final=only`));
    expect(data.map(({ date }) => date)).toEqual(['2026-11-14', '2026-11-15']);
    expect(meta.warnings?.[0]?.days).toEqual(YOUNG);
  });
});

it('is given to HEAD and POST, and as 304; and is no way to a foreign advertiser', async () => {
  const { gateway, key, ask } = await provenScene();
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
