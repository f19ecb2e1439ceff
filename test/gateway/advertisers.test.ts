/** `GET /gateway/v1/advertisers` and `GET /admin/v1/advertisers`: names from what the gateway fetches anyway. */
import { expect, it } from 'vitest';
import { advertiserName } from '../../src/simulator/advertiser-names.js';
import type { Store } from '../../src/store/port.js';
import { StoreUnavailable } from '../../src/store/port.js';
import {
  ADMIN_TOKEN,
  outcomeOf,
  type TestGateway,
  type withGateway,
  withTeam,
} from '../support/start-gateway.js';
import { HOUR } from '../support/test-clock.js';

const queryOf = (advertiser: number) =>
  `advertiserId=${advertiser}&byDate=1&dateFrom=2026-11-08&dateTo=2026-11-09`;
const plain = (id: number) => advertiserName(id, 'plain');

interface Shown {
  readonly id: number;
  readonly name: string | null;
  readonly lastSeenAt: string | null;
}

async function scene(options: Parameters<typeof withGateway>[0] = {}, team = 'all') {
  const { gateway, key } = await withTeam(options, { id: team });
  gateway.simulator.set({ accountNames: 'plain' });
  const ask = async (advertiser: number, by = key) => {
    const reply = await gateway.report(by, queryOf(advertiser));
    await gateway.services.settled();
    return reply;
  };
  return { gateway, key, ask };
}

async function all(gateway: TestGateway, query = ''): Promise<readonly Shown[]> {
  return (await gateway.manage('GET', `/advertisers${query}`)).advertisers as Shown[];
}

async function ofTeam(gateway: TestGateway, key: string, query = ''): Promise<readonly Shown[]> {
  const reply = await gateway.call(`/gateway/v1/advertisers${query}`, { key });
  expect(outcomeOf(reply)).toBe('200');
  expect(reply.headers['cache-control']).toBe('private, no-store');
  return reply.json<{ advertisers: Shown[] }>().advertisers;
}

it('names come from answers that were asked for anyway, those seen last first, and cost no platform call', async () => {
  const { gateway, ask } = await scene();
  expect(await all(gateway)).toEqual([]);
  await ask(2);
  gateway.clock.advance(HOUR);
  await ask(1);
  const calls = gateway.simulator.calls.length;
  expect(await all(gateway)).toEqual([
    { id: 1, name: plain(1), lastSeenAt: '2026-11-21T13:00:00.000Z' },
    { id: 2, name: plain(2), lastSeenAt: '2026-11-21T12:00:00.000Z' },
  ]);
  expect(gateway.simulator.calls.length).toBe(calls);
});

it('are sought by the beginning of the id, or a part of the name, as many as wanted', async () => {
  const { gateway, ask } = await scene();
  for (const advertiser of [1, 2, 12]) await ask(advertiser);
  const ids = async (query: string) => (await all(gateway, query)).map(({ id }) => id);
  expect(await ids('?search=1')).toEqual([1, 12]);
  expect(await ids('?search=baltic')).toEqual([2]);
  expect(await ids('?search=%20BALTIC%20')).toEqual([2]);
  expect(await ids('?search=nobody')).toEqual([]);
  expect(await ids('?limit=1')).toEqual([1]);
});

it.each(['limit=0', 'limit=10001', 'limit=x', `search=${'x'.repeat(201)}`, 'search=a&search=b'])(
  '%s is refused on both planes',
  async (query) => {
    const { gateway, key } = await scene();
    const { statusCode } = await gateway.admin.inject({
      method: 'GET',
      url: `/admin/v1/advertisers?${query}`,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    expect(statusCode).toBe(400);
    const reply = await gateway.call(`/gateway/v1/advertisers?${query}`, { key });
    expect(outcomeOf(reply)).toBe('400 invalid_query');
  },
);

it('a limited team is shown what it was granted, and never the id or name of another', async () => {
  const { gateway, ask } = await scene();
  for (const advertiser of [1, 2]) await ask(advertiser);
  const limited = await gateway.addTeam({ id: 'limited', advertisers: [1, 30] });
  expect(await ofTeam(gateway, limited)).toEqual([
    { id: 1, name: plain(1), lastSeenAt: '2026-11-21T12:00:00.000Z' },
    { id: 30, name: null, lastSeenAt: null },
  ]);
  for (const search of ['2', 'baltic', plain(2)])
    expect(await ofTeam(gateway, limited, `?search=${encodeURIComponent(search)}`)).toEqual([]);
  const none = await gateway.addTeam({ id: 'none', advertisers: [] });
  expect(await ofTeam(gateway, none)).toEqual([]);
  const noScope = await gateway.addTeam({ id: 'no-scope', scopes: ['platform:read'] });
  expect(outcomeOf(await gateway.call('/gateway/v1/advertisers', { key: noScope }))).toBe(
    '403 scope_missing',
  );
});

it.each([
  ['history/erase', { advertiserId: 1 }],
  ['cache/purge', { advertiserId: 1 }],
  ['cache/purge', { all: true }],
])('after %s %j the name is gone at once, until it is seen again', async (path, body) => {
  const { gateway, ask } = await scene();
  const limited = await gateway.addTeam({ id: 'limited', advertisers: [1] });
  for (const advertiser of [1, 2]) await ask(advertiser);
  await gateway.manage('POST', `/${path}`, body);
  const left = 'all' in body ? [] : [2];
  expect((await all(gateway)).map(({ id }) => id)).toEqual(left);
  expect(await ofTeam(gateway, limited)).toEqual([{ id: 1, name: null, lastSeenAt: null }]);
  if (path === 'history/erase')
    expect(await gateway.store.documents.get('advertisers')).not.toContain(plain(1));
  await ask(1);
  expect((await all(gateway)).map(({ id }) => id).sort()).toEqual([...left, 1].sort());
  expect(await ofTeam(gateway, limited)).toMatchObject([{ id: 1, name: plain(1) }]);
});

it('a purge of one report or of days leaves names', async () => {
  const { gateway, ask } = await scene();
  await ask(1);
  for (const scope of [
    { endpoint: 'campaigns/get' },
    { advertiserId: 1, from: '2026-11-01' },
    { advertiserId: 1, to: '2026-11-30' },
    { from: '2026-11-01', to: '2026-11-30' },
    { advertiserId: 2 },
  ])
    await gateway.manage('POST', '/cache/purge', scope);
  expect((await all(gateway)).map(({ name }) => name)).toEqual([plain(1)]);
});

it('while the store is away reports are answered, and what was seen waits for it', async () => {
  let away = false;
  const { gateway, ask } = await scene({
    wrapStore: (store: Store) => ({
      ...store,
      documents: {
        ...store.documents,
        get: (key) => (away ? Promise.reject(new StoreUnavailable('away')) : store.documents.get(key)),
      },
    }),
  });
  away = true;
  expect(outcomeOf(await ask(1))).toBe('200');
  const { statusCode } = await gateway.admin.inject({
    method: 'GET',
    url: '/admin/v1/advertisers',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  expect(statusCode).toBe(503);
  away = false;
  await gateway.services.settled();
  expect((await all(gateway)).map(({ name }) => name)).toEqual([plain(1)]);
});
