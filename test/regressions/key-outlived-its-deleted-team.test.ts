/**
 * A key that was issued while its team was being deleted was not revoked with it, and came alive when the team's id was
 * used again: in 35 of 40 tries. Pruning by a teams file and importing had the same cause.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../src/simulator/simulator.js';
import { type Replicas, withReplicas } from '../engine/replicas.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { ADMIN_TOKEN, outcomeOf, type TestGateway } from '../support/start-gateway.js';

const ME = '/gateway/v1/me';
const TRIES = 20;
let redis: RedisServer;
let replicas: Replicas;
let one: TestGateway;
let two: TestGateway;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

async function openTwo(): Promise<void> {
  const simulator = await startSimulator({ switches: { rateLimitPerMinute: 0 } });
  onTestFinished(() => simulator.close());
  replicas = await withReplicas({ platform: simulator, redis, count: 2 });
  [one, two] = replicas.all as [TestGateway, TestGateway];
}

/** Asks the admin plane whatever it answers. */
async function ask(gateway: TestGateway, method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) {
  const response = await gateway.admin.inject({
    method,
    url: `/admin/v1${path}`,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    ...(payload === undefined ? {} : { payload }),
  });
  return { status: response.statusCode, body: response.payload === '' ? {} : response.json() };
}

const make = (id: string) => ask(one, 'POST', '/teams', { id });
const issue = (gateway: TestGateway, id: string) => ask(gateway, 'POST', `/teams/${id}/keys`, {});

/** Ways by which a team goes. */
const REMOVALS: readonly (readonly [string, (id: string, backup: object) => Promise<unknown>])[] = [
  ['is deleted', (id) => ask(two, 'DELETE', `/teams/${id}`)],
  ['leaves the file of teams', () => ask(two, 'POST', '/teams/apply', { teams: [], removed: 'delete' })],
  ['is not in a backup', (_id, backup) => ask(two, 'POST', '/registry/import', { ...backup, replace: true })],
];

describe.each(REMOVALS)('a team that %s', (what, remove) => {
  it('takes every key with it, those included that are being issued or that are not known yet', async () => {
    await openTwo();
    const { body: backup } = await ask(one, 'GET', '/registry/export');
    const alive: string[] = [];
    for (let at = 0; at < TRIES; at++) {
      const id = `gone-${at}`;
      if (what === 'leaves the file of teams') {
        await ask(one, 'POST', '/teams/apply', { teams: [{ id }], removed: 'keep' });
      } else await make(id);
      await replicas.agreed();
      replicas.outage.deaf = true;
      const before = await issue(one, id);
      const [meanwhile] = await Promise.all([issue(one, id), remove(id, backup as object)]);
      replicas.outage.deaf = false;
      await replicas.agreed();
      await make(id);
      await replicas.agreed();
      for (const { status, body } of [before, meanwhile]) {
        if (status !== 201) continue;
        for (const gateway of [one, two]) {
          const outcome = outcomeOf(await gateway.call(ME, { key: String(body.key) }));
          if (outcome === '200') alive.push(id);
        }
      }
      const { status, body } = await issue(two, id);
      expect([status, outcomeOf(await two.call(ME, { key: String(body.key) }))]).toEqual([201, '200']);
    }
    expect(alive).toEqual([]);
  });
});

it('a key is issued although its team is edited meanwhile', async () => {
  await openTwo();
  await make('edited');
  await replicas.agreed();
  const answers = await Promise.all(
    Array.from({ length: 5 }, async (_, at) => {
      await two.manage('PATCH', '/teams/edited', { name: `name ${at}` }).catch(() => {
        // Two edits at once: one of them is refused.
      });
      return (await issue(one, 'edited')).status;
    }),
  );
  expect(answers).toEqual([201, 201, 201, 201, 201]);
});
