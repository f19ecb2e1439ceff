/** What the schema cannot say: settings that depend on each other, and texts that must mean something. */
import ipaddr from 'ipaddr.js';
import type { ConfigValues } from './schema.js';
import type { Secret } from './secret.js';
import { ruleOf } from './secret-rules.js';
import { listSettings } from './settings.js';
import { TOKEN_REQUEST } from './token-request.js';

/** The process's environment, passed in by the command line. */
export type Environment = Readonly<Record<string, string | undefined>>;

type Secrets = ReadonlyMap<string, Secret>;

/** @returns one line per fault, in the form `NAME: was …; allowed is …`. */
export function checkRules(values: ConfigValues, secrets: Secrets, env: Environment): string[] {
  return [
    ...nameFaults(values),
    ...portFaults(values.server),
    ...hostFaults(values.server),
    ...baseUrlFaults(values.platform.baseUrl),
    ...collectorFaults(values.tracing),
    ...timezoneFaults(values),
    ...proxyFaults(values.server.trustedProxies),
    ...credentialFaults(values, secrets),
    ...storeFaults(values, secrets),
    ...secretFaults(secrets),
    ...patternFaults('report.accountPattern', values.report.accountPattern),
    ...(values.testClock && env.NODE_ENV === 'production'
      ? ['GATEWAY_TEST_CLOCK: was 1; allowed is 0 when NODE_ENV is production']
      : []),
  ];
}

/** JSON Schema lets names through that a map has no pattern for; here they are slips. */
function nameFaults(values: ConfigValues): string[] {
  return listSettings().flatMap(({ path, schema }) => {
    const [pattern] = Object.keys(schema.patternProperties ?? {});
    if (pattern === undefined) return [];
    const map = path.split('.').reduce<unknown>((node, name) => (node as Tree)[name], values) as Tree;
    return Object.keys(map)
      .filter((name) => !new RegExp(pattern).test(name))
      .map((name) => `${path}.${name}: was set; allowed is a name that matches ${pattern}`);
  });
}

type Tree = Readonly<Record<string, unknown>>;

function baseUrlFaults(text: string): string[] {
  // A user, a query or a fragment may hold a secret.
  const shown = text.replace(/\/\/[^/]*@/, '//…@').replace(/[?#].*$/s, (rest) => `${rest[0]}…`);
  const fault = `PLATFORM_BASE_URL: was ${JSON.stringify(shown)}; allowed is an http:// or https:// address without user, query or fragment`;
  if (!URL.canParse(text)) return [fault];
  const url = new URL(text);
  const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  return plain && (url.protocol === 'http:' || url.protocol === 'https:') ? [] : [fault];
}

/** They may hold a user and a password, and are not shown. */
function collectorFaults({ endpoint, tracesEndpoint }: ConfigValues['tracing']): string[] {
  const named = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: tracesEndpoint };
  return Object.entries(named)
    .filter(([, text]) => text !== undefined && !isWebAddress(text))
    .map(
      ([name, text]) =>
        `${name}: was an address of ${text?.length} characters; allowed is an http:// or https:// address`,
    );
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Two planes cannot listen on one port; 0 is any free one. */
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
      : [`${name}: was ${value}, as ${same[0]}; allowed is a port of its own, or 0 for any free one`];
  });
}

/** What looks like an IPv4 address has to be one; whether it is of this machine shows when listening. */
function hostFaults({ host, adminHost }: ConfigValues['server']): string[] {
  return Object.entries({ HOST: host, ADMIN_HOST: adminHost })
    .filter(([, address]) => !isAddress(address) && !/^(?=.*[a-z])[a-z0-9.-]+$/i.test(address))
    .map(
      ([name, address]) =>
        `${name}: was ${JSON.stringify(address)}; allowed is an address or name of this machine, e.g. 0.0.0.0`,
    );
}

function timezoneFaults(values: ConfigValues): string[] {
  const named: [string, string][] = [
    ['PLATFORM_TIMEZONE', values.platform.timezone],
    ...Object.entries(values.platform.timezones).map(([id, zone]): [string, string] => [
      `platform.timezones.${id}`,
      zone,
    ]),
  ];
  return named
    .filter(([, zone]) => !isTimezone(zone))
    .map(
      ([name, zone]) =>
        `${name}: was ${JSON.stringify(zone)}; allowed is an IANA time zone, e.g. Europe/Berlin`,
    );
}

function isTimezone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

function proxyFaults(addresses: readonly string[]): string[] {
  return addresses.flatMap((address, index) =>
    isAddress(address) || ipaddr.isValidCIDR(address)
      ? []
      : [
          `server.trustedProxies.${index}: was ${JSON.stringify(address)}; allowed is an IPv4 or IPv6 address, or a range such as 10.0.0.0/8`,
        ],
  );
}

/** ipaddr.js also takes `127.1` and `0x7f000001`; here they are more likely slips. */
function isAddress(text: string): boolean {
  return text.includes(':') ? ipaddr.isValid(text) : ipaddr.IPv4.isValidFourPartDecimal(text);
}

function credentialFaults(values: ConfigValues, secrets: Secrets): string[] {
  const faults: string[] = [];
  if (TOKEN_REQUEST.some((name) => secrets.has(name))) {
    for (const name of TOKEN_REQUEST) {
      if (!secrets.has(name)) {
        faults.push(
          `${name}: was not set; allowed is a value, as the token request needs all of ${TOKEN_REQUEST.join(', ')}`,
        );
      }
    }
  }
  const expires = values.platform.tokenExpiresAt;
  if (expires !== undefined && !isIsoDate(expires)) {
    faults.push(
      `PLATFORM_TOKEN_EXPIRES_AT: was ${JSON.stringify(expires)}; allowed is an ISO date, e.g. 2027-11-01 or 2027-11-01T00:00:00Z`,
    );
  }
  return faults;
}

/** A calendar date, or a date and time with an offset (RFC 3339). */
export function isIsoDate(text: string): boolean {
  const shape = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;
  if (!shape.test(text) || Number.isNaN(Date.parse(text))) return false;
  // Date.parse rolls 30 February over to March; a real calendar day comes back as it went in.
  const day = text.slice(0, 10);
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

/** What replicas share, and the command that makes one. */
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
        `${name}: was not set; allowed is a value that all replicas share, as Redis is used (make one: ${made})`,
      );
  }
  if (secrets.has('REDIS_PASSWORD') && !forms.some((form) => form.startsWith('redis.'))) {
    faults.push(
      'REDIS_PASSWORD: was set; allowed is only with redis.sentinels or redis.cluster (an address holds its own)',
    );
  }
  return faults;
}

/** Each by its own rule, which its file is held to later on, too. */
function secretFaults(secrets: Secrets): string[] {
  return [...secrets.values()].flatMap((secret) =>
    ruleOf(secret.name)(secret.read()).map(
      ({ was, allowed }) => `${secret.name}: was ${was}${placeOf(secret)}; allowed is ${allowed}`,
    ),
  );
}

function placeOf({ path }: Secret): string {
  return path === undefined ? '' : ` in ${path}`;
}

function patternFaults(name: string, source: string): string[] {
  try {
    new RegExp(source);
    return [];
  } catch {
    return [`${name}: was ${JSON.stringify(source)}; allowed is a regular expression`];
  }
}
