/** Sessions on real processes: two replicas on one Redis, one of them of two workers; a Redis that is away. */
import { expect, it } from 'vitest';
import { type Answer, type Ask, admin, ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { openRedisScene } from '../support/on-redis.js';
import { type Gateway, startGateway } from '../support/processes.js';
import type { RedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = `${REPORT}?advertiserId=1&byDate=1&_period=last_7_days`;
const HOST = 'gateway.example';
const EXPLORER = '/gateway/v1/session';

interface Browser {
  /** Asks any replica by the one name they have. */
  at(url: string, method?: Ask['method']): Promise<Answer>;
  readonly id: string;
}

/** @param url of a session on one of the replicas */
async function signIn(url: string, json: object): Promise<Browser> {
  const host = { host: HOST };
  const signed = await ask(url, { method: 'POST', json, headers: host });
  expect([signed.status, signed.headers['set-cookie']]).toEqual([201, expect.stringMatching(/; Secure$/)]);
  const cookie = String(signed.headers['set-cookie']).split(';', 1)[0] ?? '';
  const { csrf } = signed.json<{ csrf: string }>();
  const changes = { origin: `http://${HOST}`, 'x-csrf-token': csrf };
  return {
    id: cookie.split('=')[1] ?? '',
    at: (to, method = 'GET') =>
      ask(to, {
        method,
        headers: { ...host, cookie, ...(method === 'GET' ? {} : changes), connection: 'close' },
      }),
  };
}

const codeOf = (answer: Answer) => (answer.status === 200 ? 200 : answer.json<{ code: string }>().code);

/** Looks several times, for a replica may be two processes, each with a memory of its own. */
async function dies(browser: Browser, url: string): Promise<void> {
  const startedAt = performance.now();
  await waitFor('the end of the session', async () => {
    const codes = await Promise.all(Array.from({ length: 6 }, async () => codeOf(await browser.at(url))));
    return codes.every((code) => code === 'invalid_session');
  });
  // Promised is a second; five times as much is no matter of the machine's speed any more.
  expect(performance.now() - startedAt).toBeLessThan(5000);
  for (let times = 0; times < 4; times += 1) expect(codeOf(await browser.at(url))).toBe('invalid_session');
}

const lives = async (browser: Browser, url: string) =>
  waitFor('the session', async () => codeOf(await browser.at(url)) === 200);

it('are one on all replicas, end on all when the key does, or at sign-out, and wait for Redis', async () => {
  const { env, platform, redis } = await openRedisScene();
  const [one, two] = await Promise.all([startGateway(env), startGateway({ ...env, WORKERS: '2' })]);
  const { key, id } = await newTeam(one, { id: 'growth' });
  const sign = () => signIn(one.data + EXPLORER, { key });
  const [byRevocation, byRolling, bySignOut] = [await sign(), await sign(), await sign()];
  for (const browser of [byRevocation, byRolling, bySignOut]) {
    await lives(browser, two.data + QUERY);
    expect(codeOf(await browser.at(one.data + QUERY))).toBe(200);
  }

  expect((await bySignOut.at(two.data + EXPLORER, 'DELETE')).status).toBe(204);
  await dies(bySignOut, one.data + QUERY);
  await dies(bySignOut, two.data + QUERY);
  expect(codeOf(await byRolling.at(one.data + QUERY))).toBe(200);

  await admin(two, 'POST', `/keys/${id}/roll`, { overlapSeconds: 0 });
  await dies(byRolling, one.data + QUERY);
  await dies(byRevocation, two.data + QUERY);

  const other = await newTeam(one, { id: 'other' });
  const browser = await waitFor('the key on the other', () =>
    signIn(two.data + EXPLORER, { key: other.key }).catch(() => null),
  );
  await lives(browser, one.data + QUERY);
  await admin(two, 'DELETE', `/keys/${other.id}`);
  await dies(browser, one.data + QUERY);

  const calls = JSON.stringify(await simulatorOf(platform.url).calls());
  expect(calls).not.toMatch(/cookie|dgw_explorer|x-csrf-token/i);
  for (const gateway of [one, two])
    for (const { id: secret } of [byRevocation, byRolling, bySignOut, browser])
      expect(gateway.stdout + gateway.stderr).not.toContain(secret);
  await letNobodyInWithoutRedis(one, redis);
});

async function letNobodyInWithoutRedis(gateway: Gateway, redis: RedisServer): Promise<void> {
  const { key } = await newTeam(gateway, { id: 'patient' });
  const browser = await signIn(gateway.data + EXPLORER, { key });
  await lives(browser, gateway.data + QUERY);
  redis.pause();
  const refused = await waitFor('a refusal', async () => {
    const answer = await browser.at(gateway.data + QUERY);
    return answer.status !== 200 && answer;
  });
  expect(codeOf(refused)).toBe('not_ready');
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect((await ask(gateway.data + QUERY, { key })).status).toBe(200);
  redis.resume();
  await lives(browser, gateway.data + QUERY);
}
