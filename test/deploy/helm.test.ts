/** Every example of the chart, rendered by the real helm and held against the gateway and its image. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { listSettings } from '../../src/config/settings.js';
import { tempFolder } from '../support/processes.js';
import {
  CHART,
  configOf,
  containerOf,
  EXAMPLES,
  type Example,
  looseEnds,
  type Objects,
  podOf,
  readValues,
  render,
  type Values,
  valuesFile,
} from './chart.js';
import { only, readDockerfile, type Stage } from './dockerfile.js';
import { findHelm, run } from './helm.js';

const OUTBOUND = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS'];
const INSTALL_MS = 300_000;

describe.each(EXAMPLES)('%s', (example) => {
  let values: Values;
  let objects: Objects;
  beforeAll(async () => {
    values = await readValues(example);
    objects = await render(values);
  }, INSTALL_MS);

  it('passes lint --strict', async () => {
    const options = ['--strict', CHART, '--values', valuesFile(example)];
    const { code, stdout, stderr } = await run(await findHelm(), ['lint', ...options]);
    expect({ code, output: stdout + stderr }).toEqual({
      code: 0,
      output: expect.stringContaining('1 chart(s) linted, 0 chart(s) failed'),
    });
  });

  it('makes what it asks for and nothing else', () => {
    const made = objects.all.map(({ kind, metadata: { name } }) => kind + name.replace('gw-dsp-gateway', ''));
    const always = [
      'ConfigMap',
      'Deployment',
      'Service',
      'ServiceAccount',
      'PodDisruptionBudget',
      'Pod-ready',
    ];
    expect(made.sort()).toEqual([...always, ...PARTS[example]].sort());
  });

  it('hangs together by labels, ports and names', () => {
    expect(looseEnds(objects)).toEqual([]);
  });

  it('is taken by the gateway as it is meant', async () => {
    const config = loadConfig({ NODE_ENV: 'production', ...(await mount(objects, await tempFolder())) });
    expect(config).toMatchObject(values.config as object);
    expect([...config.secrets.keys()].sort()).toEqual(Object.keys(values.secrets as object).sort());
    const { port, adminPort, metricsPort } = config.server;
    const listening: Record<string, number | undefined> = {
      http: port,
      admin: adminPort,
      metrics: metricsPort,
    };
    const { ports } = containerOf(objects);
    for (const { name, containerPort } of ports)
      expect([name, listening[name]]).toEqual([name, containerPort]);
    expect(ports.some(({ name }) => name === 'metrics')).toBe(metricsPort !== undefined);
  });

  it('keeps secrets in files, out of environment, ConfigMap and manifest', () => {
    const settings = listSettings();
    const known = settings.map(({ env, secret }) => (secret === true ? `${env}_FILE` : env));
    const { env } = containerOf(objects);
    const names = env.map(({ name }) => name);
    expect(names.filter((name) => ![...known, 'GATEWAY_CONFIG', ...OUTBOUND].includes(name))).toEqual([]);
    for (const variable of env) expect(Object.keys(variable)).toEqual(['name', 'value']);
    expect(objects.all.map(({ kind }) => kind)).not.toContain('Secret');
    for (const { path, secret } of settings) if (secret) expect(configOf(objects)).not.toHaveProperty(path);
  });

  it('runs without privileges, on a file system it cannot write to', async () => {
    const image = (await readDockerfile()).at(-1) as Stage;
    const [uid, gid] = only(image, 'USER').split(':').map(Number);
    for (const pod of [podOf(objects).spec, objects.one('Pod', '-ready').spec]) {
      expect(pod.automountServiceAccountToken).toBe(false);
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: uid,
        runAsGroup: gid,
        fsGroup: gid,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      for (const { securityContext } of pod.containers) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
    }
    expect(objects.one('ServiceAccount').automountServiceAccountToken).toBe(false);
    expect(podOf(objects).spec.serviceAccountName).toBe('gw-dsp-gateway');
  });

  it('is probed, drained, spread and resourced', () => {
    const { terminationGracePeriodSeconds, topologySpreadConstraints } = podOf(objects).spec;
    const { startupProbe, livenessProbe, readinessProbe, lifecycle, resources } = containerOf(objects);
    expect(startupProbe.httpGet).toEqual({ path: '/healthz', port: 'http' });
    expect(livenessProbe.httpGet).toEqual({ path: '/healthz', port: 'http' });
    expect(readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'http' });
    const [command, seconds] = lifecycle.preStop.exec.command;
    expect(command).toBe('sleep');
    const { drainSeconds = 30, workers = 1 } = (configOf(objects).server ?? {}) as Record<string, number>;
    // The supervisor of several workers drains after they have.
    const drains = drainSeconds * (workers > 1 ? 2 : 1);
    expect(terminationGracePeriodSeconds).toBeGreaterThan(Number(seconds) + drains);
    expect(resources).toMatchObject({ requests: { cpu: expect.any(String) }, limits: { memory: '1Gi' } });
    expect(topologySpreadConstraints.map(({ labelSelector }) => labelSelector)).toEqual([
      objects.one('Deployment').spec.selector,
    ]);
  });
});

/** Beside what every installation has. */
const PARTS: Readonly<Record<Example, readonly string[]>> = {
  embedded: ['PersistentVolumeClaim'],
  redis: ['Service-metrics'],
  sentinel: [],
  everything: [
    'Service-admin',
    'Service-metrics',
    'ServiceMonitor',
    'PrometheusRule',
    'ConfigMap-dashboard',
    'Ingress',
    'NetworkPolicy',
    'HorizontalPodAutoscaler',
  ],
};

/** Lays out below `folder` what the pod would see, and gives the environment with its paths turned there. */
async function mount(objects: Objects, folder: string): Promise<Record<string, string>> {
  const { volumeMounts, env } = containerOf(objects);
  for (const { name, configMap, projected } of podOf(objects).spec.volumes) {
    const place = join(folder, volumeMounts.find((one) => one.name === name)?.mountPath as string);
    await mkdir(place, { recursive: true });
    if (name === 'config' && configMap !== undefined)
      await writeFile(join(place, 'config.yaml'), objects.one('ConfigMap').data['config.yaml']);
    for (const { secret } of projected?.sources ?? [])
      for (const { path } of secret.items) await writeFile(join(place, path), secretText(path));
  }
  const inside = (value: string) => (value.startsWith('/') ? join(folder, value) : value);
  return Object.fromEntries(env.map(({ name, value }) => [name, inside(value)]));
}

function secretText(name: string): string {
  if (name === 'GATEWAY_MASTER_KEY') return Buffer.alloc(32, 7).toString('base64');
  return name.endsWith('_URL') ? 'redis://redis.example:6379' : 'a-secret-for-tests';
}
