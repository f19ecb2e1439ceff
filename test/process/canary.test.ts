/**
 * Secrets nobody may find: everything the gateway can do is done, then every byte it wrote or said is searched for
 * the platform's tokens, the account's secrets, the master key, the admin token and the team keys.
 */
import { randomBytes } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { type Answer, type Ask, ask, type IssuedKey, REPORT, simulatorOf } from '../support/ask.js';
import { type Canary, findCanaries, type Place } from '../support/canary.js';
import {
  type Env,
  type Gateway,
  launchGateway,
  type Platform,
  type Process,
  planeOf,
  startGateway,
  startPlatform,
} from '../support/processes.js';
import { exchange, head } from '../support/raw-socket.js';
import { startRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

/** With characters that other encodings spell differently. */
const odd = (purpose: string) => `${purpose}~%+/"\\{}&=<>?${randomBytes(12).toString('hex')}`;

interface Stage {
  readonly platform: Platform;
  readonly env: Env;
  readonly canaries: Canary[];
  readonly places: Place[];
  readonly processes: Process[];
}

/** Starts a gateway whose output is searched at the end. */
async function start(stage: Stage, env: Env): Promise<Gateway> {
  const gateway = await startGateway({ ...stage.env, LOG_LEVEL: 'trace', METRICS_PORT: '0', ...env });
  stage.processes.push(gateway);
  return gateway;
}

/** A call whose answer is searched at the end, unpacked. */
async function say(stage: Stage, url: string, options: Ask = {}): Promise<Answer> {
  const answer = await ask(url, options);
  stage.places.push({
    name: `the answer ${answer.status} to ${options.method ?? 'GET'} ${new URL(url).pathname}`,
    bytes: Buffer.concat([Buffer.from(`${JSON.stringify(answer.headers)}\n`), unpacked(answer)]),
  });
  return answer;
}

function unpacked({ headers, bytes }: Answer): Buffer {
  if (headers['content-encoding'] === 'gzip') return gunzipSync(bytes);
  return headers['content-encoding'] === 'br' ? brotliDecompressSync(bytes) : bytes;
}

/** Issues a key. Its answer is the one place where the key may stand, once. */
async function issue(stage: Stage, gateway: Gateway, path: string, json: object = {}): Promise<IssuedKey> {
  const answer = await ask(`${gateway.admin}/admin/v1${path}`, {
    method: 'POST',
    bearer: gateway.adminToken,
    json,
  });
  expect(answer.status).toBe(201);
  const issued = answer.json<IssuedKey>();
  const shown = answer.text.split(issued.key);
  expect(shown).toHaveLength(2);
  stage.canaries.push({ name: `the key ${issued.id}`, secret: issued.key });
  stage.places.push({ name: 'the answer that issued a key', bytes: Buffer.from(shown.join('<the key>')) });
  return issued;
}

const DATA_PATHS = [
  ...`advertiserId=1&byDate=1&_period=last_7_days advertiserId=1&byDate=1&_period=last_7_days&_totals=1&_days=1
    advertiserId=1&_period=yesterday&_format=csv advertiserId=1&_period=yesterday&_format=ndjson
    advertiserId=1&_period=last_month&_format=raw advertiserId=999999 advertiserId=1&spentBased=gold
    advertiserId=01`
    .split(/\s+/)
    .map((query) => `${REPORT}?${query}`),
  ...`/api/v1/report/creatives/get?advertiserId=1 /api/v1/report/export/get?advertiserId=1 /api/v1/campaign/101
    /api/v1/campaign/999999999 /api/v1/nothing /gateway/v1/me /openapi.json /readyz /nowhere`.split(/\s+/),
];
const ADMIN_PATHS = '/status /teams /teams/canary /teams/canary/keys /token /audit?limit=1000'.split(' ');

async function everyCall(stage: Stage, gateway: Gateway, key: string): Promise<void> {
  const wishes = [
    ...[{}, { 'accept-encoding': 'gzip' }, { 'accept-encoding': 'br', 'cache-control': 'no-cache' }],
  ];
  for (const path of DATA_PATHS)
    for (const headers of wishes) await say(stage, gateway.data + path, { key, headers });
  const create = `${gateway.data}/api/v1/campaign/create`;
  await say(stage, create, { method: 'POST', key, json: { userId: 1, name: 'x' } });
  // Kept in the store, and given again.
  for (const headers of [{ 'idempotency-key': 'canary' }, { 'idempotency-key': 'canary' }])
    await say(stage, create, { method: 'POST', key, json: { userId: 1, name: 'x' }, headers });
  await say(stage, gateway.data + REPORT, { method: 'POST', key, json: { advertiserId: 1 } });
  for (const path of ADMIN_PATHS) {
    await say(stage, `${gateway.admin}/admin/v1${path}`, { bearer: gateway.adminToken });
  }
  for (const url of [gateway.admin, planeOf(gateway, 'metrics')]) await say(stage, `${url}/metrics`);
}

/** Keys where they do not belong: the gateway must not repeat them. */
async function misplacedSecrets(stage: Stage, gateway: Gateway, key: string): Promise<void> {
  const { data, admin, adminToken } = gateway;
  const wrong = `${key.slice(0, -3)}zzz`;
  await say(stage, `${data}${REPORT}?x-api-key=${key}&advertiserId=1`);
  await say(stage, `${data}${REPORT}?token=${key}`, { key: wrong });
  await say(stage, `${data}/api/v1/${key}`, { bearer: wrong });
  await say(stage, `${data}/${key}`, {});
  await say(stage, data + REPORT, { headers: { authorization: `Basic ${key}` } });
  await say(stage, data + REPORT, { headers: { authorization: key, cookie: `key=${key}` } });
  await say(stage, data + REPORT, { bearer: adminToken });
  await say(stage, `${admin}/admin/v1/teams`, { bearer: key });
  await say(stage, `${admin}/admin/v1/teams`, { bearer: `${adminToken}x` });
  await say(stage, `${admin}/admin/v1/teams/${key}`, { bearer: adminToken, method: 'DELETE' });
  const broken = [
    head(`GET ${REPORT} HTTP/1.1`, ['host: x', `x-api-key: ${key}`, ' folded']),
    head(`GET ${REPORT} HTTP/1.1`, ['host: x', `authorization : Bearer ${key}`]),
    head(`GET ${REPORT} HTTP/1.1`, [`x-api-key: ${key}`, `x-long: ${'y'.repeat(40_000)}`]),
    `${key}\r\n\r\n`,
  ];
  for (const bytes of broken) {
    stage.places.push({
      name: 'the answer to broken bytes',
      bytes: Buffer.from(await exchange(data, bytes)),
    });
  }
}

async function rotations(stage: Stage, gateway: Gateway, key: string): Promise<void> {
  const sim = simulatorOf(stage.platform.url);
  const step = (name: string, json: object = {}) =>
    say(stage, `${gateway.admin}/admin/v1/token/${name}`, {
      method: 'POST',
      bearer: gateway.adminToken,
      json,
    });
  const wrong = `wrong-${randomBytes(20).toString('hex')}`;
  const next = await sim.issueToken();
  stage.canaries.push(
    { name: 'a refused platform token', secret: wrong },
    { name: 'the second platform token', secret: next },
  );
  expect((await step('rotate', { token: wrong })).status).toBe(409);
  expect((await step('stage', { token: `${wrong} with a space` })).status).toBe(422);
  expect((await step('stage', { token: wrong })).status).toBe(200);
  expect((await step('verify')).status).toBe(409);
  expect((await step('discard')).status).toBe(200);
  expect((await step('rotate', { token: next })).status).toBe(200);
  expect((await step('rollback')).status).toBe(200);
  expect((await step('mint')).status).toBe(200);
  expect((await step('activate')).status).toBe(409);
  expect((await step('activate', { force: true })).status).toBe(200);
  await sim.revoke();
  expect((await say(stage, `${gateway.data}${REPORT}?advertiserId=2`, { key })).status).toBe(200);
  await sim.set({ tokenAnswer: 'nonsense' });
  expect((await step('rotate')).status).toBe(503);
  await sim.set({ tokenAnswer: 'access_token' });
}

/** A platform that says its caller's token wherever it can, and fails in all ways. */
async function hostilePlatform(stage: Stage, gateway: Gateway, key: string): Promise<void> {
  const sim = simulatorOf(stage.platform.url);
  await sim.set({ echoToken: true });
  const masked = await say(stage, `${gateway.data}/api/v1/nothing`, { key });
  expect(masked.text).toMatch(/\[token \*+\]/);
  for (const path of DATA_PATHS)
    await say(stage, gateway.data + path, { key, headers: { 'cache-control': 'no-cache' } });
  await sim.set({ echoToken: false });
  const [report, passed] = [`${REPORT}?advertiserId=3`, '/api/v1/campaign/101'];
  for (const kind of ['html', 'garbage', 'redirect', 'truncate', 'reset', 'status']) {
    for (const path of [report, passed]) {
      await sim.fault({ kind, times: 4 });
      const answer = say(stage, gateway.data + path, { key });
      // What is streamed breaks off where the platform does.
      if (kind === 'truncate' && path === passed) await expect(answer).rejects.toThrow('other side closed');
      else expect((await answer).status).not.toBe(500);
      await sim.clearFaults();
    }
  }
  const { username, password, clientId, clientSecret, token } = stage.platform;
  const words = `Bearer ${token} ${username} ${password} ${clientId} ${clientSecret}`;
  await sim.fault({ kind: 'status', status: 418, message: words });
  const scrubbed = await ask(`${gateway.data}${REPORT}?advertiserId=4`, { key });
  expect(scrubbed.text).not.toContain(token);
}

/** What the account's secrets and the gateway's own are, beside those that come up on the way. */
function firstCanaries(platform: Platform, env: Env): Canary[] {
  const { GATEWAY_MASTER_KEY: master, ADMIN_TOKEN: adminToken } = env;
  return [
    { name: 'the seeded platform token', secret: platform.token },
    { name: 'the password', secret: platform.password },
    { name: 'the client secret', secret: platform.clientSecret },
    ...(master === undefined ? [] : [{ name: 'the master key', secret: master }]),
    ...(adminToken === undefined ? [] : [{ name: 'the admin token', secret: adminToken }]),
  ];
}

/** @returns the gateway that was started after the first one was killed */
async function playAll(stage: Stage, env: Env): Promise<Gateway> {
  const gateway = await start(stage, env);
  const adminCall = (path: string, options: Ask) =>
    say(stage, `${gateway.admin}/admin/v1${path}`, { bearer: gateway.adminToken, ...options });
  const scopes = ['report:read', 'platform:read', 'platform:write', 'cache:refresh'];
  await adminCall('/teams', { method: 'POST', json: { id: 'canary', advertisers: '*', scopes } });
  const { key } = await issue(stage, gateway, '/teams/canary/keys', { label: 'first' });
  const second = await issue(stage, gateway, '/teams/canary/keys');
  const third = await issue(stage, gateway, `/keys/${second.id}/roll`, { overlapSeconds: 3600 });
  await everyCall(stage, gateway, key);
  await misplacedSecrets(stage, gateway, third.key);
  await rotations(stage, gateway, key);
  await hostilePlatform(stage, gateway, key);
  await adminCall(`/keys/${second.id}`, { method: 'DELETE' });
  await say(stage, gateway.data + REPORT, { key: third.key });
  await adminCall('/cache/purge', { method: 'POST', json: { advertiserId: 1 } });
  await everyCall(stage, gateway, key);

  await gateway.end('SIGKILL');
  const again = await start(stage, { ...env, GATEWAY_DATA_DIR: gateway.dataDir });
  await everyCall(stage, again, key);
  await say(stage, again.data + REPORT, { key: third.key });
  return again;
}

async function tryWrongKey(stage: Stage, dataDir: string): Promise<void> {
  const wrongKey = randomBytes(32).toString('base64');
  stage.canaries.push({ name: 'a master key that does not fit', secret: wrongKey });
  const locked = await launchGateway({
    ...stage.env,
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_MASTER_KEY: wrongKey,
  });
  stage.processes.push(locked);
  expect((await locked.exited).code).toBe(78);
}

function finds({ canaries, places, processes }: Stage): string[] {
  const outputs = processes.flatMap((one): Place[] => [
    { name: 'standard output', bytes: Buffer.from(one.stdout) },
    { name: 'standard error', bytes: Buffer.from(one.stderr) },
  ]);
  return findCanaries(canaries, [...outputs, ...places]);
}

async function setStage(env: Env): Promise<Stage> {
  const platform = await startPlatform({ seed: 1 + (randomBytes(4).readUInt32LE() % 1e8) });
  const all = {
    ...platform.env,
    ...platform.mintEnv,
    PLATFORM_PROBE: `${REPORT}?advertiserId=1&dateFrom=2026-01-01&dateTo=2026-01-01`,
    ...env,
  };
  return { platform, env: all, canaries: firstCanaries(platform, all), places: [], processes: [] };
}

describe.concurrent('no secret is found', () => {
  it('with the embedded store: in logs, answers and files, but for the two files that are theirs', async ({
    expect,
  }) => {
    const stage = await setStage({});
    const gateway = await playAll(stage, {});
    expect(await gateway.end('SIGTERM')).toEqual({ code: 0, signal: null });
    const { dataDir } = gateway;
    await tryWrongKey(stage, dataDir);
    const own: Record<string, string> = {};
    for (const name of await readdir(dataDir, { recursive: true })) {
      const path = join(dataDir, name);
      if (!(await stat(path)).isFile()) continue;
      const bytes = await readFile(path);
      const isOwn = name === 'master.key' || name === 'admin.token';
      if (isOwn) own[name] = bytes.toString('utf8').trim();
      stage.places.push({ name: `the file ${name}`, bytes: isOwn ? Buffer.alloc(0) : bytes });
    }
    expect(Object.keys(own).sort()).toEqual(['admin.token', 'master.key']);
    for (const [name, secret] of Object.entries(own)) {
      expect(secret.length).toBeGreaterThan(20);
      stage.canaries.push({ name: `the secret of ${name}`, secret });
    }
    expect(stage.places.filter(({ name }) => name.startsWith('the file')).length).toBeGreaterThan(2);
    expect(finds(stage)).toEqual([]);
  });

  it('with Redis: in logs, answers, keys and values', async ({ expect, onTestFinished }) => {
    const password = odd('redis').replace(/["\\]/g, '_');
    // Uncompressed, or DUMP would hide what it repeats.
    const redis = await startRedis({ args: ['--requirepass', password, '--rdbcompression', 'no'] });
    onTestFinished(() => redis.close());
    const url = redis.url.replace('//', `//:${encodeURIComponent(password)}@`);
    const stage = await setStage({
      REDIS_URL: url,
      GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
      ADMIN_TOKEN: odd('admin'),
    });
    stage.canaries.push({ name: 'the password of Redis', secret: password });
    const gateway = await playAll(stage, {});
    await tryWrongKey(stage, gateway.dataDir);

    const client = new Redis(redis.port, '127.0.0.1', { password });
    const keys = await client.keys('*');
    expect(keys.length).toBeGreaterThan(10);
    for (const name of keys) {
      const value = await client.dumpBuffer(name);
      if (value === null) throw new Error(`${name} is gone`);
      stage.places.push({
        name: `the record ${name}`,
        bytes: Buffer.concat([Buffer.from(`${name}\n`), value]),
      });
    }
    client.disconnect();
    // The cache is there, so it was searched: rows lie in it in the open.
    expect(
      stage.places.some(
        ({ name, bytes }) => name.startsWith('the record') && bytes.includes('"impressions"'),
      ),
    ).toBe(true);

    await redis.kill();
    await waitFor('a word about the lost Redis', () => /redis/i.test(gateway.stdout), gateway);
    await say(stage, `${gateway.admin}/admin/v1/teams`, {
      method: 'POST',
      bearer: gateway.adminToken,
      json: { id: 'never' },
    });
    await gateway.end('SIGTERM');
    expect(finds(stage)).toEqual([]);
  });
});

it('the search itself finds every spelling', () => {
  const secret = odd('planted');
  const canaries = [{ name: 'planted', secret }];
  const hidden = [
    secret,
    JSON.stringify({ a: secret }),
    encodeURIComponent(`x=${secret}`),
    Buffer.from(`ab${secret}yz`).toString('hex'),
    ...['', 'a', 'ab'].flatMap((before) => [
      Buffer.from(`${before}${secret}tail`).toString('base64'),
      Buffer.from(`${before}${secret}tail`).toString('base64url'),
    ]),
  ];
  for (const text of hidden) {
    expect(findCanaries(canaries, [{ name: 'here', bytes: Buffer.from(text) }])).not.toEqual([]);
  }
  expect(findCanaries(canaries, [{ name: 'here', bytes: Buffer.from('nothing') }])).toEqual([]);
});
