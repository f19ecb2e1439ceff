/** Contract: WORKERS=2. Both serve one port, the admin plane is there once, a lost worker is replaced. */
import { expect, it } from 'vitest';
import { admin, ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { dataPidsOf, openRedisScene, type RedisScene } from '../support/on-redis.js';
import { type Gateway, logLines, planeOf, startGateway } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = `${REPORT}?advertiserId=1&byDate=1&_period=last_7_days&x=1`;

interface Conditions {
  readonly store: string;
  readonly credential: string;
  readonly platform: string;
}
type Ready = Conditions & { readonly ready: boolean; readonly worst: Conditions };
interface OneProcess extends Conditions {
  readonly pid: number;
}
interface Status {
  readonly cache: { readonly l1Bytes: number; readonly l1Entries: number };
  readonly processes: readonly OneProcess[];
}

const readyOf = async (url: string) => (await ask(`${url}/readyz`)).json<Ready>();
const statusOf = (gateway: Gateway) => admin<Status>(gateway, 'GET', '/status');

it('serves from two processes, counts both, replaces the one that dies, and tells the worst of all', async () => {
  const { platform, redis, env } = await openRedisScene({ WORKERS: '2', METRICS_PORT: '0' });
  const gateway = await startGateway(env);
  const listening = () => logLines(gateway).filter(({ msg }) => msg === 'listening');
  const dataPids = () => dataPidsOf(gateway);
  await waitFor('two workers', () => dataPids().length === 2, gateway);
  expect(new Set(dataPids()).size).toBe(2);
  expect(listening().filter(({ urls }) => 'admin' in (urls as object))).toHaveLength(1);

  const { key } = await newTeam(gateway, { id: 'many' });
  /** One connection each, so that the supervisor deals them out. */
  const call = () => ask(gateway.data + QUERY, { key, headers: { connection: 'close' } });
  await waitFor('the key on one', async () => (await call()).status === 200);
  await waitFor('the key on both', async () => {
    const answers = await Promise.all([call(), call(), call(), call()]);
    return answers.every(({ status }) => status === 200);
  });
  const served = () =>
    new Set(
      logLines(gateway)
        .filter(({ msg, path }) => msg === 'request' && path === REPORT)
        .map(({ pid }) => pid as number),
    );
  await waitFor('both to serve', async () => {
    await call();
    return served().size === 2;
  });
  expect([...served()].sort()).toEqual([...dataPids()].sort());

  // Metrics are those of both workers.
  await waitFor('every request in the log', () => reports(logLines(gateway)) > 0);
  for (const url of [gateway.admin, planeOf(gateway, 'metrics')]) {
    const metrics = await waitFor('metrics of all', async () => {
      const { text } = await ask(`${url}/metrics`);
      return counted(text) === reports(logLines(gateway)) && text;
    });
    expect(metrics).toContain('dsp_gateway_platform_calls_total{outcome="answer",team="many"} 1\n');
    // Those of the process that has the admin plane are among them.
    expect(metrics).toMatch(/^dsp_gateway_requests_total\{plane="admin",status="201"/m);
    // What is one and the same in all workers is not added up.
    expect(metrics).toContain('dsp_gateway_store_up 1\n');
    const expiry = /^dsp_gateway_token_expiry_timestamp_seconds (\S+)$/m.exec(metrics)?.[1];
    expect(Number(expiry) * 1000).toBeLessThan(Date.now() + 366 * 86_400_000);
  }

  // The worker that was asked second found the report in the store.
  expect(await simulatorOf(platform.url).calls()).toHaveLength(1);

  // The other processes know it from the store, so the one that asked may die.
  await waitFor('an accepted token', async () =>
    (await statusOf(gateway)).processes.every(({ credential }) => credential === 'ok'),
  );
  const [victim] = dataPids();
  process.kill(victim as number, 'SIGKILL');
  await waitFor('another worker', () => dataPids().length === 3, gateway);
  expect(logLines(gateway).map(({ msg }) => msg)).toContain('a worker ended; starting another');
  for (let n = 0; n < 8; n++) expect((await call()).status).toBe(200);
  const fresh = dataPids()[2] as number;
  await waitFor('the new worker to serve', async () => {
    await call();
    return served().has(fresh);
  });

  await tellsOfAll(gateway, key, { redis, platform }, dataPids().slice(1));

  await drains(gateway, key, { redis, platform });
  await expect(call()).rejects.toThrow('ECONNREFUSED');
  for (const pid of dataPids()) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});

/** A refused token, and a store that is lost: every plane tells the worst of all processes. */
async function tellsOfAll(
  gateway: Gateway,
  key: string,
  { redis, platform }: Pick<RedisScene, 'redis' | 'platform'>,
  workers: readonly number[],
): Promise<void> {
  const planes = [gateway.data, gateway.admin, String(planeOf(gateway, 'metrics'))];
  for (const url of planes)
    await waitFor('an accepted token', async () => (await readyOf(url)).worst.credential === 'ok', gateway);
  // The admin plane's process serves no reports, and has no bodies of its own.
  const full = await waitFor('bodies of the workers', async () => {
    const status = await statusOf(gateway);
    return status.cache.l1Entries > 0 && status.processes.length === 3 && status;
  });
  expect(full.cache.l1Bytes).toBeGreaterThan(0);
  expect(full.processes.map(({ pid }) => pid)).toEqual(expect.arrayContaining([gateway.pid, ...workers]));

  await simulatorOf(platform.url).revoke();
  const refused = `${gateway.data}${REPORT}?advertiserId=2&_period=last_7_days`;
  expect((await ask(refused, { key, headers: { connection: 'close' } })).status).toBe(503);
  for (const url of planes) {
    await waitFor('a refused token', async () => (await readyOf(url)).worst.credential === 'refused');
    expect(await readyOf(url)).toMatchObject({ ready: true, worst: { store: 'ok' } });
  }
  await waitFor('every process to know', async () =>
    (await statusOf(gateway)).processes.every(({ credential }) => credential === 'refused'),
  );

  // Without the store the workers are heard of over the cluster's channel.
  await redis.kill();
  for (const url of planes) {
    await waitFor('a store that is away', async () => (await readyOf(url)).worst.store === 'away', gateway);
    expect(await readyOf(url)).toMatchObject({ ready: true, worst: { credential: 'refused' } });
  }
  expect((await statusOf(gateway)).processes).toHaveLength(3);
}

/** It is ready on no plane while its workers finish their requests. */
async function drains(
  gateway: Gateway,
  key: string,
  { redis, platform }: Pick<RedisScene, 'redis' | 'platform'>,
) {
  const simulator = simulatorOf(platform.url);
  await redis.restart();
  const { adminToken, data } = gateway;
  const token = await simulator.issueToken();
  await waitFor('another token', async () => {
    const json = { token, force: true };
    const url = `${gateway.admin}/admin/v1/token/rotate`;
    return (await ask(url, { method: 'POST', bearer: adminToken, json })).status === 200;
  });
  await waitFor('every process to know', async () =>
    (await statusOf(gateway)).processes.every(({ credential }) => credential !== 'refused'),
  );
  await simulator.set({ latencyMs: 1000 });
  await simulator.forget();
  let ended = false;
  const answer = ask(`${data}${REPORT}?advertiserId=3&_period=last_7_days`, { key }).then((done) => {
    ended = true;
    return done;
  });
  await waitFor('the platform call', async () => (await simulator.calls()).length > 0);
  gateway.signal('SIGTERM');
  for (const url of [gateway.admin, planeOf(gateway, 'metrics')]) {
    await waitFor('a readiness that says no', async () => (await ask(`${url}/readyz`)).status === 503);
    expect(ended).toBe(false);
  }
  expect((await answer).status).toBe(200);
  expect(await gateway.exited).toEqual({ code: 0, signal: null });
}

function reports(lines: readonly Record<string, unknown>[]): number {
  return lines.filter(({ msg, path, status }) => msg === 'request' && path === REPORT && status === 200)
    .length;
}

/** Reports that the metrics count as answered with 200. */
function counted(metrics: string): number {
  return [
    ...metrics.matchAll(/^dsp_gateway_requests_total\{plane="data",status="200",.*team="many".*\} (\d+)$/gm),
  ]
    .map(([, count]) => Number(count))
    .reduce((sum, count) => sum + count, 0);
}
