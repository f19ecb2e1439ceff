/** A team's key, rolled on two gateways: one id, an overlap, and a last use that outlives the processes. */
import { expect, it } from 'vitest';
import { admin, ask, type IssuedKey, newTeam } from '../support/ask.js';
import { openRedisScene } from '../support/on-redis.js';
import { startGateway } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

interface Listed {
  readonly id: string;
  readonly prefix: string;
  readonly lastUsedAt: string | null;
  readonly previous: { readonly prefix: string; readonly validUntil: string } | null;
}

it('is rolled without an interruption, and says when it was last used', async () => {
  const { env } = await openRedisScene();
  const [one, two] = await Promise.all([startGateway(env), startGateway(env)]);
  const old = await newTeam(one, { id: 'rolling' });
  const statusOn = async (url: string, key: string) => (await ask(`${url}/gateway/v1/me`, { key })).status;
  const list = async () => (await admin<{ keys: Listed[] }>(one, 'GET', '/teams/rolling/keys')).keys;
  expect(await list()).toMatchObject([{ id: old.id, lastUsedAt: null, previous: null }]);

  const rolled = await admin<IssuedKey>(one, 'POST', `/keys/${old.id}/roll`, { overlapSeconds: 3600 });
  expect(rolled.id).toBe(old.id);
  await waitFor('the new key on the other', async () => (await statusOn(two.data, rolled.key)) === 200);
  for (const { data } of [one, two]) {
    expect([await statusOn(data, old.key), await statusOn(data, rolled.key)]).toEqual([200, 200]);
  }
  expect(await list()).toMatchObject([
    { id: old.id, prefix: rolled.prefix, previous: { prefix: old.prefix, validUntil: expect.any(String) } },
  ]);

  // Used on the other alone from now on; what it wrote when it ended is what the first one shows.
  const before = Date.now();
  expect(await statusOn(two.data, rolled.key)).toBe(200);
  const after = Date.now();
  await two.end('SIGTERM');
  const used = Date.parse((await list())[0]?.lastUsedAt ?? '');
  expect(used).toBeGreaterThanOrEqual(before);
  expect(used).toBeLessThanOrEqual(after);
  await one.end('SIGTERM');
});
