/** A Redis that comes back without what it had acknowledged: nobody who was revoked is let in again. */
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { admin, ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { openRedisScene } from '../support/on-redis.js';
import { logLines, startGateway } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = `${REPORT}?advertiserId=1&_period=yesterday`;

it('what the store has lost of revocations and tokens is put back by the gateways, and audited', async () => {
  const { platform, redis, env } = await openRedisScene();
  const [one, two] = await Promise.all([startGateway(env), startGateway(env)]);
  const { key, id } = await newTeam(one, { id: 'leaked' });
  await waitFor('the key', async () => (await ask(two.data + QUERY, { key })).status === 200);
  const control = new Redis(redis.url);
  onTestFinished(() => control.disconnect());
  // Set at once, as a promoted replica is another server at once: the gateways never see a half of it.
  const keys = await control.keys('dgw:*registry*');
  const dumps = await Promise.all(keys.map(async (name) => [name, await control.dumpBuffer(name)] as const));

  await admin(one, 'DELETE', `/keys/${id}`);
  const token = await simulatorOf(platform.url).issueToken();
  await admin(one, 'POST', '/token/rotate', { token, force: true });
  const vault = await admin(one, 'GET', '/token');
  await waitFor(
    'the revocation on the other',
    async () => (await ask(two.data + QUERY, { key })).status === 401,
  );
  const back = control.multi();
  for (const [name, dump] of dumps) back.del(name).restore(name, 0, dump as Buffer);
  await back.exec();

  const refusals = new Set<number>();
  await waitFor('the mending', async () => {
    for (const { data } of [one, two]) refusals.add((await ask(data + QUERY, { key })).status);
    return /put back from memory/.test(one.stdout + two.stdout);
  });
  expect(refusals).toEqual(new Set([401]));
  // A gateway that starts now has nothing but what the store says.
  const fresh = await startGateway(env);
  expect((await ask(fresh.data + QUERY, { key })).json()).toMatchObject({ code: 'revoked_api_key' });
  expect(await admin(fresh, 'GET', '/token')).toEqual(vault);
  const { entries } = await admin<{ entries: { action: string; actor: string; after: object }[] }>(
    fresh,
    'GET',
    '/audit?limit=10',
  );
  const mends = entries.filter(({ action }) => action === 'registry.mend');
  expect(mends).toMatchObject([
    { actor: 'gateway', after: { records: expect.arrayContaining(['vault', `key/${id}`]) } },
  ]);
  const said = [one, two].flatMap(logLines).filter(({ msg }) => msg?.includes('put back from memory'));
  expect(said).toHaveLength(1);
});
