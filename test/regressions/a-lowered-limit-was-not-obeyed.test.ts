/**
 * A team at 20,000 requests a minute was set to 1, and 995 more requests got through: permits drawn under the old limit
 * were used up first.
 */
import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { admin, ask, newTeam, REPORT } from '../support/ask.js';
import { startGateway, startPlatform } from '../support/processes.js';
import { startRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

async function shared() {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  return {
    GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
    ADMIN_TOKEN: 'an-admin-token-for-tests',
    REDIS_URL: redis.url,
  };
}

const HIT = `${REPORT}?advertiserId=1&dateFrom=2026-01-01&dateTo=2026-01-02`;
const TOOLS = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const CALLS = {
  hits: { path: HIT },
  misses: { path: `${HIT}&campaignIds[]=` },
  writes: { path: '/api/v1/campaign/create', method: 'POST', json: { userId: 1 } },
  MCP: {
    path: '/mcp',
    method: 'POST',
    json: TOOLS,
    headers: { accept: 'application/json, text/event-stream' },
  },
} as const;

it.each([
  ['the embedded store', async () => ({})],
  ['Redis', shared],
] as const)(
  'a lowered limit holds for every kind of request once it is known, on %s',
  async (_store, open) => {
    const platform = await startPlatform();
    const gateway = await startGateway({ ...platform.env, ...(await open()) });
    const { key } = await newTeam(gateway, {
      id: 'rate',
      scopes: ['report:read', 'platform:write', 'mcp'],
      limits: { requestsPerMinute: 20_000 },
    });
    const send = async (kind: keyof typeof CALLS, at: number) => {
      const { path, ...call } = CALLS[kind];
      return await ask(gateway.data + (kind === 'misses' ? path + (at + 1) : path), { key, ...call });
    };
    for (const kind of ['hits', 'hits', 'misses', 'writes', 'MCP'] as const)
      expect([401, 403, 404, 429]).not.toContain((await send(kind, 0)).status);

    await admin(gateway, 'PATCH', '/teams/rate', { limits: { requestsPerMinute: 1 } });
    await waitFor('the new limit', async () =>
      (await ask(`${gateway.data}/gateway/v1/me`, { key })).headers['ratelimit-policy']?.includes('q=1;'),
    );
    const startedMs = performance.now();
    const statuses: number[] = [];
    for (let at = 0; at < 10; at++)
      for (const kind of ['hits', 'misses', 'writes', 'MCP'] as const)
        statuses.push((await send(kind, at)).status);
    const minutes = Math.floor((performance.now() - startedMs) / 60_000);
    expect(statuses.filter((status) => status !== 429).length).toBeLessThanOrEqual(1 + minutes);
  },
);
