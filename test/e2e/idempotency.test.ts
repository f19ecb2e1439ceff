/** Contract: idempotency keys hold across `kill -9`, restarts and replicas; the platform is asked once. */
import { randomBytes } from 'node:crypto';
import { describe, it } from 'vitest';
import { type Answer, admin, ask, newTeam, simulatorOf } from '../support/ask.js';
import { type Gateway, startGateway, startPlatform } from '../support/processes.js';
import { startRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

const CREATE = '/api/v1/campaign/create';
const CAMPAIGN = {
  userId: 1,
  name: 'Once',
  adDomain: 'example.com',
  clickUrl: 'https://example.com/',
  dates: { from: '2026-12-01', to: '2026-12-31' },
  country: 'DE',
  bid: 1.5,
  budget: { daily: 10, total: 100 },
  creativeSetIds: [1],
};

const create = (gateway: Gateway, key: string, idempotencyKey: string, json: unknown = CAMPAIGN) =>
  ask(gateway.data + CREATE, { method: 'POST', key, json, headers: { 'idempotency-key': idempotencyKey } });

const outcome = ({ status, text }: Answer): string =>
  status < 300 ? String(status) : `${status} ${(JSON.parse(text) as { code: string }).code}`;

const createdOn = async (url: string) =>
  (await simulatorOf(url).calls()).filter(({ path }) => path === CREATE).length;

describe.concurrent('a campaign creation with an idempotency key', () => {
  it('is made once although the gateway is killed before and after the answer', async ({ expect }) => {
    const platform = await startPlatform();
    const sim = simulatorOf(platform.url);
    const env = { ...platform.env, GATEWAY_TEST_CLOCK: '1' };
    const first = await startGateway(env);
    const { key } = await newTeam(first, { id: 'buyers' });
    const answered = await create(first, key, 'answered');
    expect(outcome(answered)).toMatch(/^20[01]$/);

    await sim.set({ latencyMs: 60_000 });
    const broken = create(first, key, 'broken').catch(() => 'no answer');
    await waitFor('the call under way', async () => (await createdOn(platform.url)) === 2);
    await first.end('SIGKILL');
    expect(await broken).toBe('no answer');
    await sim.set({ latencyMs: 0 });

    const second = await startGateway({ ...env, GATEWAY_DATA_DIR: first.dataDir });
    const again = await create(second, key, 'answered');
    expect([again.status, again.text, again.headers['content-type']]).toEqual([
      answered.status,
      answered.text,
      answered.headers['content-type'],
    ]);
    expect(again.headers['idempotency-replayed']).toBe('true');
    const other = await create(second, key, 'answered', { ...CAMPAIGN, name: 'Twice' });
    expect(outcome(other)).toBe('422 idempotency_mismatch');

    expect(outcome(await create(second, key, 'broken'))).toBe('409 idempotency_in_flight');
    await admin(second, 'PUT', '/clock', { offsetMs: 41_000 });
    const unknown = await create(second, key, 'broken');
    expect(outcome(unknown)).toBe('409 idempotency_in_flight');
    expect(unknown.json<{ detail: string }>().detail).toMatch(/not known.*Look on the platform.*new key/);
    expect(await createdOn(platform.url)).toBe(2);

    await admin(second, 'PUT', '/clock', { offsetMs: 24 * 3_600_000 + 1 });
    expect(outcome(await create(second, key, 'broken'))).toBe(String(answered.status));
    expect(await createdOn(platform.url)).toBe(3);
    await second.end('SIGTERM');
  });

  it('is made once by two replicas on one Redis', async ({ expect }) => {
    const platform = await startPlatform();
    const redis = await startRedis();
    try {
      const env = {
        ...platform.env,
        REDIS_URL: redis.url,
        GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
        ADMIN_TOKEN: 'an-admin-token-for-tests',
      };
      const [one, two] = await Promise.all([startGateway(env), startGateway(env)]);
      const { key } = await newTeam(one, { id: 'buyers' });
      await waitFor('the key on the other', async () => {
        const { status } = await ask(`${two.data}/gateway/v1/me`, { key });
        return status === 200;
      });
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, at) => create(at % 2 === 0 ? one : two, key, 'shared')),
      );
      const outcomes = new Set(all.map(outcome));
      outcomes.delete('409 idempotency_in_flight');
      expect(outcomes.size).toBe(1);
      const [answered] = all.filter(({ status }) => status < 300);
      for (const gateway of [one, two]) {
        const again = await create(gateway, key, 'shared');
        expect([again.status, again.text, again.headers['idempotency-replayed']]).toEqual([
          answered?.status,
          answered?.text,
          'true',
        ]);
      }
      expect(await createdOn(platform.url)).toBe(1);

      await redis.kill();
      const away = await waitFor('the store missed', async () => {
        const answer = await create(one, key, 'away');
        return outcome(answer) === '503 not_ready' ? answer : undefined;
      });
      expect(Number(away.headers['retry-after'])).toBeGreaterThan(0);
      expect(await createdOn(platform.url)).toBe(1);
      for (const gateway of [one, two]) await gateway.end('SIGKILL');
    } finally {
      await redis.close();
    }
  });
});
