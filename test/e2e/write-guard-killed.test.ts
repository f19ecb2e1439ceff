/** A gateway on the embedded store that is killed among its writes: what was sent is charged, and can be settled once. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { admin, ask, newTeam, simulatorOf } from '../support/ask.js';
import { type Gateway, startGateway, startPlatform, tempFolder } from '../support/processes.js';
import { MINUTE } from '../support/test-clock.js';
import { waitFor } from '../support/wait-for.js';

const PATH = '/api/v1/campaign/create';
const [EACH, MAX_A_DAY, CALLS, KILLED_AFTER] = [10, 1000, 120, 10];
const GUARD = { [`POST ${PATH}`]: { budget: { field: 'body.budget.total', maxPerDay: MAX_A_DAY } } };
const CAMPAIGN = {
  ...{ userId: 1, name: 'Autumn', adDomain: 'shop.example', clickUrl: 'https://shop.example/' },
  ...{ country: 'DE', dates: { from: '2027-01-01', to: '2027-02-01' }, bid: 1.5, creativeSetIds: [1] },
  budget: { daily: 1, total: EACH },
};

const create = (gateway: Gateway, key: string, query = '') =>
  ask(`${gateway.data}${PATH}${query}`, { method: 'POST', key, json: CAMPAIGN });

async function chargedBy(gateway: Gateway, key: string): Promise<number> {
  const looked = await waitFor('the team', async () => {
    const answer = await create(gateway, key, '?_dryRun=1').catch(() => null);
    return answer?.status === 200 ? answer : null;
  });
  return MAX_A_DAY - looked.json<{ left: { amount: number } }>().left.amount;
}

it(
  'charges every write that was sent, through a kill, and lists those that nobody knows the outcome of',
  async () => {
    const platform = await startPlatform();
    const simulator = simulatorOf(platform.url);
    const env = {
      ...platform.env,
      GATEWAY_DATA_DIR: join(await tempFolder(), 'data'),
      GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
      GATEWAY_TEST_CLOCK: '1',
    };
    const killed = await startGateway(env);
    // Noon, so that no day ends in the middle.
    const offsetMs = 36 * 60 * MINUTE - (Date.now() % (24 * 60 * MINUTE));
    await admin(killed, 'PUT', '/clock', { offsetMs });
    const { key } = await newTeam(killed, {
      id: 'guarded',
      writeGuard: GUARD,
      limits: { maxConcurrent: 1000 },
    });
    await chargedBy(killed, key);
    await simulator.set({ latencyMs: 30 });
    let created = 0;
    await Promise.all(
      Array.from({ length: CALLS }, async () => {
        const answer = await create(killed, key).catch(() => null);
        if (answer?.status === 201) created += 1;
        if (created === KILLED_AFTER) killed.signal('SIGKILL');
      }),
    );
    await killed.exited;
    await simulator.set({ latencyMs: 0 });

    const gateway = await startGateway(env);
    await admin(gateway, 'PUT', '/clock', { offsetMs: offsetMs + 2 * MINUTE });
    const charged = await chargedBy(gateway, key);
    const sent = (await simulator.calls()).filter(({ path }) => path === PATH).length;
    expect(sent).toBeGreaterThanOrEqual(created);
    expect(charged).toBeGreaterThanOrEqual(sent * EACH);
    expect(charged).toBeLessThanOrEqual(MAX_A_DAY);
    const { writes } = await admin<{ writes: { id: string }[] }>(gateway, 'GET', '/writes/unknown');
    expect(charged - writes.length * EACH).toBeLessThanOrEqual(sent * EACH);
    // By two at once: one of them settles it.
    for (const { id } of writes) {
      const settle = (outcome: string) =>
        ask(`${gateway.admin}/admin/v1/writes/settle`, {
          ...{ method: 'POST', bearer: gateway.adminToken, json: { id, outcome } },
        });
      const statuses = (await Promise.all([settle('not'), settle('not')])).map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    }
    expect(await chargedBy(gateway, key)).toBe(charged - writes.length * EACH);
  },
  3 * MINUTE,
);
