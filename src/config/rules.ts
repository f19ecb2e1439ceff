/** Rules beyond the types of the schema: settings that depend on each other, and the format of strings. */
import type { ConfigValues } from './schema.js';
import { ruleOf, type Secret, TOKEN_REQUEST } from './secret.js';
import { at, listSettings, type SchemaNode, type Tree } from './settings.js';
import { signInFaults } from './sign-in-settings.js';

/** The process's environment, passed in by the command line. */
export type Environment = Readonly<Record<string, string | undefined>>;

type Secrets = ReadonlyMap<string, Secret>;

/** @returns one line per fault, in the form `NAME: was …; allowed is …`. */
export function checkRules(values: ConfigValues, secrets: Secrets, env: Environment): string[] {
  return [
    ...nameFaults(values),
    ...textFaults(values),
    ...portFaults(values.server),
    ...tokenRequestFaults(secrets),
    ...storeFaults(values, secrets),
    ...secretFaults(secrets),
    ...signInFaults(values.auth),
    ...(values.testClock && env.NODE_ENV === 'production'
      ? ['GATEWAY_TEST_CLOCK: was 1; allowed is 0 when NODE_ENV is production']
      : []),
  ];
}

/** JSON Schema accepts names that match no pattern of a map; here they are errors. */
function nameFaults(values: ConfigValues): string[] {
  return listSettings().flatMap(({ path, schema }) => {
    const [pattern] = Object.keys(schema.patternProperties ?? {});
    if (pattern === undefined) return [];
    return Object.keys(at(values, path) as Tree)
      .filter((name) => !new RegExp(pattern).test(name))
      .map((name) => `${path}.${name}: was set; allowed is a name that matches ${pattern}`);
  });
}

function textFaults(values: ConfigValues): string[] {
  return listSettings().flatMap(({ path, schema, env }) => {
    const value = at(values, path);
    const member = schema.items ?? Object.values(schema.patternProperties ?? {})[0];
    if (member === undefined) return textFault(env ?? path, value, schema);
    return Object.entries(value as Tree).flatMap(([name, one]) => textFault(`${path}.${name}`, one, member));
  });
}

function textFault(name: string, value: unknown, { is, show, allowed }: SchemaNode): string[] {
  if (typeof value !== 'string' || is === undefined || is(value)) return [];
  return [`${name}: was ${(show ?? JSON.stringify)(value)}; allowed is ${allowed}`];
}

function portFaults({ port, adminPort, metricsPort }: ConfigValues['server']): string[] {
  const named: [string, number | undefined][] = [
    ['PORT', port],
    ['ADMIN_PORT', adminPort],
    ['METRICS_PORT', metricsPort],
  ];
  return named.flatMap(([name, value], index) => {
    const same = named.slice(0, index).find(([, other]) => other === value);
    return value === undefined || value === 0 || same === undefined
      ? []
      : [`${name}: was ${value}, the same as ${same[0]}; allowed is a different port, or 0 for any free one`];
  });
}

function tokenRequestFaults(secrets: Secrets): string[] {
  if (!TOKEN_REQUEST.some((name) => secrets.has(name))) return [];
  return TOKEN_REQUEST.filter((name) => !secrets.has(name)).map(
    (name) =>
      `${name}: was not set; allowed is a value: the token request requires all of ${TOKEN_REQUEST.join(', ')}`,
  );
}

/** Secrets that replicas share, each with the command that generates one. */
const NEEDED_WITH_REDIS = [
  ['GATEWAY_MASTER_KEY', 'openssl rand -base64 32'],
  ['ADMIN_TOKEN', 'openssl rand -hex 24'],
] as const;

function storeFaults(values: ConfigValues, secrets: Secrets): string[] {
  const faults: string[] = [];
  const forms = [
    secrets.has('REDIS_URL') ? 'REDIS_URL' : '',
    values.redis.sentinels.length > 0 ? 'redis.sentinels' : '',
    values.redis.cluster.length > 0 ? 'redis.cluster' : '',
  ].filter((form) => form !== '');
  if (forms.length > 1)
    faults.push(`${forms[1]}: was set together with ${forms[0]}; allowed is one form of Redis`);
  const shared = forms.length > 0;
  const { workers } = values.server;
  if (!shared && workers > 1)
    faults.push(
      `WORKERS: was ${workers}; allowed without REDIS_URL is 1: set REDIS_URL to run more than one process.`,
    );
  if (!shared && secrets.has('REDIS_REGISTRY_URL')) {
    faults.push('REDIS_REGISTRY_URL: was set; allowed is only together with REDIS_URL');
  }
  for (const [name, made] of NEEDED_WITH_REDIS) {
    if (shared && !secrets.has(name))
      faults.push(
        `${name}: was not set; allowed with Redis is a value shared by all replicas (generate one: ${made})`,
      );
  }
  if (secrets.has('REDIS_PASSWORD') && !forms.some((form) => form.startsWith('redis.'))) {
    faults.push(
      'REDIS_PASSWORD: was set; allowed is only with redis.sentinels or redis.cluster (REDIS_URL includes its own)',
    );
  }
  return faults;
}

function secretFaults(secrets: Secrets): string[] {
  return [...secrets.values()].flatMap((secret) =>
    ruleOf(secret.name)(secret.read()).map(
      ({ was, allowed }) =>
        `${secret.name}: was ${was}${secret.path === undefined ? '' : ` in ${secret.path}`}; allowed is ${allowed}`,
    ),
  );
}
