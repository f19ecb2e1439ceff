/** The series of a whole gateway: what is counted where, and who is shown it. */
import { expect, it } from 'vitest';
import { StoreUnavailable } from '../../src/store/port.js';
import { listenGateway } from '../support/listen-gateway.js';
import { ADMIN_TOKEN, gatewayAt, outcomeOf, REPORT, withGateway } from '../support/start-gateway.js';

interface Shown {
  readonly series: {
    readonly requests: readonly number[];
    readonly errors: readonly number[];
    readonly outcomes: Readonly<Record<string, readonly number[]>>;
    readonly hitTiers: { readonly memory: readonly number[]; readonly store: readonly number[] };
    readonly platformCalls: readonly number[];
    readonly platformCallsSaved: readonly number[];
    readonly budgetLeft: readonly (number | null)[];
    readonly latency: { readonly counts: readonly (readonly number[])[] };
  };
}
const BY_DATE = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';
const sum = (numbers: readonly number[] = []) => numbers.reduce((all, one) => all + one, 0);

it('counts reports by either way, what is refused, and no probe', async () => {
  const gateway = await withGateway();
  const key = await gateway.addTeam({ id: 'growth', name: 'Growth' });
  await gateway.report(key, BY_DATE);
  await gateway.report(key, BY_DATE);
  for (const probe of ['/healthz', '/readyz', '/', '/gateway/v1/me']) await gateway.call(probe, { key });
  await gateway.call(REPORT);
  await gateway.report(key, 'dateFrom=nonsense');
  await gateway.services.settled();
  const all = (await gateway.manage('GET', '/series?range=1h')) as unknown as Shown;
  expect([sum(all.series.requests), sum(all.series.errors)]).toEqual([4, 2]);
  expect([
    sum(all.series.outcomes.hit),
    sum(all.series.outcomes.miss),
    sum(all.series.outcomes.other),
  ]).toEqual([1, 1, 2]);
  expect([sum(all.series.hitTiers.memory), sum(all.series.hitTiers.store)]).toEqual([1, 0]);
  expect(sum(all.series.latency.counts.flat())).toBe(4);
  const calls = sum(all.series.platformCalls);
  expect(calls).toBeGreaterThan(0);
  const own = (await gateway.call('/gateway/v1/series?range=24h', { key })).json<Shown>();
  expect([sum(own.series.requests), sum(own.series.errors), sum(own.series.platformCallsSaved)]).toEqual([
    3, 1, 1,
  ]);
  expect(own).toEqual(await gateway.manage('GET', '/series?range=24h&team=growth'));
  expect(own.series.budgetLeft.at(-1)).toBe(
    (gateway.services.directory.team('growth')?.limits.upstreamCallsPerDay ?? 0) -
      sum(own.series.platformCalls),
  );
});

it('counts hits that are answered before the router, by their tier', async () => {
  const quick = { logLevel: 'info' };
  const one = await withGateway(quick);
  const other = await gatewayAt(one.simulator, { ...quick, sharedStore: one.store, clock: one.clock });
  const key = await one.addTeam();
  await one.report(key, BY_DATE);
  await one.services.settled();
  const ask = async (url: string) => {
    const answer = await fetch(`${url}${REPORT}?${BY_DATE}`, { headers: { 'x-api-key': key } });
    await answer.arrayBuffer();
    return answer.headers.get('cache-status');
  };
  const url = await listenGateway(other);
  expect(await ask(url)).toContain('detail=store');
  for (let times = 0; times < 2; times += 1) expect(await ask(url)).toContain('detail=l1');
  const counted = async () => {
    const { series } = (await other.manage('GET', '/series?range=1h')) as unknown as Shown;
    return [series.outcomes.hit, series.hitTiers.store, series.hitTiers.memory].map((all) => sum(all));
  };
  await expect.poll(counted).toEqual([3, 1, 2]);
});

it('joins names to the ledger, and shows a team that was deleted by its id', async () => {
  const gateway = await withGateway();
  for (const id of ['kept', 'gone'])
    await gateway.report(await gateway.addTeam({ id, name: `${id}!` }), BY_DATE);
  await gateway.manage('DELETE', '/teams/gone');
  const { teams } = (await gateway.manage('GET', '/series/teams?range=1h')) as {
    teams: readonly { id: string; name: string; requests: number; lastSeenAt: string }[];
  } & Record<string, unknown>;
  expect(teams.filter(({ requests }) => requests > 0)).toMatchObject([
    { id: 'gone', name: 'gone' },
    { id: 'kept', name: 'kept!', requests: 1, lastSeenAt: '2026-11-21T12:00:00.000Z' },
  ]);
});

it('of what its process and others counted is told by each of them', async () => {
  const one = await withGateway();
  const other = await gatewayAt(one.simulator, { sharedStore: one.store, clock: one.clock });
  const key = await one.addTeam({ id: 'growth' });
  await one.report(key, BY_DATE);
  await one.services.settled();
  await expect.poll(async () => outcomeOf(await other.report(key, BY_DATE))).toBe('200');
  await Promise.all([one.services.series.flush(), other.services.series.flush()]);
  for (const gateway of [one, other]) {
    const { series } = (await gateway.manage('GET', '/series?range=1h')) as unknown as Shown;
    expect([sum(series.outcomes.miss), sum(series.outcomes.hit)]).toEqual([1, 1]);
  }
});

it('is refused without a range, without a key, and while the store is away', async () => {
  let isAway = false;
  const gateway = await withGateway({
    wrapStore: (store) =>
      Object.assign(Object.create(store), {
        counters: {
          ...store.counters,
          read: async (groups: readonly string[]) => {
            if (isAway) throw new StoreUnavailable('away');
            return await store.counters.read(groups);
          },
        },
      }),
  });
  const key = await gateway.addTeam();
  expect(outcomeOf(await gateway.call('/gateway/v1/series', { key }))).toBe('400 invalid_query');
  expect(outcomeOf(await gateway.call('/gateway/v1/series?range=2h', { key }))).toBe('400 invalid_query');
  const misspelt = await gateway.call('/gateway/v1/series?range=1h&teem=growth', { key });
  expect(misspelt.json()).toMatchObject({ code: 'invalid_query', errors: [{ param: 'teem' }] });
  expect(outcomeOf(await gateway.call('/gateway/v1/series?range=1h'))).toBe('401 missing_api_key');
  expect(outcomeOf(await gateway.call('/gateway/v1/series?range=1h', { key, method: 'POST' }))).toBe(
    '405 method_not_allowed',
  );
  isAway = true;
  expect(outcomeOf(await gateway.call('/gateway/v1/series?range=1h', { key }))).toBe('503 not_ready');
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const answer = await gateway.admin.inject({ url: '/admin/v1/series/teams?range=1h', headers });
  expect(answer.json()).toMatchObject({ status: 503, code: 'not_ready' });
});
