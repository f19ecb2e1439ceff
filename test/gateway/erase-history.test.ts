/** `POST /admin/v1/history/erase`, as an operator and the teams see it. */
import { expect, it } from 'vitest';
import type { Problem } from '../../src/lib/http/problem.js';
import type { Store } from '../../src/store/port.js';
import { StoreUnavailable } from '../../src/store/port.js';
import { prove } from '../support/prove.js';
import { ADMIN_TOKEN, outcomeOf, reportIn, withTeam } from '../support/start-gateway.js';
import { HOUR } from '../support/test-clock.js';

const queryOf = (advertiser: number) =>
  `advertiserId=${advertiser}&byDate=1&dateFrom=2026-11-17&dateTo=2026-11-19`;

async function scene(wrapStore: (store: Store) => Store = (store) => store) {
  const { gateway, key } = await withTeam({ wrapStore });
  await prove(gateway, key);
  const ask = async (query: string) => {
    const reply = await gateway.report(key, query);
    await gateway.services.settled();
    return reply;
  };
  const [own, other] = [await ask(queryOf(1)), await ask(queryOf(2))];
  const asOf = (query: string) => ask(`${query}&_asOf=${reportIn(own).meta.knownAt}`);
  gateway.clock.advance(HOUR);
  return {
    gateway,
    ask,
    asOf,
    other,
    erase: (body: object) => gateway.manage('POST', '/history/erase', body),
  };
}

it('what was known of an advertiser is known no more, that of others is, and what is fetched since', async () => {
  const { gateway, ask, asOf, erase } = await scene();
  expect(outcomeOf(await asOf(queryOf(1)))).toBe('200');
  expect(await erase({ advertiserId: 1 })).toEqual({
    erased: 'advertiser 1',
    days: expect.any(Number),
    complete: true,
  });
  expect(outcomeOf(await asOf(queryOf(1)))).toBe('404 not_known_then');
  expect(outcomeOf(await asOf(queryOf(2)))).toBe('200');
  const again = await ask(queryOf(1));
  expect(again.headers['cache-status']).toContain('fwd=miss');
  const { knownAt } = reportIn(again).meta;
  expect(reportIn(await ask(`${queryOf(1)}&_asOf=${knownAt}`)).data).toEqual(reportIn(again).data);
  const { entries } = (await gateway.manage('GET', '/audit?action=history')) as { entries: object[] };
  expect(entries).toMatchObject([
    { actor: 'admin', action: 'history.erase', subject: 'advertiser 1', after: { advertiserId: '1' } },
  ]);
});

it('with the store away nobody is shown it, and it is said that the rest follows', async () => {
  let away = false;
  const { asOf, erase } = await scene((store) => ({
    ...store,
    days: {
      ...store.days,
      months: (...page) => (away ? Promise.reject(new StoreUnavailable('away')) : store.days.months(...page)),
    },
  }));
  away = true;
  expect(await erase({ advertiserId: 1 })).toEqual({ erased: 'advertiser 1', days: 0, complete: false });
  expect(outcomeOf(await asOf(queryOf(1)))).toBe('404 not_known_then');
});

it.each([
  [{}],
  [{ advertiserId: 0 }],
  [{ advertiserId: 2 ** 60 }],
  [{ advertiserId: '1' }],
  [{ advertiserId: 1, endpoint: 'x' }],
])('%j is refused, and nothing is erased', async (body) => {
  const { asOf, gateway } = await scene();
  const reply = await gateway.admin.inject({
    method: 'POST',
    url: '/admin/v1/history/erase',
    payload: body,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  expect([reply.statusCode, reply.json<Problem>().code]).toEqual([422, 'invalid_body']);
  expect(outcomeOf(await asOf(queryOf(1)))).toBe('200');
});
