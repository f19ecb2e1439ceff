/** Who reads the log may be slow, gone, or a full disk: the gateway serves, is managed, and stops. */
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'undici';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ask, newTeam, REPORT } from '../support/ask.js';
import { openPipe, type Pipe } from '../support/pipes.js';
import { launchCli, type Platform, type Process, startPlatform, tempFolder } from '../support/processes.js';
import { freePort, startRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

const ADMIN_TOKEN = 'an-admin-token-for-tests';
const QUERY = `${REPORT}?advertiserId=1&byDate=1&_period=yesterday`;

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
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
  const process = launchCli(
    ['serve'],
    {
      ...platform.env,
      HOST: '127.0.0.1',
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      ADMIN_TOKEN,
      GATEWAY_DATA_DIR: join(await tempFolder(), 'data'),
      ...env,
    },
    stdout,
  );
  return { process, data: `http://127.0.0.1:${port}`, admin: `http://127.0.0.1:${adminPort}` };
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

/** Lines enough to fill a pipe and what waits before it several times over, were it a line a request. */
async function makeLines({ data }: Scene, count: number): Promise<void> {
  for (let made = 0; made < count; made += 20)
    await Promise.all(Array.from({ length: 20 }, () => ask(`${data}/healthz`)));
}

/** More than waits in memory: long paths, many requests on each connection at once. */
async function makeManyLines({ data }: Scene, count: number): Promise<void> {
  const client = new Pool(data, { pipelining: 50, connections: 4 });
  const path = `/${'x'.repeat(300)}`;
  const one = async () => (await client.request({ method: 'GET', path })).body.dump();
  for (let made = 0; made < count; made += 500) await Promise.all(Array.from({ length: 500 }, one));
  await client.close();
}

/** Everything that must go on whatever becomes of the log. */
async function expectServing(scene: Scene): Promise<void> {
  const { key } = await newTeam({ admin: scene.admin, adminToken: ADMIN_TOKEN }, { id: 'unheard' });
  // Workers hear of a new key a moment later.
  await expect.poll(async () => (await ask(scene.data + QUERY, { key })).status).toBe(200);
  expect((await ask(`${scene.data}/readyz`)).status).toBe(200);
}

async function expectStopping({ process }: Scene): Promise<void> {
  expect(await process.end('SIGTERM')).toEqual({ code: 0, signal: null });
}

const linesIn = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { msg: string });

describe('a log', () => {
  it('whose reader goes away is told of, and nothing else happens', async () => {
    const pipe = openPipe();
    const scene = await serveInto(pipe.writeEnd);
    pipe.closeWriter();
    await isUp(scene.data);
    pipe.closeReader();
    await makeLines(scene, 40);
    await waitFor('a word about it', async () => (await logState(scene)).reason === 'EPIPE', scene.process);
    expect(await logState(scene)).toMatchObject({ state: 'failing' });
    expect((await ask(`${scene.admin}/metrics`)).text).toContain('dsp_gateway_log_up 0\n');
    await expectServing(scene);
    await expectStopping(scene);
  });

  it('on a socket whose other end goes away is told of as well', async () => {
    const scene = await serveInto('pipe');
    await isUp(scene.data);
    scene.process.stopReading();
    await makeLines(scene, 40);
    await waitFor('a word about it', async () => (await logState(scene)).state === 'failing', scene.process);
    await expectServing(scene);
    await expectStopping(scene);
  });

  it('on a full disk waits in memory, and what finds no room there is dropped and counted', async () => {
    const full = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(full));
    const scene = await serveInto(full);
    await isUp(scene.data);
    await makeManyLines(scene, 12_000);
    await waitFor('a dropped line', async () => (await logState(scene)).droppedLines > 0, scene.process);
    expect(await logState(scene)).toMatchObject({ state: 'failing', reason: 'ENOSPC' });
    const { text } = await ask(`${scene.admin}/metrics`);
    expect(text).toContain('dsp_gateway_log_up 0\n');
    expect(text).toMatch(/^dsp_gateway_log_dropped_lines_total [1-9]\d*$/m);
    await expectServing(scene);
    await expectStopping(scene);
  });

  it('that nobody reads waits in memory, and neither the planes nor a stop wait for it', async () => {
    const pipe = openPipe();
    const scene = await serveInto(pipe.writeEnd, { LOG_LEVEL: 'trace' });
    pipe.closeWriter();
    await isUp(scene.data);
    await makeLines(scene, 600);
    await expectServing(scene);
    await expectStopping(scene);
    // What the pipe took is whole lines but for the last one.
    const lines = pipe.read().split('\n').slice(0, -1);
    expect(lines.length).toBeGreaterThan(100);
    for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
  });

  it('that is read late arrives whole', async () => {
    const pipe = openPipe();
    const scene = await serveInto(pipe.writeEnd);
    pipe.closeWriter();
    await isUp(scene.data);
    await makeLines(scene, 600);
    let text = '';
    const reading = readOn(pipe, (more) => {
      text += more;
    });
    await expectStopping(scene);
    await reading.stop();
    const said = linesIn(text).map(({ msg }) => msg);
    expect(said.filter((msg) => msg === 'request').length).toBeGreaterThanOrEqual(600);
    expect(said.at(-1)).toBe('stopped');
  });

  it('has every line of a start that failed', async () => {
    const taken = openPipe();
    const scene = await serveInto('pipe');
    await isUp(scene.data);
    const second = await serveInto(taken.writeEnd, {
      PORT: new URL(scene.data).port,
      LOG_LEVEL: 'debug',
      GATEWAY_TEAMS_FILE: await teamsFile(),
    });
    expect((await second.process.exited).code).toBe(1);
    expect(linesIn(taken.read()).map(({ msg }) => msg)).toContain('teams are as the file declares');
    await expectStopping(scene);
  });

  it('has every line of a start that was broken off', async () => {
    const waiting = openPipe();
    const third = await serveInto(waiting.writeEnd, {
      REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
      GATEWAY_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    });
    await isUp(third.data);
    await expectStopping(third);
    expect(linesIn(waiting.read()).map(({ msg }) => msg)).toContain(
      'Redis cannot be reached; waiting for it',
    );
  });
});

it('the logs of several workers share a reader that goes away', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const pipe = openPipe();
  const scene = await serveInto(pipe.writeEnd, {
    REDIS_URL: redis.url,
    GATEWAY_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    WORKERS: '2',
  });
  pipe.closeWriter();
  await isUp(scene.admin);
  await isUp(scene.data);
  pipe.closeReader();
  await makeLines(scene, 40);
  await waitFor('a word about it', async () => {
    const { text } = await ask(`${scene.admin}/metrics`);
    return text.includes('dsp_gateway_log_up 0\n');
  });
  await expectServing(scene);
  await expectStopping(scene);
});

it('the logs of several workers on a socket that nobody reads hold up no stop', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const scene = await serveInto('pipe', {
    REDIS_URL: redis.url,
    GATEWAY_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    WORKERS: '2',
  });
  await isUp(scene.admin);
  await isUp(scene.data);
  scene.process.pauseReading();
  await makeLines(scene, 1500);
  await expectServing(scene);
  await expectStopping(scene);
});

async function teamsFile(): Promise<string> {
  const { writeFile } = await import('node:fs/promises');
  const path = join(await tempFolder(), 'teams.yaml');
  await writeFile(path, 'teams: [{id: declared}]\n');
  return path;
}

function readOn(pipe: Pipe, take: (text: string) => void): { stop(): Promise<void> } {
  const timer = setInterval(() => take(pipe.read()), 5);
  return {
    async stop() {
      clearInterval(timer);
      take(pipe.read());
    },
  };
}
