/** With several workers every plane tells the worst of all of them, also when the store they share is lost. */
import { expect, it } from 'vitest';
import { admin, ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { dataPidsOf, openRedisScene } from '../support/on-redis.js';
import { type Gateway, planeOf, startGateway } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

interface Conditions {
  readonly store: string;
  readonly credential: string;
  readonly platform: string;
}
type Ready = Conditions & { readonly ready: boolean; readonly worst: Conditions };
interface Process extends Conditions {
  readonly pid: number;
  readonly l1Entries: number;
}
interface Status {
  readonly replicas: number;
  readonly worst: Conditions;
  readonly cache: { readonly l1Bytes: number; readonly l1Entries: number };
  readonly processes: readonly Process[];
}

const readyOf = async (url: string) => (await ask(`${url}/readyz`)).json<Ready>();
const statusOf = (gateway: Gateway) => admin<Status>(gateway, 'GET', '/status');

it('tells of a refused token on every plane, adds up what workers hold, and goes on without the store', async () => {
  const { platform, redis, env } = await openRedisScene({ WORKERS: '2', METRICS_PORT: '0' });
  const gateway = await startGateway(env);
  const workers = () => dataPidsOf(gateway);
  await waitFor('two workers', () => workers().length === 2, gateway);
  const { key } = await newTeam(gateway, { id: 'many' });
  const report = (advertiser: number) =>
    ask(`${gateway.data}${REPORT}?advertiserId=${advertiser}&_period=last_7_days`, {
      key,
      headers: { connection: 'close' },
    });
  await waitFor('the key on both', async () => {
    const answers = await Promise.all([report(1), report(1), report(1), report(1)]);
    return answers.every(({ status }) => status === 200);
  });
  const planes = [gateway.data, gateway.admin, String(planeOf(gateway, 'metrics'))];
  for (const url of planes)
    await waitFor('an accepted token', async () => (await readyOf(url)).worst.credential === 'ok', gateway);
  // The admin plane's process serves no reports, and has no bodies of its own.
  const full = await waitFor('bodies of the workers', async () => {
    const status = await statusOf(gateway);
    return status.cache.l1Entries > 0 && status.processes.length === 3 && status;
  });
  expect(full.cache.l1Bytes).toBeGreaterThan(0);
  expect(full.processes.map(({ pid }) => pid)).toEqual(expect.arrayContaining([gateway.pid, ...workers()]));

  await simulatorOf(platform.url).revoke();
  expect((await report(2)).status).toBe(503);
  for (const url of planes) {
    const ready = await waitFor('a refused token', async () => {
      const seen = await readyOf(url);
      return seen.worst.credential === 'refused' && seen;
    });
    expect(ready.ready).toBe(true);
  }
  expect((await statusOf(gateway)).worst).toMatchObject({ credential: 'refused', store: 'ok' });
  await waitFor('every process to know', async () => {
    const { processes } = await statusOf(gateway);
    return processes.every(({ credential }) => credential === 'refused');
  });

  // Without the store the workers are heard of over the cluster's channel.
  await redis.kill();
  for (const url of planes) {
    await waitFor('a store that is away', async () => (await readyOf(url)).worst.store === 'away', gateway);
    expect(await readyOf(url)).toMatchObject({ ready: true, worst: { credential: 'refused' } });
  }
  expect((await statusOf(gateway)).processes).toHaveLength(3);
});
