/** `kill -9` on the embedded store: what was acknowledged is there, what was sent is counted, nothing is done twice. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, it } from 'vitest';
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

describe.concurrent('after kill -9 right behind an acknowledged change', () => {
  it('teams, keys, revocations, rolls and the token are as they were acknowledged', async ({ expect }) => {
    const platform = await startPlatform();
    let gateway = await startGateway(platform.env);
    /** Kills the gateway the moment the change is acknowledged. */
    async function crashAfter<T>(change: Promise<T>): Promise<T> {
      const made = await change;
      await gateway.end('SIGKILL');
      gateway = await restarted(platform, gateway);
      return made;
    }
    await admin(gateway, 'POST', '/teams', { id: 'kept', name: 'Kept', advertisers: [1, 2] });
    const { key, id } = await crashAfter(admin<IssuedKey>(gateway, 'POST', '/teams/kept/keys', {}));
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
      ...{ active: { source: 'staged' }, pending: null, previous: { id: before.id } },
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
  });

  it('a writer killed at any moment loses nothing that was acknowledged', async ({ expect }) => {
    const platform = await startPlatform();
    let gateway = await startGateway(platform.env);
    const acknowledged: string[] = [];
    for (const round of [1, 2]) {
      const victim = gateway;
      const writeOn = async (n: number): Promise<void> => {
        const id = `r${round}-${n}`;
        const made = await admin(victim, 'POST', '/teams', { id }).catch(() => null);
        if (made === null) return;
        acknowledged.push(id);
        if (n === 8 * round) victim.signal('SIGKILL');
        await writeOn(n + 1);
      };
      await writeOn(1);
      await victim.exited;
      gateway = await restarted(platform, gateway);
      const { teams } = await admin<{ teams: { id: string }[] }>(gateway, 'GET', '/teams');
      expect(teams.map(({ id }) => id)).toEqual(expect.arrayContaining(acknowledged));
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(24);

    // No file of the folder is open to others, and no draft is left behind.
    const { dataDir } = gateway;
    const names = await readdir(dataDir);
    expect(names).toEqual(expect.arrayContaining(['admin.token', 'lock', 'master.key']));
    for (const name of names) {
      const found = await stat(join(dataDir, name));
      const mode = found.isDirectory() ? 0o700 : 0o600;
      expect({ name, mode: found.mode & 0o777 }).toEqual({ name, mode });
    }
    expect(names.filter((name) => /\.(tmp|new|[0-9a-f]{12})$/.test(name))).toEqual([]);
    expect((await stat(dataDir)).mode & 0o077).toBe(0);
  });
});

describe.concurrent('after kill -9', () => {
  it('a cached answer costs no call, and what was purged is asked for again', async ({ expect }) => {
    const platform = await startPlatform();
    const first = await startGateway(platform.env);
    const { key } = await newTeam(first, { id: 'apps' });
    const look = (gateway: Gateway, advertiser: number) =>
      ask(
        `${gateway.data}${REPORT}?advertiserId=${advertiser}&byDate=1&dateFrom=2026-01-01&dateTo=2026-01-31`,
        {
          key,
        },
      );
    const before = await look(first, 1);
    await look(first, 2);
    await admin(first, 'POST', '/cache/purge', { advertiserId: 2 });
    await first.end('SIGKILL');
    const second = await restarted(platform, first);
    await simulatorOf(platform.url).forget();
    const again = await look(second, 1);
    expect(again.headers['cache-status']).toMatch(/^dsp-gateway; hit; ttl=\d+; detail=store$/);
    expect([again.text, again.headers.etag]).toEqual([before.text, before.headers.etag]);
    expect(await simulatorOf(platform.url).calls()).toEqual([]);
    expect((await look(second, 2)).headers['cache-status']).toBe('dsp-gateway; fwd=miss; stored');
  });

  it('usage has lost nothing older than 5 s, and counts nothing twice', async ({ expect }) => {
    const LOST_MS = 5000;
    const platform = await startPlatform();
    const first = await startGateway(platform.env);
    const { key } = await newTeam(first, { id: 'counted' });
    const askedAt: number[] = [];
    const killed = pause(LOST_MS + 1000).then(() => {
      first.signal('SIGKILL');
      return Date.now();
    });
    for (;;) {
      const answer = await ask(first.data + QUERY, { key }).catch(() => null);
      if (answer === null) break;
      askedAt.push(Date.now());
      await pause(5);
    }
    const killedAt = await killed;
    await first.exited;
    const second = await restarted(platform, first);
    const { usage } = await admin<{ usage: { requests: number }[] }>(second, 'GET', '/usage?team=counted');
    const kept = usage.reduce((sum, { requests }) => sum + requests, 0);
    const old = askedAt.filter((at) => at < killedAt - LOST_MS).length;
    expect(old).toBeGreaterThan(0);
    expect(kept).toBeGreaterThanOrEqual(old);
    // One more may have been counted whose answer never arrived.
    expect(kept).toBeLessThanOrEqual(askedAt.length + 1);
  });

  it('a creation with an idempotency key is made once, whether it was answered or not', async ({
    expect,
  }) => {
    const platform = await startPlatform();
    const sim = simulatorOf(platform.url);
    const first = await startGateway({ ...platform.env, ...CLOCK });
    const { key } = await newTeam(first, { id: 'buyers' });
    const create = (gateway: Gateway, idempotencyKey: string, json: object = CAMPAIGN) => {
      const headers = { 'idempotency-key': idempotencyKey };
      return ask(gateway.data + CREATE, { method: 'POST', key, json, headers });
    };
    const answered = await create(first, 'answered');
    expect(outcome(answered)).toMatch(/^20[01]$/);
    await sim.set({ latencyMs: 60_000 });
    const broken = create(first, 'broken').catch(() => 'no answer');
    await waitFor('the call under way', async () => (await createdOn(platform)) === 2);
    await first.end('SIGKILL');
    expect(await broken).toBe('no answer');
    await sim.set({ latencyMs: 0 });

    const second = await restarted(platform, first, CLOCK);
    const again = await create(second, 'answered');
    expect([again.status, again.text]).toEqual([answered.status, answered.text]);
    expect(again.headers['idempotency-replayed']).toBe('true');
    const other = await create(second, 'answered', { ...CAMPAIGN, name: 'Twice' });
    expect(outcome(other)).toBe('422 idempotency_mismatch');
    await admin(second, 'PUT', '/clock', { offsetMs: 41_000 });
    const unknown = await create(second, 'broken');
    expect(outcome(unknown)).toBe('409 idempotency_in_flight');
    expect(unknown.json()).toMatchObject({
      detail: expect.stringContaining('is unknown'),
      help: expect.stringMatching(/Check the platform.*new key/),
    });
    expect(await createdOn(platform)).toBe(2);
    await admin(second, 'PUT', '/clock', { offsetMs: DAY + 1 });
    expect(outcome(await create(second, 'broken'))).toBe(String(answered.status));
  });

  it('every guarded write that was sent is charged, and those of unknown outcome are settled once', async ({
    expect,
  }) => {
    const [each, maxPerDay] = [10, 1000];
    const platform = await startPlatform();
    const sim = simulatorOf(platform.url);
    const first = await startGateway({ ...platform.env, ...CLOCK });
    // Noon, so that no day ends in the middle.
    const offsetMs = 1.5 * DAY - (Date.now() % DAY);
    await admin(first, 'PUT', '/clock', { offsetMs });
    const writeGuard = { [`POST ${CREATE}`]: { budget: { field: 'body.budget.total', maxPerDay } } };
    const { key } = await newTeam(first, { id: 'guarded', writeGuard, limits: { maxConcurrent: 1000 } });
    const json = { ...CAMPAIGN, budget: { daily: 1, total: each } };
    const create = (gateway: Gateway, query = '') =>
      ask(`${gateway.data}${CREATE}${query}`, { method: 'POST', key, json });
    const chargedBy = async (gateway: Gateway) =>
      maxPerDay - (await create(gateway, '?_dryRun=1')).json<{ left: { amount: number } }>().left.amount;
    await sim.set({ latencyMs: 30 });
    let created = 0;
    await Promise.all(
      Array.from({ length: 120 }, async () => {
        const answer = await create(first).catch(() => null);
        if (answer?.status === 201) created += 1;
        if (created === 10) first.signal('SIGKILL');
      }),
    );
    await first.exited;
    await sim.set({ latencyMs: 0 });

    const second = await restarted(platform, first, CLOCK);
    await admin(second, 'PUT', '/clock', { offsetMs: offsetMs + 2 * MINUTE });
    const charged = await chargedBy(second);
    const sent = await createdOn(platform);
    expect(sent).toBeGreaterThanOrEqual(created);
    expect(charged).toBeGreaterThanOrEqual(sent * each);
    expect(charged).toBeLessThanOrEqual(maxPerDay);
    const { writes } = await admin<{ writes: { id: string }[] }>(second, 'GET', '/writes/unknown');
    expect(charged - writes.length * each).toBeLessThanOrEqual(sent * each);
    // By two at once: one of them settles it.
    const url = `${second.admin}/admin/v1/writes/settle`;
    for (const { id } of writes) {
      const settle = () =>
        ask(url, { method: 'POST', bearer: second.adminToken, json: { id, outcome: 'not' } });
      const statuses = (await Promise.all([settle(), settle()])).map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    }
    expect(await chargedBy(second)).toBe(charged - writes.length * each);
  });
});
