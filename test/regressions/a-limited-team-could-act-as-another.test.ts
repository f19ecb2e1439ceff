/** Names that have the platform act as somebody else were passed on for limited teams, on reports and pass-through. */
import { expect, it } from 'vitest';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';
const PATH = '/api/v1/campaign/get';
const NAMES = [
  'impersonate',
  'impersonateUser',
  'actAs',
  'act_as',
  'acting_as',
  'xActAs',
  'x_act_as',
  'on_behalf_of',
  'onBehalfOf',
  'sudo',
  'SUDO',
];
const ROUTES = [
  { method: 'GET', path: PATH, account: ['query.advertiserId'] },
  { method: 'POST', path: PATH, account: ['body.advertiserId'] },
];

async function open(report: Readonly<Record<string, unknown>> = {}) {
  const platform = await startRawPlatform(sends('{"data":[{"date":"2026-11-01","spent":1}]}'));
  const gateway = await gatewayAt(platform, { config: { routes: ROUTES, report } });
  return {
    platform,
    gateway,
    limited: await gateway.addTeam({ advertisers: [1] }),
    all: await gateway.addTeam(),
  };
}

it('is refused each of them, whatever the value, and the platform is not asked', async () => {
  const { platform, gateway, limited } = await open();
  for (const name of NAMES)
    for (const extra of [`${name}=2`, `${name}=1`, `${name}=root`, `${name}[user]=2`, `a[${name}]=x`]) {
      const report = await gateway.report(limited, `${QUERY}&${extra}`);
      expect([extra, report.status]).toEqual([extra, expect.toBeOneOf([400, 403])]);
      const passed = await gateway.call(`${PATH}?advertiserId=1&${extra}`, { key: limited });
      expect([extra, outcomeOf(passed)]).toEqual([extra, '403 advertiser_forbidden']);
    }
  expect(platform.requests).toHaveLength(0);
});

it('is refused them as members of a body too', async () => {
  const { platform, gateway, limited } = await open();
  for (const name of ['actAs', 'x-act-as', 'xActAs']) {
    const json = { advertiserId: 1, [name]: 'root' };
    const passed = await gateway.call(PATH, { method: 'POST', key: limited, json });
    expect([name, outcomeOf(passed)]).toEqual([name, '403 advertiser_forbidden']);
  }
  expect(platform.requests).toHaveLength(0);
});

it('may send one that an operator says names no account, and what only looks like one', async () => {
  const { gateway, limited, all } = await open({ nonAccountParameters: ['actAs'] });
  expect((await gateway.call(`${PATH}?advertiserId=1&actAs=fast`, { key: limited })).status).toBe(200);
  for (const name of ['actasset', 'xactasset', 'maxactas', 'pseudo', 'action', 'reactAsset'])
    expect((await gateway.call(`${PATH}?advertiserId=1&${name}=x`, { key: limited })).status).toBe(200);
  expect((await gateway.call(`${PATH}?sudo=2`, { key: all })).status).toBe(200);
});
