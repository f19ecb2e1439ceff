/** A Redis that comes back empty, or with what an operator put there, under gateways that run. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { admin, ask, newTeam, REPORT } from '../support/ask.js';
import { openRedisScene } from '../support/on-redis.js';
import { logLines, startGateway, tempFolder } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = `${REPORT}?advertiserId=1&_period=yesterday`;

async function openFleet(more: Readonly<Record<string, string>> = {}) {
  const { redis, env } = await openRedisScene(more);
  const [one, two] = await Promise.all([startGateway(env), startGateway(env)]);
  return { redis, env, one, two };
}

it('a Redis that was restarted empty gets teams, keys and token back; who was revoked stays out, for good', async () => {
  const { redis, env, one, two } = await openFleet();
  const { key } = await newTeam(one, { id: 'good' });
  const leaked = await newTeam(one, { id: 'leaked' });
  await admin(one, 'DELETE', `/keys/${leaked.id}`);
  await waitFor('both keys', async () => {
    const answers = [await ask(two.data + QUERY, { key }), await ask(two.data + QUERY, { key: leaked.key })];
    return answers.map(({ status }) => status).join() === '200,401';
  });
  const tokenOf = async (gateway: typeof one) =>
    (await admin<{ active: { id: string } }>(gateway, 'GET', '/token')).active.id;
  const token = await tokenOf(one);
  await redis.restart();
  const seen = new Set<string>();
  await waitFor('the registry', async () => {
    for (const { data } of [one, two]) {
      seen.add(`good ${(await ask(data + QUERY, { key })).status}`);
      seen.add(`leaked ${(await ask(data + QUERY, { key: leaked.key })).status}`);
    }
    return /put back from memory/.test(one.stdout + two.stdout);
  });
  expect([...seen].sort()).toEqual(['good 200', 'leaked 401']);
  await waitFor('health', async () => (await ask(`${two.data}/readyz`)).json().store === 'ok');
  const fresh = await startGateway(env);
  expect((await ask(fresh.data + QUERY, { key })).status).toBe(200);
  expect((await ask(fresh.data + QUERY, { key: leaked.key })).json()).toMatchObject({
    code: 'revoked_api_key',
  });
  expect(await tokenOf(fresh)).toBe(token);
  const { entries } = await admin<{ entries: { action: string }[] }>(fresh, 'GET', '/audit?limit=20');
  expect(entries.filter(({ action }) => action === 'registry.restore')).toHaveLength(1);
});

it('a registry put there by an operator is taken over; pepper, seed and teams file are made again at once', async () => {
  const file = join(await tempFolder(), 'teams.yaml');
  await writeFile(file, 'teams:\n  - id: declared\n    advertisers: "*"\n');
  const { redis, one, two } = await openFleet({ GATEWAY_TEAMS_FILE: file });
  await newTeam(one, { id: 'former' });
  const control = new Redis(redis.url);
  onTestFinished(() => control.disconnect());
  const team = await admin(one, 'GET', '/teams/former');
  const base = 'dgw:1:{registry}';
  const put = control.multi().flushall();
  put.hset(`${base}:meta`, 'epoch', 'restored', 'version', '1');
  put.hset(`${base}:records`, 'team/restored', JSON.stringify({ ...team, id: 'restored' }));
  await put.zadd(`${base}:revisions`, 1, 'team/restored').exec();

  for (const gateway of [one, two]) {
    await waitFor('the teams', async () => {
      const { teams } = await admin<{ teams: { id: string }[] }>(gateway, 'GET', '/teams');
      return teams.map(({ id }) => id).join() === 'declared,restored';
    });
    await waitFor('readiness', async () => (await ask(`${gateway.data}/readyz`)).status === 200);
    const said = () => logLines(gateway).filter(({ msg }) => msg?.includes('another registry than before'));
    await waitFor('the word about it', async () => said().length > 0);
    expect(said()).toHaveLength(1);
    const { store } = await admin<{ store: object }>(gateway, 'GET', '/status');
    expect(store).toMatchObject({ registryEpoch: 'restored', loss: null, lastLoss: { outcome: 'adopted' } });
  }
  const { key } = await admin<{ key: string }>(one, 'POST', '/teams/restored/keys', {});
  await waitFor('the key', async () => (await ask(two.data + QUERY, { key })).status === 200);
});
