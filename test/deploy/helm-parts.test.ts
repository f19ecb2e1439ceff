/** What the chart does for each of its parts: store, planes, changes, notes. */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../support/processes.js';
import {
  CHART,
  containerOf,
  EXAMPLES,
  type Example,
  looseEnds,
  type Objects,
  podOf,
  readValues,
  render,
  renderNotes,
  type Values,
  without,
} from './chart.js';

const INSTALL_MS = 300_000;

let values: Readonly<Record<Example, Values>>;
let objects: Readonly<Record<Example, Objects>>;
beforeAll(async () => {
  const read = async (example: Example) => [example, await readValues(example)] as const;
  values = Object.fromEntries(await Promise.all(EXAMPLES.map(read))) as typeof values;
  const made = async (example: Example) => [example, await render(values[example])] as const;
  objects = Object.fromEntries(await Promise.all(EXAMPLES.map(made))) as typeof objects;
}, INSTALL_MS);

describe('tokens of further admins', () => {
  it('are mounted where their tokenFile says, and are no setting', async () => {
    const sets = ['secrets.ADMIN_TOKEN_OPS.name=dsp-admins', 'secrets.ADMIN_TOKEN_OPS.key=ops'];
    const made = await render(values.redis, sets);
    const sources = podOf(made).spec.volumes.flatMap(({ projected }) => projected?.sources ?? []);
    expect(sources.map(({ secret }) => secret)).toContainEqual({
      name: 'dsp-admins',
      items: [{ key: 'ops', path: 'ADMIN_TOKEN_OPS' }],
    });
    const { env, volumeMounts } = containerOf(made);
    expect(volumeMounts.find(({ name }) => name === 'secrets')?.mountPath).toBe('/run/secrets/dsp-gateway');
    expect(env.filter(({ name }) => name.startsWith('ADMIN_TOKEN_OPS'))).toEqual([]);
  });

  it('have the secret of the client at the identity provider, mounted as a file', () => {
    const sources = podOf(objects.everything).spec.volumes.flatMap(
      ({ projected }) => projected?.sources ?? [],
    );
    expect(sources.map(({ secret }) => secret)).toContainEqual({
      name: 'dsp-gateway-oidc',
      items: [{ key: 'secret', path: 'OIDC_CLIENT_SECRET' }],
    });
  });

  it('have names of their own kind', async () => {
    await expect(render(values.redis, ['secrets.OPS.name=dsp-admins'])).rejects.toThrow(/OPS/);
  });
});

describe('the store', () => {
  it('embedded: one pod, replaced and never doubled, on a volume that stays', () => {
    const { replicas, strategy } = objects.embedded.one('Deployment').spec;
    expect({ replicas, strategy }).toEqual({ replicas: 1, strategy: { type: 'Recreate' } });
    const claim = objects.embedded.one('PersistentVolumeClaim');
    expect(claim.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
    expect(claim.spec.accessModes).toEqual(['ReadWriteOnce']);
    const { env, volumeMounts } = containerOf(objects.embedded);
    const dataDir = env.find(({ name }) => name === 'GATEWAY_DATA_DIR')?.value as string;
    const writable = volumeMounts.filter(({ readOnly }) => readOnly !== true);
    // Below the mount, not at it: the volume's own folder is open to the pod's group.
    expect(writable.map(({ mountPath }) => mountPath)).toEqual([dirname(dataDir)]);
  });

  it('embedded: takes a claim that exists already', async () => {
    const made = await render(values.embedded, ['persistence.existingClaim=mine']);
    expect(made.of('PersistentVolumeClaim')).toEqual([]);
    const data = { name: 'data', persistentVolumeClaim: { claimName: 'mine' } };
    expect(podOf(made).spec.volumes).toContainEqual(data);
  });

  it.each(['redis', 'sentinel', 'everything'] as const)(
    '%s: rolls without a gap, and writes nowhere',
    (name) => {
      expect(objects[name].one('Deployment').spec.strategy).toEqual({
        type: 'RollingUpdate',
        rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
      });
      const { volumeMounts } = containerOf(objects[name]);
      expect(volumeMounts.filter(({ readOnly }) => readOnly !== true)).toEqual([]);
    },
  );

  it('leaves the number of pods to the autoscaler where there is one', () => {
    expect(objects.everything.one('Deployment').spec).not.toHaveProperty('replicas');
    const { minReplicas, maxReplicas } = objects.everything.one('HorizontalPodAutoscaler').spec;
    expect([minReplicas, maxReplicas]).toEqual([3, 9]);
  });
});

describe('the planes', () => {
  it('show the data plane alone, unless told otherwise', () => {
    const { ports, env } = containerOf(objects.embedded);
    expect(ports).toEqual([{ name: 'http', containerPort: 8080 }]);
    expect(env.map(({ name }) => name)).not.toContain('ADMIN_HOST');
  });

  it('open admin and metrics by services of their own, never by the one of the data plane', () => {
    const { everything } = objects;
    expect(everything.one('Service').spec).toMatchObject({
      type: 'LoadBalancer',
      ports: [{ targetPort: 'http' }],
    });
    expect(everything.one('Service').spec.ports).toHaveLength(1);
    expect(everything.one('Service', '-admin').spec).toMatchObject({
      type: 'ClusterIP',
      ports: [{ port: 9000, targetPort: 'admin' }],
    });
    expect(everything.one('Service', '-metrics').spec).toMatchObject({ clusterIP: 'None' });
    // Where the data plane is bound by a setting, the admin plane follows it.
    expect(containerOf(everything).env).toContainEqual({ name: 'ADMIN_HOST', value: '::' });
  });

  it('let a network policy name the callers of each plane', () => {
    const [data, admin, metrics] = objects.everything.one('NetworkPolicy').spec.ingress;
    expect(data).toEqual({ ports: [{ port: 'http' }], from: [{ namespaceSelector: {} }] });
    expect(admin).toMatchObject({ from: [{ podSelector: { matchLabels: { app: 'operator' } } }] });
    expect(metrics).toMatchObject({ ports: [{ port: 'metrics' }] });
  });

  it('are open to anybody for data, and to nobody for the rest, where a policy names nobody', async () => {
    const switches = ['networkPolicy', 'adminService', 'metrics'].map((name) => `${name}.enabled=true`);
    const { ingress, policyTypes } = (await render(values.embedded, switches)).one('NetworkPolicy').spec;
    expect({ ingress, policyTypes }).toEqual({
      ingress: [{ ports: [{ port: 'http' }] }],
      policyTypes: ['Ingress'],
    });
  });
});

describe('alerts and dashboard', () => {
  it('are the files that lie beside the templates, to the letter', async () => {
    const text = (name: string) => readFile(join(CHART, 'files', name), 'utf8');
    const rule = objects.everything.one('PrometheusRule');
    expect(rule.spec).toEqual(parse(await text('rules.yaml')));
    expect(rule.metadata.labels).toMatchObject({ release: 'prometheus' });
    const dashboard = objects.everything.one('ConfigMap', '-dashboard');
    expect(dashboard.data['dsp-gateway.json']).toBe(await text('dashboard.json'));
    expect(dashboard.metadata).toMatchObject({
      labels: { grafana_dashboard: '1' },
      annotations: { grafana_folder: 'Advertising' },
    });
  });

  it('are found by labels of your own', async () => {
    const sets = ['metrics.enabled=true', 'metrics.dashboard.enabled=true'];
    const made = await render(values.embedded, [...sets, 'metrics.dashboard.labels.found_by=us']);
    expect(made.one('ConfigMap', '-dashboard').metadata.labels).toMatchObject({ found_by: 'us' });
  });
});

describe('a change', () => {
  it('of the settings starts the pods anew, one that is not of the settings does not', async () => {
    const sum = (made: Objects) => podOf(made).metadata.annotations['checksum/config'] as string;
    const before = sum(objects.redis);
    expect(before).toMatch(/^[0-9a-f]{64}$/);
    expect(sum(await render(values.redis, ['config.logLevel=debug']))).not.toBe(before);
    expect(sum(await render(values.redis, ['preStopSeconds=7']))).toBe(before);
  });

  it('of the image is none while it is named by its digest', async () => {
    const digest = `sha256:${'5e'.repeat(32)}`;
    const made = await render(values.embedded, [`image.digest=${digest}`, 'image.tag=1.2.3']);
    expect(containerOf(made).image).toBe(`dsp-gateway:1.2.3@${digest}`);
    await expect(render(values.embedded, ['image.digest=latest'])).rejects.toThrow(/image.*digest/s);
  });

  it('of the version is one of chart, image and package together', async () => {
    const chart = parse(await readFile(join(CHART, 'Chart.yaml'), 'utf8')) as object;
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(chart).toMatchObject({ version, appVersion: version });
    expect(containerOf(objects.embedded).image).toBe(`dsp-gateway:${version}`);
  });
});

it('the notes say where the admin token and the gateway are, and how to give a token where none is named', async () => {
  const rotate = '/admin/v1/token/rotate';
  const embedded = await renderNotes(values.embedded);
  expect(embedded).toContain('-- cat /data/gateway/admin.token');
  expect(embedded).not.toContain(rotate);
  expect(await renderNotes(without(values.embedded, 'secrets.PLATFORM_TOKEN'))).toContain(rotate);
  const jsonpath = "get secret dsp-gateway -o 'jsonpath={.data.admin\\.token}' | base64 -d";
  expect(await renderNotes(values.sentinel)).toContain(jsonpath);
  expect(await renderNotes(values.everything)).toContain(
    'http://gw-dsp-gateway.dsp:8080, outside https://dsp.example.',
  );
});

it('renders every combination of its switches into objects that hang together', async () => {
  const switches = {
    'adminService.enabled': fc.boolean(),
    'metrics.enabled': fc.boolean(),
    'networkPolicy.enabled': fc.boolean(),
    'podDisruptionBudget.enabled': fc.boolean(),
    'serviceAccount.create': fc.boolean(),
    'outbound.caConfigMap.name': fc.constantFrom('', 'company-ca'),
    'image.tag': fc.constantFrom('', '1.2.3'),
    preStopSeconds: fc.integer({ min: 0, max: 120 }),
  };
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...EXAMPLES.slice(0, 3)),
      fc.record(switches),
      async (example, chosen) => {
        const sets = Object.entries(chosen).map(([path, value]) => `${path}=${value}`);
        expect(looseEnds(await render(values[example], sets))).toEqual([]);
      },
    ),
    { numRuns: 6 },
  );
});
