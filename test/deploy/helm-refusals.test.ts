/** Values that cannot work are refused when the chart is rendered, in words that say what to do. */
import { beforeAll, expect, it } from 'vitest';
import { type Example, readValues, template, without } from './chart.js';
import { findHelm } from './helm.js';

beforeAll(async () => {
  await findHelm();
}, 300_000);

const refusal = (message: string) => ({ code: 1, stdout: '', stderr: expect.stringContaining(message) });

const LONE = 'needs Redis, for the embedded store belongs to one pod';

it.each<[string, Example, string[], string]>([
  ['two pods on one folder', 'embedded', ['replicas=2'], `replicas is 2, which ${LONE}`],
  [
    'two processes on one folder',
    'embedded',
    ['config.server.workers=2'],
    'config.server.workers is 2, which needs Redis, for the embedded store belongs to one process',
  ],
  ['autoscaling on one folder', 'embedded', ['autoscaling.enabled=true'], `autoscaling.enabled ${LONE}`],
  ['Redis twice', 'sentinel', ['secrets.REDIS_URL.name=x'], 'secrets.REDIS_URL, config.redis.sentinels'],
  ['a registry without Redis', 'embedded', ['secrets.REDIS_REGISTRY_URL.name=x'], 'REDIS_REGISTRY_URL goes'],
  ['a password for an address', 'redis', ['secrets.REDIS_PASSWORD.name=x'], 'REDIS_PASSWORD goes with'],
  ['a monitor of nothing', 'embedded', ['metrics.serviceMonitor.enabled=true'], 'needs metrics.enabled'],
  ['alerts on nothing', 'embedded', ['metrics.prometheusRule.enabled=true'], 'needs metrics.enabled'],
  ['a dashboard of nothing', 'embedded', ['metrics.dashboard.enabled=true'], 'needs metrics.enabled'],
  ['an ingress for no host', 'redis', ['ingress.enabled=true'], 'needs at least one of ingress.hosts'],
  ['a scale upside down', 'everything', ['autoscaling.minReplicas=10'], 'minReplicas is 10, above'],
])('values that do not fit together: %s', async (_name, example, sets, message) => {
  expect(await template(await readValues(example), sets)).toEqual(refusal(message));
});

/** Helm 3 and 4 word it differently, and both name the place. */
const MISFIT = "values don't meet the specifications of the schema";

it.each<[string, Example, string, string]>([
  ['a value nobody knows', 'redis', 'replicaCount=2', 'replicaCount'],
  ['a secret in the open', 'redis', 'config.platform.token=a', 'token'],
  ['a secret without a name', 'redis', 'secrets.PLATFORM_TOKEN.key=x', 'name'],
  ['a setting out of range', 'redis', 'config.report.restatementDays=400', 'restatementDays'],
  ['a proxy with a password', 'redis', 'outbound.httpsProxy=http://a:b@proxy:1', 'httpsProxy'],
])('values of another form: %s', async (_name, example, set, place) => {
  const { code, stdout, stderr } = await template(await readValues(example), [set]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(MISFIT);
  expect(stderr).toMatch(new RegExp(`\\b${place}\\b`));
});

it.each<[Example, string, string]>([
  ['embedded', 'config', 'platform'],
  ['embedded', 'config.platform.baseUrl', 'baseUrl'],
  ['redis', 'secrets.GATEWAY_MASTER_KEY', 'secrets.GATEWAY_MASTER_KEY is missing'],
  ['sentinel', 'secrets.ADMIN_TOKEN', 'secrets.ADMIN_TOKEN is missing'],
  ['redis', 'secrets.PLATFORM_PASSWORD', 'secrets.PLATFORM_PASSWORD is missing'],
])('values that are not whole: %s without %s', async (example, place, message) => {
  expect(await template(without(await readValues(example), place))).toEqual(refusal(message));
});
