/** `kill -9` on the embedded store: what was acknowledged is there, what was sent is counted, nothing is done twice. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Answer, admin, ask, type IssuedKey, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { CAMPAIGN } from '../support/campaign.js';
import { type Gateway, type Platform, startGateway, startPlatform } from '../support/processes.js';
import { DAY, MINUTE } from '../support/test-clock.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = `${REPORT}?advertiserId=1&_period=yesterday`;
const CREATE = '/api/v1/campaign/create';
const CLOCK = { GATEWAY_TEST_CLOCK: '1' };

const outcome = ({ status, text }: Answer): string =>
  status < 300 ? String(status) : `${status} ${(JSON.parse(text) as { code: string }).code}`;
const codeOf = async (gateway: Gateway, key: string, query = QUERY) =>
  outcome(await ask(gateway.data + query, { key }));
const restarted = ({ env }: Platform, gateway: Gateway, more = {}) =>
  startGateway({ ...env, GATEWAY_DATA_DIR: gateway.dataDir, ...more });
const createdOn = async (platform: Platform) =>
  (await simulatorOf(platform.url).calls()).filter(({ path }) => path === CREATE).length;

/** No file of the folder is open to others, and no draft is left behind. */
async function expectPrivate(dataDir: string): Promise<void> {
  const names = await readdir(dataDir);
  expect(names).toEqual(expect.arrayContaining(['admin.token', 'lock', 'master.key']));
  for (const name of names) {
    const found = await stat(join(dataDir, name));
    const mode = found.isDirectory() ? 0o700 : 0o600;
    expect({ name, mode: found.mode & 0o777 }).toEqual({ name, mode });
  }
  expect(names.filter((name) => /\.(tmp|new|[0-9a-f]{12})$/.test(name))).toEqual([]);
  expect((await stat(dataDir)).mode & 0o077).toBe(0);
}

/** Uses a gateway before it is killed. @returns checks the gateway that is started on its folder */
type Scene = (first: Gateway, platform: Platform) => Promise<(second: Gateway) => Promise<void>>;

const cached: Scene = async (first, platform) => {
  const { key } = await newTeam(first, { id: 'apps' });
  const look = (gateway: Gateway, advertiser: number) =>
    ask(
      `${gateway.data}${REPORT}?advertiserId=${advertiser}&byDate=1&dateFrom=2026-01-01&dateTo=2026-01-31&x=1`,
      { key },
    );
  const before = await look(first, 1);
  await look(first, 2);
  await admin(first, 'POST', '/cache/purge', { advertiserId: 2 });
  return async (second) => {
    await simulatorOf(platform.url).forget();
    const again = await look(second, 1);
    expect(again.headers['cache-status']).toMatch(/^dsp-gateway; hit; ttl=\d+; detail=store$/);
    expect([again.text, again.headers.etag]).toEqual([before.text, before.headers.etag]);
    expect(await simulatorOf(platform.url).calls()).toEqual([]);
    expect((await look(second, 2)).headers['cache-status']).toBe('dsp-gateway; fwd=miss; stored');
  };
};

const LOST_MS = 5000;
/** Usage: nothing older than 5 s is lost, and nothing is counted twice. */
const counted: Scene = async (first) => {
  const { key } = await newTeam(first, { id: 'counted' });
  const askedAt: number[] = [];
  const startedAt = Date.now();
  const asking = (async () => {
    for (;;) {
      const answer = await ask(first.data + QUERY, { key }).catch(() => null);
      if (answer === null) break;
      askedAt.push(Date.now());
      await pause(20);
    }
  })();
  await waitFor('requests older than that', () => Date.now() - startedAt > LOST_MS + 1000);
  return async (second) => {
    await asking;
    const { usage } = await admin<{ usage: { requests: number }[] }>(second, 'GET', '/usage?team=counted');
    const kept = usage.reduce((sum, { requests }) => sum + requests, 0);
    const lastAt = askedAt.at(-1) ?? 0;
    const old = askedAt.filter((at) => at < lastAt - LOST_MS).length;
    expect(old).toBeGreaterThan(0);
    expect(kept).toBeGreaterThanOrEqual(old);
    // One more may have been counted whose answer never arrived.
    expect(kept).toBeLessThanOrEqual(askedAt.length + 1);
  };
};

// Noon, so that no day ends in the middle.
const NOON_MS = 1.5 * DAY - (Date.now() % DAY);
const setClock = (gateway: Gateway, laterMs: number) =>
  admin(gateway, 'PUT', '/clock', { offsetMs: NOON_MS + laterMs });

/** A creation with an idempotency key is made once, whether it was answered or not. */
const idempotent: Scene = async (first, platform) => {
  const { key } = await newTeam(first, { id: 'buyers' });
  const create = (gateway: Gateway, idempotencyKey: string, json: object = CAMPAIGN) => {
    const headers = { 'idempotency-key': idempotencyKey };
    return ask(gateway.data + CREATE, { method: 'POST', key, json, headers });
  };
  const answered = await create(first, 'answered');
  expect(outcome(answered)).toMatch(/^20[01]$/);
  await simulatorOf(platform.url).fault({ kind: 'hang', path: CREATE });
  const broken = create(first, 'broken').catch(() => 'no answer');
  await waitFor('the call under way', async () => (await createdOn(platform)) === 2);
  return async (second) => {
    expect(await broken).toBe('no answer');
    const made = await createdOn(platform);
    const again = await create(second, 'answered');
    expect([again.status, again.text]).toEqual([answered.status, answered.text]);
    expect(again.headers['idempotency-replayed']).toBe('true');
    const other = await create(second, 'answered', { ...CAMPAIGN, name: 'Twice' });
    expect(outcome(other)).toBe('422 idempotency_mismatch');
    const unknown = await create(second, 'broken');
    expect(outcome(unknown)).toBe('409 idempotency_in_flight');
    expect(unknown.json()).toMatchObject({
      detail: expect.stringContaining('is unknown'),
      help: expect.stringMatching(/Check the platform.*new key/),
    });
    expect(await createdOn(platform)).toBe(made);
    await setClock(second, DAY + 1);
    expect(outcome(await create(second, 'broken'))).toBe(String(answered.status));
  };
};

const [EACH, MAX_PER_DAY] = [10, 1000];
/** Every guarded write that was sent is charged, and those of unknown outcome are settled once. Kills the gateway amid them. */
const guarded: Scene = async (first, platform) => {
  const writeGuard = {
    [`POST ${CREATE}`]: { budget: { field: 'body.budget.total', maxPerDay: MAX_PER_DAY } },
  };
  const { key } = await newTeam(first, { id: 'guarded', writeGuard, limits: { maxConcurrent: 1000 } });
  const json = { ...CAMPAIGN, budget: { daily: 1, total: EACH } };
  const create = (gateway: Gateway, query = '') =>
    ask(`${gateway.data}${CREATE}${query}`, { method: 'POST', key, json });
  const chargedBy = async (gateway: Gateway) =>
    MAX_PER_DAY - (await create(gateway, '?_dryRun=1')).json<{ left: { amount: number } }>().left.amount;
  const sim = simulatorOf(platform.url);
  await sim.set({ latencyMs: 30 });
  const sentBefore = await createdOn(platform);
  let created = 0;
  await Promise.all(
    Array.from({ length: 120 }, async () => {
      const answer = await create(first).catch(() => null);
      if (answer?.status === 201) created += 1;
      if (created === 10) first.signal('SIGKILL');
    }),
  );
  await sim.set({ latencyMs: 0 });
  return async (second) => {
    const charged = await chargedBy(second);
    const sent = (await createdOn(platform)) - sentBefore;
    expect(sent).toBeGreaterThanOrEqual(created);
    expect(charged).toBeGreaterThanOrEqual(sent * EACH);
    expect(charged).toBeLessThanOrEqual(MAX_PER_DAY);
    const { writes } = await admin<{ writes: { id: string }[] }>(second, 'GET', '/writes/unknown');
    expect(charged - writes.length * EACH).toBeLessThanOrEqual(sent * EACH);
    // By two at once: one of them settles it.
    const url = `${second.admin}/admin/v1/writes/settle`;
    for (const { id } of writes) {
      const settle = () =>
        ask(url, { method: 'POST', bearer: second.adminToken, json: { id, outcome: 'not' } });
      const statuses = (await Promise.all([settle(), settle()])).map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    }
    expect(await chargedBy(second)).toBe(charged - writes.length * EACH);
  };
};

describe('kill -9', () => {
  it('right behind an acknowledged change, or amid many: none is lost', async () => {
    const platform = await startPlatform();
    let gateway = await startGateway(platform.env);
    /** Kills the gateway the moment the change is acknowledged. */
    async function crashAfter(change: Promise<unknown>): Promise<void> {
      await change;
      await gateway.end('SIGKILL');
      gateway = await restarted(platform, gateway);
    }
    const acknowledged: string[] = [];
    async function writeUntilKilled(victim: Gateway): Promise<void> {
      for (let n = 1; ; n += 1) {
        const made = await admin(victim, 'POST', '/teams', { id: `t${n}` }).catch(() => null);
        if (made === null) return;
        acknowledged.push(`t${n}`);
        if (n === 16) victim.signal('SIGKILL');
      }
    }
    await admin(gateway, 'POST', '/teams', { id: 'kept', name: 'Kept', advertisers: [1, 2] });
    const { key, id } = await admin<IssuedKey>(gateway, 'POST', '/teams/kept/keys', {});
    await crashAfter(writeUntilKilled(gateway));
    const { teams } = await admin<{ teams: { id: string }[] }>(gateway, 'GET', '/teams');
    expect(teams.map((team) => team.id)).toEqual(expect.arrayContaining(acknowledged));
    expect(acknowledged.length).toBeGreaterThanOrEqual(16);
    expect(await admin(gateway, 'GET', '/teams/kept')).toMatchObject({ name: 'Kept', advertisers: [1, 2] });
    expect(await codeOf(gateway, key)).toBe('200');

    const { key: newer } = await admin<IssuedKey>(gateway, 'POST', `/keys/${id}/roll`, { overlapSeconds: 0 });
    await crashAfter(admin(gateway, 'PATCH', '/teams/kept', { advertisers: [2] }));
    expect([await codeOf(gateway, key), await codeOf(gateway, newer)]).toEqual([
      '401 expired_api_key',
      '403 advertiser_forbidden',
    ]);

    const other = await admin<IssuedKey>(gateway, 'POST', '/teams/kept/keys', {});
    const sim = simulatorOf(platform.url);
    const token = await sim.issueToken();
    const { active: before } = await admin<{ active: { id: string } }>(gateway, 'GET', '/token');
    await admin(gateway, 'DELETE', `/keys/${id}`);
    await crashAfter(admin(gateway, 'POST', '/token/rotate', { token, force: true }));
    expect(await codeOf(gateway, newer)).toBe('401 revoked_api_key');
    // The environment still names the first token: a restart does not undo the rotation.
    expect(await admin(gateway, 'GET', '/token')).toMatchObject({
      active: { source: 'staged' },
      pending: null,
      previous: { id: before.id },
    });
    await sim.forget();
    expect(await codeOf(gateway, other.key, `${REPORT}?advertiserId=2&_period=yesterday`)).toBe('200');
    expect((await sim.calls()).map(({ headers }) => headers.authorization)).toEqual([`Bearer ${token}`]);

    await crashAfter(admin(gateway, 'DELETE', '/teams/kept'));
    expect(await codeOf(gateway, other.key)).toBe('401 revoked_api_key');
    const { entries } = await admin<{ entries: { action: string }[] }>(gateway, 'GET', '/audit');
    expect(entries.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['team.create', 'key.issue', 'key.roll', 'key.revoke', 'team.delete']),
    );
    await expectPrivate(gateway.dataDir);
  });

  it('keeps the cache, its purges, usage, idempotency keys, and what guarded writes have spent', async () => {
    const platform = await startPlatform();
    const first = await startGateway({ ...platform.env, ...CLOCK });
    await setClock(first, 0);
    const checks: Awaited<ReturnType<Scene>>[] = [];
    for (const scene of [cached, counted, idempotent, guarded]) checks.push(await scene(first, platform));
    expect(await first.exited).toMatchObject({ signal: 'SIGKILL' });
    const second = await restarted(platform, first, CLOCK);
    // After the end of every running call.
    await setClock(second, 2 * MINUTE);
    const [keptCache, keptUsage, keptKeys, keptSpending] = checks;
    for (const check of [keptSpending, keptCache, keptUsage, keptKeys]) await check?.(second);
  });
});
