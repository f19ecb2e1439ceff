/** The compose file: by structure, and by running what it runs, with its commands and its environment, as processes. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { listSettings } from '../../src/config/settings.js';
import { startSimulator } from '../../src/simulator/simulator.js';
import { ask, REPORT } from '../support/ask.js';
import { type Gateway, launchCli, planeOf, ROOT, startGateway } from '../support/processes.js';
import { startPrometheus } from '../support/prometheus.js';
import { freePort, startRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { type Compose, FOLDER, readCompose, readExample, type Service } from './compose.js';

const GATEWAYS = ['gateway-a', 'gateway-b'] as const;
const INSTALL_MS = 300_000;
const yaml = async <T>(name: string) => parse(await readFile(join(FOLDER, name), 'utf8')) as T;

let compose: Compose;
let example: Awaited<ReturnType<typeof readExample>>;
beforeAll(async () => {
  compose = await readCompose();
  example = await readExample();
});

const service = (name: string) => compose.services[name] as Service;

describe('the compose file', () => {
  it('starts what it says, and opens nothing beyond the loopback', () => {
    const others = ['simulator', 'redis', 'prometheus', 'grafana'];
    expect(Object.keys(compose.services)).toEqual([...GATEWAYS, ...others]);
    const ports = Object.values(compose.services).flatMap(({ ports = [] }) => ports);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    const onHost = ports.map((port) => port.split(':')[1]);
    expect(new Set(onHost).size).toBe(onHost.length);
  });

  it('waits for services that there are, and mounts files and volumes that there are', () => {
    for (const [name, { depends_on = [], volumes = [] }] of Object.entries(compose.services)) {
      const awaited = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on);
      expect([name, awaited.filter((one) => compose.services[one] === undefined)]).toEqual([name, []]);
      const sources = volumes.map((volume) => volume.split(':')[0] as string);
      const isThere = (source: string) =>
        source.startsWith('.') ? existsSync(join(FOLDER, source)) : source in compose.volumes;
      expect([name, sources.filter((source) => !isThere(source))]).toEqual([name, []]);
    }
  });

  it('builds this image, and names images by version', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(join(FOLDER, service('gateway-a').build?.context ?? '', '/')).toBe(ROOT);
    for (const name of [...GATEWAYS, 'simulator']) expect(service(name).image).toBe(`dsp-gateway:${version}`);
    for (const { image } of Object.values(compose.services)) expect(image).toMatch(/:v?\d/);
  });

  it('sets what the gateway reads, and no secret', () => {
    const settings = listSettings();
    for (const name of GATEWAYS) {
      const names = Object.keys(service(name).environment ?? {});
      const known = settings.filter(({ env }) => names.includes(env ?? ''));
      expect(known.map(({ env }) => env).toSorted()).toEqual(names.toSorted());
      expect(join(FOLDER, service(name).env_file ?? '')).toBe(join(ROOT, '.env'));
    }
  });

  it('gives Prometheus the alerts and Grafana the dashboard, from the files of the chart', async () => {
    const target = (name: string, file: string) =>
      service(name)
        .volumes?.map((volume) => volume.split(':'))
        .find(([source = '']) => join(FOLDER, source) === join(ROOT, file))?.[1];
    const { rule_files } = await yaml<{ rule_files: string[] }>('prometheus.yaml');
    expect([target('prometheus', 'helm/files/rules.yaml')]).toEqual(rule_files);
    const { providers } = await yaml<{ providers: { options: { path: string } }[] }>(
      'grafana-dashboards.yaml',
    );
    const dashboard = target('grafana', 'helm/files/dashboard.json');
    expect(dashboard).toContain(`${providers[0]?.options.path}/`);
    expect(service('grafana').environment?.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH).toBe(dashboard);
    const { datasources } = await yaml<{ datasources: { url: string }[] }>('grafana-datasource.yaml');
    expect(datasources.map(({ url }) => url)).toEqual(['http://prometheus:9090']);
  });
});

describe('.env.example', () => {
  it('names settings that there are, each explained, and no secret but what the simulator makes public', async () => {
    const settings = listSettings();
    const named = [...example.text.matchAll(/^#?([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => ({
      name,
      value,
      setting: settings.find(({ env }) => env === name),
    }));
    expect(named.filter(({ setting }) => setting === undefined)).toEqual([]);
    const kept = named.filter(({ setting, value }) => setting?.secret === true && value !== '');
    const simulator = await startSimulator();
    await simulator.close();
    // An address without a password is none.
    const shown = kept.filter(({ name }) => name !== 'REDIS_URL');
    expect(shown.map(({ name, value }) => [name, value])).toEqual([['PLATFORM_TOKEN', simulator.token]]);
    const names = named.map(({ name }) => name);
    for (const needed of ['GATEWAY_MASTER_KEY', 'ADMIN_TOKEN', 'PLATFORM_BASE_URL', 'PLATFORM_USERNAME'])
      expect(names).toContain(needed);
  });
});

describe('what it runs', () => {
  let gateways: readonly Gateway[];
  let metrics: readonly string[];

  beforeAll(async () => {
    const redisArgs = service('redis').command?.slice(1) ?? [];
    const redis = await startRedis({ args: redisArgs });
    const simulatorPort = await freePort();
    const command = service('simulator').command ?? [];
    const args = command.map((arg) => (arg === '9090' ? String(simulatorPort) : arg));
    const simulator = launchCli(args.map((arg) => (arg === '0.0.0.0' ? '127.0.0.1' : arg)));
    await waitFor('the simulator', () => simulator.stdout.includes('Ctrl-C stops it.'), simulator);
    const secrets = {
      GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
      ADMIN_TOKEN: randomBytes(24).toString('hex'),
    };
    /** Hosts of the network of containers, and ports that may be taken here; all else as it stands. */
    const here = async (name: string): Promise<Record<string, string>> => {
      const { environment = {} } = service(name);
      const hosts: Record<string, string> = {
        'redis:6379': `127.0.0.1:${redis.port}`,
        'simulator:9090': `127.0.0.1:${simulatorPort}`,
        '0.0.0.0': '127.0.0.1',
      };
      const all = Object.entries({ ...example.env, ...secrets, ...environment }).map(([key, value]) => [
        key,
        Object.entries(hosts).reduce((text, [host, by]) => text.replace(host, by), value),
      ]);
      return { ...Object.fromEntries(all), METRICS_PORT: String(await freePort()) };
    };
    gateways = await Promise.all(GATEWAYS.map(async (name) => startGateway(await here(name))));
    metrics = await Promise.all(
      gateways.map((one) => waitFor('the metrics', () => planeOf(one, 'metrics'), one)),
    );
    return () => redis.close();
  }, INSTALL_MS);

  it('is two gateways that share what one has fetched, behind the simulator', async () => {
    const [a, b] = gateways as [Gateway, Gateway];
    const post = (path: string, json: object) =>
      ask(`${a.admin}/admin/v1/${path}`, { method: 'POST', bearer: a.adminToken, json });
    expect((await post('teams', { id: 'growth', advertisers: [1, 2, 3] })).status).toBe(201);
    const { key } = (await post('teams/growth/keys', {})).json<{ key: string }>();
    const query = `${REPORT}?advertiserId=1&byDate=1&_period=last_7_days`;
    // On a busy machine Redis may answer too late for a question: it is then asked for without, and nothing is kept.
    const first = await waitFor('an answer with the store', async () => {
      const answer = await ask(a.data + query, { key });
      return answer.headers['cache-status']?.includes('detail=degraded') ? null : answer;
    });
    expect([first.status, first.headers['cache-status']]).toEqual([200, expect.stringContaining('stored')]);
    // It knows of the key within a second.
    const second = await waitFor('the key on the other gateway', async () => {
      const answer = await ask(b.data + query, { key });
      return answer.status === 401 ? null : answer;
    });
    expect([second.status, second.headers['cache-status']]).toEqual([
      200,
      expect.stringContaining('detail=store'),
    ]);
    expect(second.json<{ data: object }>().data).toEqual(first.json<{ data: object }>().data);
  });

  it('is scraped by Prometheus with its configuration, alerts included', {
    timeout: INSTALL_MS,
  }, async () => {
    const config = await yaml<{
      global: object;
      scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[];
    }>('prometheus.yaml');
    const [jobs] = config.scrape_configs;
    const targets = jobs?.static_configs.flatMap((one) => one.targets);
    const { METRICS_PORT } = service('gateway-a').environment ?? {};
    expect(targets).toEqual(GATEWAYS.map((name) => `${name}:${METRICS_PORT}`));
    const hosts = metrics.map((url) => new URL(url).host);
    const prometheus = await startPrometheus({
      ...config,
      global: { ...config.global, scrape_interval: '500ms', scrape_timeout: '500ms' },
      rule_files: [join(ROOT, 'helm', 'files', 'rules.yaml')],
      scrape_configs: [{ ...jobs, static_configs: [{ targets: hosts }] }],
    });
    await expect
      .poll(async () => (await prometheus.query('up == 1')).map(({ metric }) => metric.instance).toSorted())
      .toEqual(hosts.toSorted());
    const rules = (await (await fetch(`${prometheus.url}/api/v1/rules`)).json()) as {
      data: { groups: { rules: object[] }[] };
    };
    expect(rules.data.groups[0]?.rules.length).toBeGreaterThan(20);
  });
});
