/** A team that was deleted and made anew under the same id is another team: nothing of the first one answers it. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ShownSeries } from '../../src/teams/series/create-series.js';
import { agentOf } from '../api/mcp/agent.js';
import { sends } from '../support/raw-platform.js';
import { sharedGateway, sharedScene } from '../support/scene.js';
import type { TestGateway } from '../support/start-gateway.js';

async function makeAnew(gateway: TestGateway, team: { readonly id: string }): Promise<string> {
  await gateway.manage('DELETE', `/teams/${team.id}`);
  return gateway.addTeam(team);
}

describe('writes of a team that was made anew under the id of a deleted one', () => {
  const shared = sharedScene(sends('{"id":77}', {}, 201));
  const post = (key: string, json: object, headers = {}) =>
    shared().gateway.call('/api/v1/campaign/create', { method: 'POST', key, json, headers });

  it('has its writes sent, whatever idempotency keys the deleted one used', async () => {
    const { gateway, platform } = shared();
    const before = platform.requests.length;
    const team = { id: 'repeaters', scopes: ['platform:write'] };
    const replays = async (key: string) => {
      const replies = [];
      for (const _ of ['first', 'repeat'])
        replies.push(await post(key, { userId: 1, name: 'New' }, { 'idempotency-key': 'order-7' }));
      return replies.map(({ status, headers }) => [status, headers['idempotency-replayed']]);
    };
    const expected = [
      [201, undefined],
      [201, 'true'],
    ];
    expect(await replays(await gateway.addTeam(team))).toEqual(expected);
    expect(await replays(await makeAnew(gateway, team))).toEqual(expected);
    expect(platform.requests.length - before).toBe(2);
  });

  it('has the whole write budget of the day, whatever the deleted one spent', async () => {
    const { gateway } = shared();
    const budget = { field: 'body.budget', maxPerDay: 1000 };
    const writeGuard = { 'POST /api/v1/campaign/create': { budget } };
    const team = { id: 'spenders', scopes: ['platform:write'], writeGuard };
    const left = async () => {
      const shown = await gateway.manage('GET', '/teams/spenders/write-budgets');
      return (shown.budgets as { left: number }[]).map((one) => one.left);
    };
    const spend = async (key: string) => (await post(key, { userId: 1, budget: 800 })).status;
    const first = await gateway.addTeam(team);
    expect([await spend(first), await spend(first), await left()]).toEqual([201, 422, [200]]);
    const second = await makeAnew(gateway, team);
    expect(await left()).toEqual([1000]);
    expect([await spend(second), await spend(second), await left()]).toEqual([201, 422, [200]]);
  });
});

describe('what an assistant was told', () => {
  const shared = sharedGateway();
  let team: {
    readonly id: string;
    readonly scopes: readonly string[];
    readonly advertisers: readonly number[];
  };
  let first: string;
  beforeEach(async ({ task }) => {
    team = { id: `agents-${task.id.split('_').at(-1)}`, scopes: ['report:read', 'mcp'], advertisers: [1, 2] };
    first = await shared().addTeam(team);
  });
  const QUESTION = {
    advertiserId: 2,
    period: { from: '2026-11-01', to: '2026-11-02' },
    split: ['date'],
  };
  const tell = async (key: string, tool: string, args?: object) =>
    (await (await agentOf(shared(), key)).call(tool, args)).body;

  async function columnsOf(key: string): Promise<unknown[]> {
    const { rows = [] } = await tell(key, 'describe_reports', { endpoint: 'campaigns/get' });
    return rows.filter(([, kind]) => kind === 'column').map(([, , name]) => name);
  }

  async function usageOf(key: string): Promise<unknown[]> {
    await shared().services.tally.flush();
    const { rows = [], columns = [] } = await tell(key, 'get_usage');
    return rows.map((row) => row[columns.indexOf('requests')]);
  }

  it('sees neither the usage nor the columns of the deleted one; the operator sees the usage of both', async () => {
    const { usage } = shared().services;
    await tell(first, 'query_report', QUESTION);
    expect(await columnsOf(first)).toContain('spent');
    const [before, ...more] = await usageOf(first);
    expect(more).toEqual([]);
    const second = await makeAnew(shared(), team);
    expect(await columnsOf(second)).toEqual([]);
    const own = (await usage.recent(team.id)) ?? [];
    expect(own.map(({ requests }) => requests < Number(before))).toEqual([true]);
    const { from, to } = usage.daysBack(0);
    const [all, ...others] = await usage.read(from, to, team.id);
    expect([all?.team, others]).toEqual([team.id, []]);
    expect(all?.requests).toBeGreaterThan(Number(before));
    expect(await usage.read(from, to)).toContainEqual(all);
  });

  it('has none of the curves of the deleted one; the operator sees those of both', async () => {
    const { call, manage } = shared();
    const requestsIn = (shown: unknown) =>
      (shown as ShownSeries).series.requests.reduce((sum, count) => sum + count, 0);
    const requestsOf = async (key: string) =>
      requestsIn((await call('/gateway/v1/series?range=1h', { key })).json());
    const ofBoth = async () => requestsIn(await manage('GET', `/series?range=1h&team=${team.id}`));
    const path = '/api/v1/report/campaigns/get?advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-02';
    for (let count = 0; count < 3; count += 1) await call(path, { key: first });
    expect(await requestsOf(first)).toBe(3);
    const second = await makeAnew(shared(), team);
    expect(await requestsOf(second)).toBe(0);
    await call(path, { key: second });
    expect(await requestsOf(second)).toBe(1);
    expect(await ofBoth()).toBe(4);
    const { teams } = await manage('GET', '/series/teams?range=1h');
    expect(teams).toContainEqual(expect.objectContaining({ id: team.id, requests: 4 }));
    await manage('DELETE', `/teams/${team.id}`);
    expect(await ofBoth()).toBe(4);
  });

  it('has no cursor of the deleted one', async () => {
    const { next: cursor } = await tell(first, 'query_report', { ...QUESTION, limit: 1 });
    const told = await tell(await makeAnew(shared(), team), 'query_report', { cursor });
    expect(told.code).toBe('cursor_expired');
  });

  it('are shown no more when its list of advertisers is narrowed', async () => {
    await tell(first, 'query_report', QUESTION);
    expect(await columnsOf(first)).toContain('spent');
    await shared().manage('PATCH', `/teams/${team.id}`, { advertisers: [1] });
    expect(await columnsOf(first)).toEqual([]);
  });
});
