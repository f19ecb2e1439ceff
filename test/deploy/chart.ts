/** The chart: its example values, what helm makes of them, and what must hold between the objects it makes. */
import { cp, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { ROOT } from '../support/processes.js';
import { findHelm, type Output, run } from './helm.js';

export const CHART = join(ROOT, 'helm');
export const EXAMPLES = ['embedded', 'redis', 'sentinel', 'everything'] as const;
export type Example = (typeof EXAMPLES)[number];
export type Values = Readonly<Record<string, unknown>>;
export type Labels = Readonly<Record<string, string>>;

export interface Container {
  readonly image: string;
  readonly securityContext: object;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly startupProbe: { readonly httpGet: object };
  readonly livenessProbe: { readonly httpGet: object };
  readonly readinessProbe: { readonly httpGet: object };
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly resources: object;
  readonly volumeMounts: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly?: boolean;
  }[];
}

export interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string };
  readonly projected?: {
    readonly sources: readonly {
      readonly secret: { readonly name: string; readonly items: readonly { readonly path: string }[] };
    }[];
  };
}

export interface PodSpec {
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: object;
  readonly containers: readonly Container[];
  readonly volumes: readonly Volume[];
  readonly topologySpreadConstraints: readonly { readonly labelSelector: Selector }[];
}

export interface Selector {
  readonly matchLabels: Labels;
}

/** What each kind holds, as far as it is read here. */
interface Kinds {
  Deployment: {
    readonly spec: {
      readonly replicas?: number;
      readonly strategy: object;
      readonly selector: Selector;
      readonly template: {
        readonly metadata: { readonly labels: Labels; readonly annotations: Labels };
        readonly spec: PodSpec;
      };
    };
  };
  Service: {
    readonly spec: {
      readonly selector: Labels;
      readonly ports: readonly { readonly port: number; readonly targetPort: string }[];
    };
  };
  ConfigMap: { readonly data: { readonly 'config.yaml': string; readonly 'dsp-gateway.json'?: string } };
  PrometheusRule: { readonly spec: object };
  PersistentVolumeClaim: { readonly spec: { readonly accessModes: readonly string[] } };
  NetworkPolicy: {
    readonly spec: {
      readonly podSelector: Selector;
      readonly policyTypes: readonly string[];
      readonly ingress: readonly object[];
    };
  };
  HorizontalPodAutoscaler: {
    readonly spec: {
      readonly minReplicas: number;
      readonly maxReplicas: number;
      readonly scaleTargetRef: { readonly name: string };
    };
  };
  PodDisruptionBudget: { readonly spec: { readonly selector: Selector } };
  ServiceMonitor: { readonly spec: { readonly selector: Selector } };
  Ingress: {
    readonly spec: {
      readonly rules: readonly {
        readonly http: {
          readonly paths: readonly { readonly backend: { readonly service: { readonly name: string } } }[];
        };
      }[];
    };
  };
  ServiceAccount: { readonly automountServiceAccountToken: boolean };
  Pod: { readonly spec: PodSpec };
}
export type Kind = keyof Kinds;

interface Named {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Labels; readonly annotations?: Labels };
}

/** Objects as helm rendered them. */
export interface Objects {
  readonly all: readonly Named[];
  /** Every object of a kind. */
  of<K extends Kind>(kind: K): readonly (Named & Kinds[K])[];
  /** The one object of a kind whose name ends so. @throws when there is none, or more than one */
  one<K extends Kind>(kind: K, suffix?: string): Named & Kinds[K];
}

export const valuesFile = (example: Example): string => join(CHART, 'ci', `${example}.yaml`);

export async function readValues(example: Example): Promise<Values> {
  return parse(await readFile(valuesFile(example), 'utf8')) as Values;
}

/** @param place the one member to leave out, e.g. `secrets.ADMIN_TOKEN` */
export function without(values: Values, place: string): Values {
  const [name = '', ...rest] = place.split('.');
  const { [name]: left, ...others } = values;
  return rest.length === 0 ? others : { ...others, [name]: without(left as Values, rest.join('.')) };
}

/**
 * Renders the chart as release `gw` in the namespace `dsp`.
 * @param sets as `--set` takes them
 */
export async function template(
  values: Values,
  sets: readonly string[] = [],
  chart: string = CHART,
): Promise<Output> {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-values-'));
  try {
    const file = join(folder, 'values.json');
    await writeFile(file, JSON.stringify(values));
    const changes = sets.flatMap((set) => ['--set', set]);
    const release = ['template', 'gw', chart, '--namespace', 'dsp', '--values', file];
    return await run(await findHelm(), [...release, ...changes]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * What the notes say. Helm shows them only when it installs, which takes a cluster; so in a copy of the chart they
 * become a member of a manifest.
 */
export async function renderNotes(values: Values): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-chart-'));
  try {
    await cp(CHART, folder, { recursive: true });
    await rename(join(folder, 'templates', 'NOTES.txt'), join(folder, 'notes'));
    const probe = 'notes: {{ tpl (.Files.Get "notes") . | quote }}\n';
    await writeFile(join(folder, 'templates', 'notes.yaml'), probe);
    const { code, stdout, stderr } = await template(values, [], folder);
    if (code !== 0) throw new Error(stderr);
    const documents = parseAllDocuments(stdout).map((document) => document.toJS() as { notes?: string });
    return documents.find(({ notes }) => notes !== undefined)?.notes as string;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** @throws with helm's own words when it does not render */
export async function render(values: Values, sets: readonly string[] = []): Promise<Objects> {
  const { code, stdout, stderr } = await template(values, sets);
  if (code !== 0) throw new Error(stderr);
  const all = parseAllDocuments(stdout).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS() as Named;
  });
  const of = <K extends Kind>(kind: K) =>
    all.filter((object): object is Named & Kinds[K] => object.kind === kind);
  return {
    all,
    of,
    one(kind, suffix = '') {
      const found = of(kind).filter(({ metadata }) => metadata.name === `gw-dsp-gateway${suffix}`);
      const [object] = found;
      if (object === undefined || found.length > 1)
        throw new Error(`there are ${found.length} of ${kind} ${suffix}`);
      return object;
    },
  };
}

export const podOf = (objects: Objects) => objects.one('Deployment').spec.template;
export const containerOf = (objects: Objects): Container => podOf(objects).spec.containers[0] as Container;

/** The settings in the ConfigMap. */
export const configOf = (objects: Objects): Record<string, unknown> =>
  parse(objects.one('ConfigMap').data['config.yaml']) as Record<string, unknown>;

/** What points nowhere: selectors that miss the pods, ports and volumes that are not there, names twice. */
export function looseEnds(objects: Objects): string[] {
  const { metadata, spec } = podOf(objects);
  const { ports, volumeMounts } = containerOf(objects);
  const hits = (selector: Labels, labels: Labels = metadata.labels) =>
    Object.entries(selector).every(([name, value]) => labels[name] === value);
  const own = objects.one('Deployment').spec.selector.matchLabels;
  const names = objects.all.map(({ kind, metadata: { name } }) => `${kind}/${name}`);
  const services = objects.of('Service');
  const selectors: Labels[] = [
    own,
    ...services.map((service) => service.spec.selector),
    ...objects.of('PodDisruptionBudget').map((budget) => budget.spec.selector.matchLabels),
    ...objects.of('NetworkPolicy').map((policy) => policy.spec.podSelector.matchLabels),
  ];
  const monitored = objects.of('ServiceMonitor').map((monitor) => monitor.spec.selector.matchLabels);
  const targets = services.flatMap((service) => service.spec.ports.map(({ targetPort }) => targetPort));
  const referred = [
    ...spec.volumes.flatMap(({ configMap }) =>
      configMap === undefined ? [] : [`ConfigMap/${configMap.name}`],
    ),
    ...objects.of('HorizontalPodAutoscaler').map((scaler) => `Deployment/${scaler.spec.scaleTargetRef.name}`),
    ...objects
      .of('Ingress')
      .flatMap((ingress) => ingress.spec.rules)
      .flatMap(({ http }) => http.paths.map(({ backend }) => `Service/${backend.service.name}`)),
  ];
  const volumes = spec.volumes.map(({ name }) => name);
  const mounted = volumeMounts.map(({ name }) => name);
  return [
    ...names.filter((name, index) => names.indexOf(name) !== index),
    ...selectors.filter((selector) => !hits(selector)).map((selector) => JSON.stringify(selector)),
    ...monitored
      .filter((selector) => services.filter((one) => hits(selector, one.metadata.labels)).length !== 1)
      .map((selector) => JSON.stringify(selector)),
    ...targets.filter((target) => !ports.some(({ name }) => name === target)),
    // The ConfigMap of the company's certificates is not the chart's own.
    ...referred.filter((name) => !names.includes(name) && name !== 'ConfigMap/company-ca'),
    ...mounted.filter((name) => !volumes.includes(name)),
    ...volumes.filter((name) => !mounted.includes(name)),
    ...(hits(own, objects.one('Pod', '-ready').metadata.labels) ? ['the test pod would get traffic'] : []),
  ];
}
