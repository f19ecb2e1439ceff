/** Who reads the log may be slow, gone, or a full disk: the gateway serves, is managed, and stops. */

import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { Pool } from 'undici';
import { beforeAll, describe, type ExpectStatic, it } from 'vitest';
import { ask, newTeam, REPORT } from '../support/ask.js';
import { openPipe } from '../support/pipes.js';
import { launchCli, type Platform, type Process, startPlatform, tempFolder } from '../support/processes.js';
import { freePort, type RedisServer, startRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

const ADMIN_TOKEN = 'an-admin-token-for-tests';
const QUERY = `${REPORT}?advertiserId=1&byDate=1&_period=yesterday`;
/** As much of a path as a line shows. */
const LONG = `/${'x'.repeat(255)}`;

let platform: Platform;
let redis: RedisServer;
beforeAll(async () => {
  [platform, redis] = await Promise.all([startPlatform(), startRedis()]);
  return () => redis.close();
});

interface Scene {
  readonly process: Process;
  readonly data: string;
  readonly admin: string;
}

/** A gateway whose log goes where the test says; its ports are known without reading it. */
async function serveInto(
  stdout: number | 'pipe',
  env: Readonly<Record<string, string>> = {},
): Promise<Scene> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const settings = {
    ...platform.env,
    HOST: '127.0.0.1',
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
    ADMIN_TOKEN,
    GATEWAY_DATA_DIR: join(await tempFolder(), 'data'),
    ...env,
  };
  const process = launchCli(['serve'], settings, stdout);
  return { process, data: `http://127.0.0.1:${port}`, admin: `http://127.0.0.1:${adminPort}` };
}

const GATEWAY_MASTER_KEY = Buffer.alloc(32, 1).toString('base64');

async function workersInto(stdout: number | 'pipe'): Promise<Scene> {
  const scene = await serveInto(stdout, { REDIS_URL: redis.url, GATEWAY_MASTER_KEY, WORKERS: '2' });
  await isUp(scene.admin);
  await isUp(scene.data);
  return scene;
}

const isUp = (url: string) =>
  waitFor(url, () =>
    ask(`${url}/healthz`).then(
      ({ status }) => status === 200,
      () => false,
    ),
  );

interface LogState {
  readonly state: string;
  readonly reason?: string;
  readonly droppedLines: number;
}

const logState = async ({ admin }: Scene): Promise<LogState> =>
  (await ask(`${admin}/admin/v1/status`, { bearer: ADMIN_TOKEN })).json<{ log: LogState }>().log;
const metricsOf = async ({ admin }: Scene) => (await ask(`${admin}/metrics`)).text;

/** Many requests on each connection at once, each with a long line. */
async function makeLines({ data }: Scene, count: number, path = LONG): Promise<void> {
  const client = new Pool(data, { pipelining: 50, connections: 4 });
  const one = async () => (await client.request({ method: 'GET', path })).body.dump();
  for (let made = 0; made < count; made += 200)
    await Promise.all(Array.from({ length: Math.min(200, count - made) }, one));
  await client.close();
}

/** Everything that must go on whatever becomes of the log. */
async function expectServing(expect: ExpectStatic, { data, admin, process }: Scene): Promise<void> {
  const { key } = await newTeam({ admin, adminToken: ADMIN_TOKEN }, { id: `unheard-${process.pid}` });
  // Workers hear of a new key a moment later.
  await expect.poll(async () => (await ask(data + QUERY, { key })).status).toBe(200);
  expect((await ask(`${data}/readyz`)).status).toBe(200);
  expect(await process.end('SIGTERM')).toEqual({ code: 0, signal: null });
}

const messagesIn = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => (JSON.parse(line) as { msg: string }).msg);

describe.concurrent('a log', () => {
  it('whose reader goes away, be it a pipe or a socket, is told of, and nothing else happens', async ({
    expect,
  }) => {
    const pipe = openPipe();
    const [onPipe, onSocket] = await Promise.all([serveInto(pipe.writeEnd), serveInto('pipe')]);
    pipe.closeWriter();
    await Promise.all([isUp(onPipe.data), isUp(onSocket.data)]);
    pipe.closeReader();
    onSocket.process.stopReading();
    for (const scene of [onPipe, onSocket]) {
      await makeLines(scene, 40);
      await waitFor('a word about it', async () => (await logState(scene)).state === 'failing');
      expect(await metricsOf(scene)).toContain('dsp_gateway_log_up 0\n');
    }
    expect(await logState(onPipe)).toMatchObject({ reason: 'EPIPE' });
    await expectServing(expect, onPipe);
    await expectServing(expect, onSocket);
  });

  it('on a full disk is reported as failing, and drops no line', async ({ expect, onTestFinished }) => {
    const full = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(full));
    const scene = await serveInto(full);
    await isUp(scene.data);
    await makeLines(scene, 40);
    await waitFor('a word about it', async () => (await logState(scene)).state === 'failing', scene.process);
    expect(await logState(scene)).toMatchObject({ reason: 'ENOSPC', droppedLines: 0 });
    expect(await metricsOf(scene)).toContain('dsp_gateway_log_up 0\n');
    await expectServing(expect, scene);
  });

  it('that nobody reads waits in memory, and neither the planes nor a stop wait for it', async ({
    expect,
  }) => {
    const pipe = openPipe();
    const scene = await serveInto(pipe.writeEnd, { LOG_LEVEL: 'trace' });
    pipe.closeWriter();
    await isUp(scene.data);
    await makeLines(scene, 600, '/healthz');
    await expectServing(expect, scene);
    // What the pipe took is whole lines but for the last one.
    const lines = pipe.read().split('\n').slice(0, -1);
    expect(lines.length).toBeGreaterThan(100);
    for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
  });

  it('that is read late arrives whole', async ({ expect }) => {
    const pipe = openPipe();
    const scene = await serveInto(pipe.writeEnd);
    pipe.closeWriter();
    await isUp(scene.data);
    await makeLines(scene, 300);
    let text = '';
    const read = () => {
      text += pipe.read();
    };
    const reading = setInterval(read, 5);
    expect(await scene.process.end('SIGTERM')).toEqual({ code: 0, signal: null });
    clearInterval(reading);
    read();
    const said = messagesIn(text);
    expect(said.filter((msg) => msg === 'request').length).toBeGreaterThanOrEqual(300);
    expect(said.at(-1)).toBe('stopped');
  });

  it('has every line of a start that failed, or was broken off', async ({ expect, onTestFinished }) => {
    const [taken, waiting] = [openPipe(), openPipe()];
    const teams = join(await tempFolder(), 'teams.yaml');
    await writeFile(teams, 'teams: [{id: declared}]\n');
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const PORT = String((other.address() as AddressInfo).port);
    const failing = { PORT, LOG_LEVEL: 'debug', GATEWAY_TEAMS_FILE: teams };
    const failed = await serveInto(taken.writeEnd, failing);
    expect((await failed.process.exited).code).toBe(1);
    expect(messagesIn(taken.read())).toContain('applied the teams file');

    const REDIS_URL = `redis://127.0.0.1:${await freePort()}`;
    const brokenOff = await serveInto(waiting.writeEnd, { REDIS_URL, GATEWAY_MASTER_KEY });
    await isUp(brokenOff.data);
    // Nothing was begun, so nothing is to be finished.
    expect(await brokenOff.process.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(messagesIn(waiting.read())).toContain('Redis is unreachable; waiting for it');
  });

  it('of several workers has a reader that goes away', async ({ expect }) => {
    const pipe = openPipe();
    const scene = await workersInto(pipe.writeEnd);
    pipe.closeWriter();
    pipe.closeReader();
    await makeLines(scene, 40);
    await waitFor('a word about it', async () => (await metricsOf(scene)).includes('dsp_gateway_log_up 0\n'));
    await expectServing(expect, scene);
  });

  it('of several workers on a socket that nobody reads holds up no stop', async ({ expect }) => {
    const scene = await workersInto('pipe');
    scene.process.pauseReading();
    await makeLines(scene, 600);
    await expectServing(expect, scene);
  });
});
