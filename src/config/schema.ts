/**
 * Every setting: path, environment variable, type, default and description. Validation, types, `docs/settings.md`,
 * `config/default.yaml` and the chart's values schema are derived from it.
 */
import Type, { type Static } from 'typebox';
import { platform } from './platform-settings.js';
import { type endpoint, report, type route, routes } from './report-settings.js';
import {
  choice,
  count,
  flag,
  group,
  list,
  optionalCount,
  optionalText,
  port,
  seconds,
  secret,
  text,
} from './setting-types.js';
import { oidc, ROLES } from './sign-in-settings.js';
import * as values from './values.js';

const host = Type.Object(
  {
    host: Type.String({ minLength: 1 }),
    port: Type.Integer({ minimum: 1, maximum: 65_535, default: 6379 }),
  },
  { additionalProperties: false },
);

const LISTENER = { is: values.isHost, allowed: 'a local address or host name, e.g. 0.0.0.0' };
const COLLECTOR = {
  is: values.isWebAddress,
  show: values.hiddenAddress,
  allowed: 'an http:// or https:// address',
};

const server = group(
  {
    host: text('Data plane address.', { env: 'HOST', default: '0.0.0.0', ...LISTENER }),
    port: port('PORT', 8080, 'Data plane port; 0 picks a free one.'),
    adminHost: text('Admin plane address (admin API, metrics, console).', {
      env: 'ADMIN_HOST',
      default: '127.0.0.1',
      ...LISTENER,
    }),
    adminPort: port('ADMIN_PORT', 8081, 'Admin plane port; 0 picks a free one.'),
    metricsPort: optionalCount(
      [0, 65_535],
      'Port on HOST for /metrics, /healthz and /readyz only. Off when unset.',
      { env: 'METRICS_PORT' },
    ),
    workers: count([1, 1, 256], 'Processes sharing the port. More than one requires Redis.', {
      env: 'WORKERS',
    }),
    fastPath: flag(
      true,
      'Answer GET and HEAD reports before the router. Responses are identical either way.',
    ),
    serverTiming: flag(
      false,
      'Send a server-timing header with the duration of each stage. Disables fastPath.',
      { env: 'SERVER_TIMING' },
    ),
    trustedProxies: list(
      'Addresses or CIDR ranges of reverse proxies whose x-forwarded-for is trusted. Empty: use the socket address.',
      { is: values.isAddressOrRange, allowed: 'an IPv4 or IPv6 address, or a range such as 10.0.0.0/8' },
    ),
    corsOrigins: list('Allowed browser origins. Empty: CORS is off.'),
    maxUriBytes: count([8192, 256, 65_536], 'Maximum request target; larger: 414.'),
    maxHeaderBytes: count([32_768, 1024, 262_144], 'Maximum request headers; larger: 431.'),
    maxBodyBytes: count([1_048_576, 1024, 104_857_600], 'Maximum request body; larger: 413.'),
    requestTimeoutSeconds: seconds(30, 'Time limit for receiving a request.'),
    minReadBytesPerSecond: count(
      [1024, 0, 1_048_576],
      'Minimum rate at which a caller must read a response, else disconnected; 0: no minimum.',
    ),
    minReadOverSeconds: count([30, 1, 3600], 'Seconds over which minReadBytesPerSecond is measured.'),
    drainSeconds: seconds(30, 'Time for in-flight requests to finish after SIGTERM.'),
    metricsHosts: list(
      'Further host names on which /metrics needs no token. Always allowed: IP addresses, names without a dot, *.local, *.internal, *.svc.',
      { pattern: '^[a-z0-9_.-]+$' },
    ),
    metricsAuth: flag(false, 'Require the admin token on /metrics.'),
  },
  'Listeners and request limits.',
);

const cache = group(
  {
    l1MaxBytes: count(
      [134_217_728, 1_048_576, 68_719_476_736],
      'Memory for rendered responses, per process.',
    ),
    embeddedMaxBytes: count(
      [268_435_456, 1_048_576, 68_719_476_736],
      'Approximate disk of the embedded store for whole cache entries, and for the latest states of days.',
    ),
    compressMinBytes: count([1024, 0, 1_048_576], 'Minimum body size for compression.'),
  },
  'Cache sizes.',
);

const redis = group(
  {
    url: secret('REDIS_URL', 'redis:// or rediss:// address. Unset: the embedded store.'),
    registryUrl: secret(
      'REDIS_REGISTRY_URL',
      'Separate Redis for the registry, if REDIS_URL may evict any key.',
    ),
    prefix: Type.String({
      pattern: '^[a-z0-9-]{1,32}$',
      default: 'dgw',
      description: 'Key prefix.',
    }),
    timeoutMs: count([150, 10, 10_000], 'Timeout of a Redis command.'),
    cacheMaxBytes: optionalCount(
      [1_048_576, 1_099_511_627_776],
      'Redis memory at which caching of whole entries stops, at most 7/8 of maxmemory; and maximum size of the latest states of days.',
      { shownDefault: 'half of maxmemory' },
    ),
    idempotencyMaxBytes: count(
      [67_108_864, 1_048_576, 17_179_869_184],
      'Redis memory for idempotency records; above 3/4, response bodies are not stored.',
    ),
    minReplicas: count(
      [0, 0, 16],
      'Redis replicas that must confirm a registry change (WAIT); the response says if fewer did.',
    ),
    sentinels: Type.Array(host, { default: [], description: 'Sentinel addresses.' }),
    sentinelName: Type.String({
      default: 'mymaster',
      minLength: 1,
      description: 'Master name for Sentinel.',
    }),
    cluster: Type.Array(host, { default: [], description: 'Cluster seed nodes.' }),
    username: optionalText('User name for Sentinel and Cluster.', { minLength: 1 }),
    password: secret('REDIS_PASSWORD', 'Password for Sentinel and Cluster.'),
    tls: flag(false, 'TLS for Sentinel and Cluster.'),
  },
  'The store shared by replicas.',
);

const store = group(
  {
    dataDir: text('Folder of the embedded store.', { env: 'GATEWAY_DATA_DIR', default: './data' }),
    masterKey: secret(
      'GATEWAY_MASTER_KEY',
      '32 bytes, base64; encrypts tokens and the key pepper. Comma-separated list: the first encrypts, all decrypt. Required with Redis; otherwise generated in the data folder.',
    ),
  },
  'The embedded store, and encryption at rest.',
);

const history = group(
  {
    enabled: flag(true, 'Record by-date reports day by day, for _asOf and _vintage.'),
    retentionDays: count([400, 32, 3650], 'Retention of history, rounded to whole months.'),
    maxBytes: count(
      [1_073_741_824, 1_048_576, 1_099_511_627_776],
      'Maximum size of earlier states of days; above it those of the oldest months are deleted, with a warning.',
    ),
    endpoints: list('Report endpoints with history, e.g. campaigns/get; empty: all.'),
    splits: list('Splits with history, e.g. date or date+campaign; empty: all by-date splits.', {
      pattern: '^date(\\+[a-z]+)*$',
    }),
  },
  'History.',
);

const changes = group(
  {
    maxEntries: count(
      [200_000, 1000, 5_000_000],
      'Changes of days kept for readers of GET /gateway/v1/changes, about 50 bytes each; older ones are removed.',
    ),
  },
  'The feed of changes.',
);

const finality = group(
  {
    mode: choice(
      ['fixed', 'observe', 'learned'],
      'observe',
      '`fixed`: days are final by restatementDays; `observe`: the same, and the learned window is shown; `learned`: by the learned window, never before restatementDays.',
    ),
    maxDays: count([45, 1, 90], 'Older days are always final.'),
  },
  'When days are final.',
);

const mcp = group(
  {
    maxRows: count([100, 1, 10_000], 'Maximum rows of a tool result; the rest by cursor.'),
    maxBytes: count(
      [40_000, 8192, 1_048_576],
      'Maximum bytes of a tool result, for each of its two copies (structured, text).',
    ),
  },
  'MCP tools, for teams with the scope mcp.',
);

const tracing = group(
  {
    endpoint: optionalText(
      'OpenTelemetry collector (OTLP over HTTP, usually port 4318); spans go to v1/traces below it. Off when unset.',
      { minLength: 1, env: 'OTEL_EXPORTER_OTLP_ENDPOINT', ...COLLECTOR },
    ),
    tracesEndpoint: optionalText('Full address for spans, used as is; overrides the endpoint.', {
      minLength: 1,
      env: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
      ...COLLECTOR,
    }),
    headers: secret(
      'OTEL_EXPORTER_OTLP_HEADERS',
      'Collector headers: name=value,name=value, percent-encoded.',
    ),
    serviceName: text('Service name in traces.', {
      env: 'OTEL_SERVICE_NAME',
      default: 'dsp-gateway',
    }),
    resourceAttributes: optionalText('Attributes of all spans: name=value,name=value, percent-encoded.', {
      minLength: 1,
      env: 'OTEL_RESOURCE_ATTRIBUTES',
    }),
    sampler: choice(
      [
        'always_on',
        'always_off',
        'traceidratio',
        'parentbased_always_on',
        'parentbased_always_off',
        'parentbased_traceidratio',
      ],
      'parentbased_always_on',
      "Which requests are traced. parentbased: by the caller's decision, else by the rest.",
      { env: 'OTEL_TRACES_SAMPLER' },
    ),
    samplerArg: text('Share of traces recorded with traceidratio.', {
      env: 'OTEL_TRACES_SAMPLER_ARG',
      default: '1',
      pattern: '^(0|1|0?\\.[0-9]{1,9}|1\\.0{1,9})$',
      allowed: 'a number from 0 to 1',
    }),
    disabled: flag(false, 'Turns tracing off.', { env: 'OTEL_SDK_DISABLED' }),
  },
  'OpenTelemetry traces.',
);

const writeGuard = group(
  {
    default: choice(['allow', 'refuse'], 'allow', 'Whether teams without a write guard may write.'),
  },
  'Writes.',
);

const adminToken = Type.Object(
  {
    name: Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9._@-]{0,59}$',
      description: 'Name in the audit; not admin, gateway or person.',
    }),
    role: Type.Enum([...ROLES], {
      description: 'viewer: read-only; operator: teams, keys, cache; owner: everything.',
    }),
    tokenFile: optionalText('File with the token; re-read on change.', { minLength: 1 }),
    tokenEnv: optionalText('Environment variable with the token, instead of a file.', {
      pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    }),
  },
  { additionalProperties: false },
);

const auth = group(
  {
    adminToken: secret(
      'ADMIN_TOKEN',
      'Owner token, at least 16 printable ASCII characters. Required with Redis; otherwise generated in the data folder.',
    ),
    adminTokens: Type.Array(adminToken, {
      default: [],
      description: 'Further admin tokens: {name, role, tokenFile or tokenEnv}.',
    }),
    maxStaleSeconds: seconds(
      900,
      'How long teams and keys in memory stay valid while the store is unavailable.',
    ),
    tokenSignIn: flag(
      true,
      'Let the console be opened with an admin token. API and command line always take it.',
    ),
    oidc,
  },
  'Authentication.',
);

export const ConfigSchema = Type.Object(
  {
    server,
    platform,
    report,
    cache,
    routes,
    writeGuard,
    redis,
    store,
    history,
    changes,
    finality,
    mcp,
    tracing,
    auth,
    teamsFile: optionalText(
      'YAML file of teams applied at startup (config/teams.example.yaml). Off when unset.',
      { minLength: 1, env: 'GATEWAY_TEAMS_FILE' },
    ),
    logLevel: choice(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'info',
      'Minimum log level.',
      { env: 'LOG_LEVEL' },
    ),
    testClock: flag(false, 'Allow PUT /admin/v1/clock to move the clock. Refused in production.', {
      env: 'GATEWAY_TEST_CLOCK',
    }),
  },
  { additionalProperties: false, default: {} },
);

export type ConfigValues = Static<typeof ConfigSchema>;
export type EndpointRule = Static<typeof endpoint>;
export type RouteRule = Static<typeof route>;
