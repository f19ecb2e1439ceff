/** Parameters of reports that nobody declared, sent by a team with a list of advertisers: refused, or observed. */
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Problem } from '../../src/lib/http/problem.js';
import { runCli } from '../cli/run-cli.js';
import { ADMIN_TOKEN, outcomeOf, REPORT, withGateway } from '../support/start-gateway.js';

const WHOLE = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-02';
const UNDECLARED = '400 undeclared_parameter';

async function open(limitedTeams: object = {}) {
  const gateway = await withGateway({
    config: { report: { limitedTeams, endpoints: { 'campaigns/get': { readByPost: true } } } },
  });
  const [limited, all] = [
    await gateway.addTeam({ id: 'limited', advertisers: [1] }),
    await gateway.addTeam(),
  ];
  return { gateway, limited, all };
}

describe('a limited team', () => {
  it('is refused an undeclared parameter before the cache and the platform, while another team is served', async () => {
    const { gateway, limited, all } = await open();
    const query = `${WHOLE}&sort2=spent`;
    for (const key of [limited, all, limited]) {
      const before = gateway.simulator.callCount;
      expect(outcomeOf(await gateway.report(key, query))).toBe(key === all ? '200' : UNDECLARED);
      if (key === limited) expect(gateway.simulator.callCount).toBe(before);
    }
    expect((await gateway.report(limited, query)).json<Problem>()).toMatchObject({
      type: '/docs/errors/undeclared_parameter',
      detail:
        'sort2 is not declared, and a team with a list of advertisers may send declared parameters only.',
      help: expect.stringMatching(
        /^Omit sort2, or ask your operator .*report\.endpoints\."campaigns\/get"\.knownParameters/,
      ),
      errors: [{ param: 'sort2', message: expect.any(String) }],
    });
  });

  it('is refused a member of a body by its path, and in calls about a report by its place', async () => {
    const { gateway, limited } = await open();
    const json = { advertiserId: 1, page: 2, filter: { by: { advertiser: 2 } } };
    const post = await gateway.call(REPORT, { method: 'POST', key: limited, json });
    expect([outcomeOf(post), post.json<Problem>().errors?.[0]?.param]).toEqual([
      UNDECLARED,
      'filter.by.advertiser',
    ]);
    for (const path of ['explain', 'revisions', 'finality']) {
      const query = encodeURIComponent(`${WHOLE}&byDate=1&sort2=x`);
      const about = await gateway.call(`/gateway/v1/${path}?endpoint=campaigns/get&query=${query}`, {
        key: limited,
      });
      const { errors, help } = about.json<Problem>();
      expect([path, outcomeOf(about), errors?.[0]?.param]).toEqual([path, UNDECLARED, 'query.sort2']);
      expect(help).toContain('knownParameters');
    }
  });

  it('is told first of an account that it may not see', async () => {
    const { gateway, limited } = await open();
    expect(outcomeOf(await gateway.report(limited, `${WHOLE}&accountId=2&sort2=x`))).toBe(
      '403 advertiser_forbidden',
    );
    expect(outcomeOf(await gateway.report(limited, `${WHOLE}&accountId=1`))).toBe(UNDECLARED);
  });

  it('is served as before while it is observed, and status lists what would be refused', async () => {
    const { gateway, limited, all } = await open({ undeclared: 'observe' });
    await gateway.admin.listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => gateway.admin.server.closeAllConnections());
    const { port } = gateway.admin.server.address() as AddressInfo;
    const status = () => runCli(['status'], { GATEWAY_ADMIN_URL: `http://127.0.0.1:${port}`, ADMIN_TOKEN });
    expect((await status()).stdout).toContain('nothing would be refused so far');
    for (const passes of ['sort2=spent', 'filter=spent%3E5', 'sort2=spent', 'sort=spent'])
      expect((await gateway.report(limited, `${WHOLE}&${passes}`)).status).toBe(200);
    for (const refused of ['filter=advertiserId:2', 'ids[]=2'])
      expect(outcomeOf(await gateway.report(limited, `${WHOLE}&${refused}`))).toBe(
        '403 advertiser_forbidden',
      );
    expect((await gateway.report(all, `${WHOLE}&other=x`)).status).toBe(200);
    const { undeclaredParameters } = await gateway.manage('GET', '/status');
    const seen = {
      team: 'limited',
      endpoint: 'campaigns/get',
      message: expect.stringContaining('not declared'),
    };
    expect(undeclaredParameters).toEqual(
      ['filter', 'sort2'].map((parameter) => ({ ...seen, parameter, lastSeen: expect.any(String) })),
    );
    expect((await status()).stdout).toMatch(
      /undeclared +would be refused: filter in campaigns\/get of the team limited: is not/,
    );
  });

  it('is not listed while it is refused', async () => {
    const { gateway, limited } = await open();
    await gateway.report(limited, `${WHOLE}&sort2=spent`);
    expect((await gateway.manage('GET', '/status')).undeclaredParameters).toBeNull();
  });
});
