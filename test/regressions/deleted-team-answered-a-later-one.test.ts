/** A team that was deleted and made anew under the same id is another team: nothing of the first one answers it. */
import { describe, expect, it } from 'vitest';
import type { ShownSeries } from '../../src/teams/series/create-series.js';
import { agentOf } from '../api/mcp/agent.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, startGateway, type TestGateway } from '../support/start-gateway.js';

const TEAM = { id: 'agents', scopes: ['report:read', 'mcp'], advertisers: [1, 2] };
const QUESTION = {
  advertiserId: 2,
  period: { from: '2026-11-01', to: '2026-11-02' },
  split: ['date'],
};

async function makeAnew(gateway: TestGateway, team: { readonly id: string }): Promise<string> {
  await gateway.manage('DELETE', `/teams/${team.id}`);
  return gateway.addTeam(team);
}

function requestsIn(shown: unknown): number {
  const { requests } = (shown as ShownSeries).series;
  return requests.reduce((sum, count) => sum + count, 0);
}

async function columnsOf(gateway: TestGateway, key: string): Promise<unknown[]> {
  const agent = await agentOf(gateway, key);
  const { body } = await agent.call('describe_reports', { endpoint: 'campaigns/get' });
  return (body.rows ?? []).filter(([, kind]) => kind === 'column').map(([, , name]) => name);
}

async function usageOf(gateway: TestGateway, key: string) {
  await gateway.services.usage.flush();
  const { body } = await (await agentOf(gateway, key)).call('get_usage');
  const requests = body.columns?.indexOf('requests') ?? -1;
  return (body.rows ?? []).map((row) => row[requests]);
}

describe('a team that was made anew under the id of a deleted one', () => {
  it('has its writes sent, whatever idempotency keys the deleted one used', async () => {
    const platform = await startRawPlatform(sends('{"id":77}', { 'content-type': 'application/json' }, 201));
    const gateway = await gatewayAt(platform);
    const team = { id: 'writers', scopes: ['platform:write'] };
    const post = async (key: string) => {
      const headers = { 'idempotency-key': 'order-7' };
      const json = { userId: 1, name: 'New' };
      const reply = await gateway.call('/api/v1/campaign/create', { method: 'POST', key, json, headers });
      return [reply.status, reply.headers['idempotency-replayed'] ?? null];
    };
    const first = await gateway.addTeam(team);
    expect([await post(first), await post(first)]).toEqual([
      [201, null],
      [201, 'true'],
    ]);
    const second = await makeAnew(gateway, team);
    expect([await post(second), await post(second)]).toEqual([
      [201, null],
      [201, 'true'],
    ]);
    expect(platform.requests).toHaveLength(2);
  });

  it('sees neither the usage nor the columns of the deleted one; the operator sees the usage of both', async () => {
    const gateway = await startGateway();
    const first = await gateway.addTeam(TEAM);
    await (await agentOf(gateway, first)).call('query_report', QUESTION);
    expect(await columnsOf(gateway, first)).toContain('spent');
    const before = await usageOf(gateway, first);
    expect(before).toHaveLength(1);
    const second = await makeAnew(gateway, TEAM);
    expect(await columnsOf(gateway, second)).toEqual([]);
    await gateway.services.usage.flush();
    const own = (await gateway.services.usage.recent('agents')) ?? [];
    expect(own.map(({ requests }) => requests < Number(before[0]))).toEqual([true]);
    const { from, to } = gateway.services.usage.daysBack(0);
    const [all, ...others] = await gateway.services.usage.read(from, to);
    expect(others).toEqual([]);
    expect(all).toMatchObject({ team: 'agents' });
    expect(all?.requests).toBeGreaterThan(Number(before[0]));
    expect(await gateway.services.usage.read(from, to, 'agents')).toEqual([all]);
  });

  it('has the whole write budget of the day, whatever the deleted one spent', async () => {
    const platform = await startRawPlatform(sends('{"id":77}', { 'content-type': 'application/json' }, 201));
    const gateway = await gatewayAt(platform);
    const budget = { field: 'body.budget', maxPerDay: 1000 };
    const writeGuard = { 'POST /api/v1/campaign/create': { budget } };
    const team = { id: 'writers', scopes: ['platform:write'], writeGuard };
    const post = async (key: string) => {
      const json = { userId: 1, budget: 800 };
      return (await gateway.call('/api/v1/campaign/create', { method: 'POST', key, json })).status;
    };
    const left = async () => {
      const shown = await gateway.manage('GET', '/teams/writers/write-budgets');
      return (shown.budgets as { left: number }[]).map((one) => one.left);
    };
    const first = await gateway.addTeam(team);
    expect([await post(first), await post(first), await left()]).toEqual([201, 422, [200]]);
    const second = await makeAnew(gateway, team);
    expect(await left()).toEqual([1000]);
    expect([await post(second), await post(second), await left()]).toEqual([201, 422, [200]]);
  });

  it('has none of the curves of the deleted one; the operator sees those of both', async () => {
    const gateway = await startGateway();
    const requestsOf = async (key: string) => {
      return requestsIn((await gateway.call('/gateway/v1/series?range=1h', { key })).json());
    };
    const first = await gateway.addTeam(TEAM);
    const path = '/api/v1/report/campaigns/get?advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-02';
    for (let count = 0; count < 3; count += 1) await gateway.call(path, { key: first });
    expect(await requestsOf(first)).toBe(3);
    const second = await makeAnew(gateway, TEAM);
    expect(await requestsOf(second)).toBe(0);
    await gateway.call(path, { key: second });
    expect(await requestsOf(second)).toBe(1);
    const all = await gateway.manage('GET', '/series?range=1h&team=agents');
    expect(requestsIn(all)).toBe(4);
    expect(await gateway.manage('GET', '/series/teams?range=1h')).toMatchObject({
      teams: [{ id: 'agents', requests: 4 }],
    });
    await gateway.manage('DELETE', '/teams/agents');
    const gone = await gateway.manage('GET', '/series?range=1h&team=agents');
    expect(requestsIn(gone)).toBe(4);
  });

  it('has no cursor of the deleted one', async () => {
    const gateway = await startGateway();
    const ask = { ...QUESTION, limit: 1 };
    const { body } = await (await agentOf(gateway, await gateway.addTeam(TEAM))).call('query_report', ask);
    const second = await agentOf(gateway, await makeAnew(gateway, TEAM));
    const told = await second.call('query_report', { cursor: body.next });
    expect(told.body.code).toBe('cursor_expired');
  });
});

describe('columns that a team has seen', () => {
  it('are shown no more when its list of advertisers is narrowed', async () => {
    const gateway = await startGateway();
    const key = await gateway.addTeam(TEAM);
    await (await agentOf(gateway, key)).call('query_report', QUESTION);
    expect(await columnsOf(gateway, key)).toContain('spent');
    await gateway.manage('PATCH', '/teams/agents', { advertisers: [1] });
    expect(await columnsOf(gateway, key)).toEqual([]);
  });

  it('are taken over, once, from the document of a release that did not tell lists apart', async () => {
    const gateway = await startGateway();
    const former = JSON.stringify([{ endpoint: 'campaigns/get', columns: ['fromBefore'] }]);
    await gateway.store.documents.create('mcp:columns:agents', former, 3_600_000);
    const key = await gateway.addTeam(TEAM);
    expect(await columnsOf(gateway, key)).toEqual(['fromBefore']);
    expect(await gateway.store.documents.get('mcp:columns:agents')).toBeNull();
    await gateway.manage('PATCH', '/teams/agents', { advertisers: [1] });
    expect(await columnsOf(gateway, key)).toEqual([]);
  });
});
