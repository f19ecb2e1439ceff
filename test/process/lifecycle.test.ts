/** Contract, section 1: starting, stopping, and who may hold a data folder. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, it } from 'vitest';
import { ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import {
  launch,
  launchGateway,
  logLines,
  type Platform,
  type Process,
  planeOf,
  startGateway,
  startPlatform,
  tempFolder,
} from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

const YESTERDAY = `${REPORT}?advertiserId=1&byDate=1&_period=yesterday`;

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
});

describe.concurrent('a start', () => {
  it('is ready on three ports, and holds its data folder until it crashes; then one of two has it', async ({
    expect,
  }) => {
    const gateway = await startGateway({ ...platform.env, METRICS_PORT: '0' });
    const metrics = planeOf(gateway, 'metrics');
    for (const url of [gateway.data, gateway.admin, metrics]) {
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/);
      expect((await ask(`${url}/healthz`)).status).toBe(200);
      const ready = await ask(`${url}/readyz`);
      expect(ready.status).toBe(200);
      const conditions = { store: 'ok', credential: 'unproven', platform: 'ok' };
      expect(ready.json()).toEqual({ ready: true, ...conditions, worst: conditions });
    }
    // The scraped port shows metrics, and nothing of the admin plane.
    const text = await ask(`${metrics}/metrics`);
    expect(text.status).toBe(200);
    expect(text.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text.text).toContain('dsp_gateway_requests_total');
    expect((await ask(`${gateway.admin}/metrics`)).text).toContain('dsp_gateway_requests_total');
    expect((await ask(`${gateway.data}/metrics`)).status).toBe(404);
    for (const path of ['/admin/v1/status', '/admin/v1/teams', '/openapi.json', '/docs', '/']) {
      expect((await ask(metrics + path, { bearer: gateway.adminToken })).status).toBe(404);
    }
    // The path of the admin token is printed once.
    expect(gateway.stderr.match(/The admin token is in /g)).toHaveLength(1);

    await gateway.end('SIGKILL');
    const starts = await Promise.all(
      [1, 2].map(() => launchGateway({ ...platform.env, GATEWAY_DATA_DIR: gateway.dataDir })),
    );
    const refused = await Promise.race(starts.map((start) => start.exited.then(() => start)));
    expect((await refused.exited).code).toBe(78);
    const winner = starts.find((start) => start !== refused) as Process;
    expect(refused.stderr.trimEnd().split('\n')).toHaveLength(1);
    for (const part of [gateway.dataDir, String(winner.pid)]) expect(refused.stderr).toContain(part);
    const data = await waitFor('the one that listens', () => planeOf(winner, 'data'), winner);
    expect((await ask(`${data}/readyz`)).status).toBe(200);
    expect(await winner.end('SIGINT')).toEqual({ code: 0, signal: null });
  });

  it('by `npm start` has the exit code of the gateway', async ({ expect }) => {
    const refused = launch('npm', ['start'], { PORT: '0' });
    expect((await refused.exited).code).toBe(78);
    expect(refused.stderr).toContain('PLATFORM_BASE_URL: was not set; allowed is ');
  });
});

describe.concurrent('a stop', () => {
  it('by SIGTERM turns readiness to 503, finishes what is under way, and ends with 0', async ({ expect }) => {
    const slow = await startPlatform({ switches: { latencyMs: 800 } });
    const gateway = await startGateway(slow.env);
    const { key } = await newTeam(gateway, { id: 'draining' });
    const sim = simulatorOf(slow.url);
    const answers = [
      ask(gateway.data + YESTERDAY, { key }),
      ask(`${gateway.data}/api/v1/campaign/1`, { key }),
    ];
    await waitFor('both platform calls', async () => (await sim.calls()).length === 2);
    gateway.signal('SIGTERM');
    const ready = await waitFor('a readiness that says no', async () => {
      const answer = await ask(`${gateway.data}/readyz`);
      return answer.status === 503 && answer;
    });
    expect(ready.json()).toMatchObject({ ready: false });
    // Alive still: it must not be killed while it finishes.
    expect((await ask(`${gateway.data}/healthz`)).status).toBe(200);
    const [report, passed] = await Promise.all(answers);
    expect(report?.status).toBe(200);
    expect(report?.json<{ data: unknown[] }>().data).toHaveLength(1);
    expect(passed?.status).toBe(404);
    expect(passed?.json()).toEqual({ message: expect.stringContaining('Campaign') });
    expect(await gateway.exited).toEqual({ code: 0, signal: null });
    await expect(ask(`${gateway.data}/healthz`)).rejects.toThrow('ECONNREFUSED');
    // Every request has its line: nothing of the log is lost on the way out.
    const paths = logLines(gateway)
      .filter(({ msg }) => msg === 'request')
      .map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining([REPORT, '/api/v1/campaign/1', '/readyz', '/healthz']));
  });

  it('ends the events of readers of the feed of changes, who would wait for a minute', async ({ expect }) => {
    const gateway = await startGateway(platform.env);
    const { key } = await newTeam(gateway, { id: 'readers' });
    const target = `${gateway.data}/gateway/v1/changes?offset=now&live=sse`;
    const events = await fetch(target, { headers: { 'x-api-key': key } });
    gateway.signal('SIGTERM');
    expect(await events.text()).toMatch(/^event: control\ndata:\{.*"upToDate":true\}\n\n$/);
    expect(await gateway.exited).toEqual({ code: 0, signal: null });
  });

  it('takes no longer than it was told, whatever the platform does', async ({ expect }) => {
    const hanging = await startPlatform();
    const yaml = join(await tempFolder(), 'gateway.yaml');
    await writeFile(yaml, 'server: { drainSeconds: 1 }\nplatform: { timeoutMs: 600000 }\n');
    const gateway = await startGateway({ ...hanging.env, GATEWAY_CONFIG: yaml });
    const { key } = await newTeam(gateway, { id: 'hanging' });
    const sim = simulatorOf(hanging.url);
    await sim.fault({ kind: 'hang', times: 0 });
    const answer = ask(gateway.data + YESTERDAY, { key }).catch((error: Error) => error);
    await waitFor('the platform call', async () => (await sim.calls()).length > 0, gateway);
    const startedAt = performance.now();
    expect(await gateway.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    expect(await answer).toBeInstanceOf(Error);
  });

  it('by Ctrl-C at `npm start` finishes what is under way', async ({ expect }) => {
    const slow = await startPlatform({ switches: { latencyMs: 800 } });
    const adminToken = 'an-admin-token-for-tests';
    const npm = launch('npm', ['start'], {
      ...slow.env,
      HOST: '127.0.0.1',
      PORT: '0',
      ADMIN_PORT: '0',
      ADMIN_TOKEN: adminToken,
      GATEWAY_DATA_DIR: join(await tempFolder(), 'data'),
    });
    const data = await waitFor('the data plane', () => planeOf(npm, 'data'), npm);
    const { key } = await newTeam({ admin: planeOf(npm, 'admin') ?? '', adminToken }, { id: 'patient' });
    const answer = ask(data + YESTERDAY, { key });
    await waitFor('the platform call', async () => (await simulatorOf(slow.url).calls()).length === 1);
    // As a terminal does it: to every process of the group, so that the gateway has it twice.
    process.kill(-npm.pid, 'SIGINT');
    expect((await answer).status).toBe(200);
    await npm.exited;
    expect(logLines(npm).at(-1)?.msg).toBe('stopped');
  });
});
