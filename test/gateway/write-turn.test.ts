/** A write that waits for its turn at the platform: whatever is no longer so when the turn comes keeps it from being sent. */
import type { ServerResponse } from 'node:http';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { listenGateway } from '../support/listen-gateway.js';
import { startHttpPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, type Reply } from '../support/start-gateway.js';
import { waitFor } from '../support/wait-for.js';

const PATH = '/api/v1/campaign/create';
const ROUTE = `POST ${PATH}`;
const SLOTS = 4;
const guardOf = (maxPerCall: number) => ({
  [ROUTE]: { budget: { field: 'body.total', maxPerCall, maxPerDay: 1000 } },
});

type Scene = Awaited<ReturnType<typeof scene>>;

/** A gateway, each slot of which is held by a report. */
async function scene(now = '2026-11-21T12:00:00.000Z') {
  const held: ServerResponse[] = [];
  const platform = await startHttpPlatform((incoming, response) => {
    if (incoming.method === 'GET') held.push(response);
    else response.writeHead(201, { 'content-type': 'application/json' }).end('{}');
  });
  const gateway = await gatewayAt(
    { url: platform.url.href, token: 'platform-token' },
    { now, config: { platform: { maxConcurrent: SLOTS, timezone: 'Pacific/Auckland' } } },
  );
  const reader = await gateway.addTeam({ id: 'reader' });
  const key = await gateway.addTeam({ id: 'writer', writeGuard: guardOf(500) });
  const days = Array.from({ length: SLOTS }, (_, at) => `2026-10-0${at + 1}`);
  for (const day of days) void gateway.report(reader, `dateFrom=${day}&dateTo=${day}`);
  await waitFor('reports that hold every slot', () => held.length === SLOTS);
  const queued = async () =>
    /^dsp_gateway_platform_calls_queued (\d+)$/m.exec(await gateway.services.metrics.registry.metrics())?.[1];
  return {
    gateway,
    platform,
    team: 'writer',
    key,
    /** Begins a write, and comes back when it waits for a slot. @returns the write */
    async wait<T>(write: () => Promise<T>): Promise<{ given: Promise<T> }> {
      const given = write();
      await waitFor('a write that waits', async () => (await queued()) === '1');
      return { given };
    },
    /** Frees every slot, and waits until nothing waits any more. */
    async free() {
      for (const response of held.splice(0)) response.writeHead(404).end();
      await waitFor('an empty queue', async () => (await queued()) === '0');
    },
    /** What the team's day has left. */
    async left() {
      const json = { total: 1 };
      const looked = await gateway.call(`${PATH}?_dryRun=1`, { method: 'POST', key, json });
      return looked.json<{ left: { amount: number } }>().left.amount;
    },
    writes: () => platform.seen.filter(({ method }) => method === 'POST').length,
  };
}

const writeOf = ({ gateway, key }: Scene): Promise<Reply> =>
  gateway.call(PATH, { method: 'POST', key, json: { total: 400 } });

describe('a write that waits for a slot is not sent when meanwhile', () => {
  it.each<[string, (scene: Scene) => Promise<unknown>, string]>([
    [
      'writes are stopped',
      ({ gateway }) => gateway.manage('POST', '/writes/stop', { reason: 'a loop' }),
      '503 writes_stopped',
    ],
    [
      'its key is revoked',
      async ({ gateway, team }) => {
        const { keys } = await gateway.manage('GET', `/teams/${team}/keys`);
        const [{ id } = { id: '' }] = keys as { id: string }[];
        await gateway.manage('DELETE', `/keys/${id}`);
      },
      '401 revoked_api_key',
    ],
    [
      'its team is disabled',
      ({ gateway, team }) => gateway.manage('PATCH', `/teams/${team}`, { disabled: true }),
      '403 team_disabled',
    ],
    [
      'its team may write no longer',
      ({ gateway, team }) => gateway.manage('PATCH', `/teams/${team}`, { scopes: ['report:read'] }),
      '403 scope_missing',
    ],
    [
      'its guard is tightened',
      ({ gateway, team }) => gateway.manage('PATCH', `/teams/${team}`, { writeGuard: guardOf(100) }),
      '422 write_guard_refused',
    ],
  ])('%s', async (_, change, outcome) => {
    const at = await scene();
    const { given } = await at.wait(() => writeOf(at));
    await change(at);
    await at.free();
    expect(outcomeOf(await given)).toBe(outcome);
    expect(at.writes()).toBe(0);
  });

  it('its caller is gone, and then the same key sends it once', async () => {
    const at = await scene();
    const url = await listenGateway(at.gateway);
    const leaving = new AbortController();
    const options = {
      method: 'POST',
      headers: { 'x-api-key': at.key, 'content-type': 'application/json', 'idempotency-key': 'once' },
      body: '{"total":400}',
    } as const;
    const { given } = await at.wait(() =>
      request(`${url}${PATH}`, { ...options, signal: leaving.signal }).catch(() => 'gone'),
    );
    leaving.abort();
    expect(await given).toBe('gone');
    const { server } = at.gateway.data;
    const open = () =>
      new Promise<number>((resolve) => void server.getConnections((_, count) => resolve(count)));
    await waitFor('the gateway to see it', async () => (await open()) === 0);
    await at.free();
    await waitFor('its end in the log', () => at.gateway.log.some(({ status }) => status === 499));
    expect(at.writes()).toBe(0);
    expect(await at.left()).toBe(1000);
    expect((await request(`${url}${PATH}`, options)).statusCode).toBe(201);
    expect(at.writes()).toBe(1);
  });
});

it('a write that waits over midnight, where the platform is, is taken from the day on which it is sent', async () => {
  // In Auckland 23:59:59.
  const at = await scene('2026-11-21T10:59:59.000Z');
  const { given } = await at.wait(() => writeOf(at));
  expect(await at.left()).toBe(1000);
  at.gateway.clock.advance(2_000);
  await at.free();
  expect((await given).status).toBe(201);
  expect(await at.left()).toBe(600);
  at.gateway.clock.advance(-2_000);
  expect(await at.left()).toBe(1000);
});

it('a write that comes under a guard while it waits is not sent, for nobody has read it as a guard would', async () => {
  const at = await scene();
  await at.gateway.manage('PATCH', '/teams/writer', { writeGuard: null });
  const { given } = await at.wait(() => writeOf(at));
  await at.gateway.manage('PATCH', '/teams/writer', { writeGuard: guardOf(500) });
  await at.free();
  expect(outcomeOf(await given)).toBe('503 write_guard_unavailable');
  expect(at.writes()).toBe(0);
});
