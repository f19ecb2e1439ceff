/**
 * Every setting: its place in the YAML, its environment name, type, default and meaning.
 *
 * One schema gives the validation, the TypeScript type, the table in `docs/settings.md`, `config/default.yaml`
 * and the chart's values schema. To add a setting, add a line here.
 */
import Type, { type Static, type TSchema } from 'typebox';
import * as values from './values.js';

/** What a setting's schema carries beside JSON Schema: `env` is its environment name. */
export interface SettingNotes {
  readonly env?: string;
  /** A secret is never printed, and may come from the file named by `<env>_FILE`. */
  readonly secret?: boolean;
  /** Replaces the default in tables where the true one is decided at the start. */
  readonly shownDefault?: string;
  /** Replaces the schema's own words for what is allowed. */
  readonly allowed?: string;
  /** What a text is held to beyond its type; `allowed` says it in words. */
  readonly is?: (text: string) => boolean;
  /** How a text that is not allowed is shown, where it may hold a secret. */
  readonly show?: (text: string) => string;
}

/** What is passed beside the notes: any of JSON Schema's own. */
interface Notes extends SettingNotes {
  readonly default?: string;
  readonly pattern?: string;
  readonly minLength?: number;
}

const group = <P extends Record<string, TSchema>>(properties: P, description: string) =>
  Type.Object(properties, { additionalProperties: false, default: {}, description });

const optionalCount = (bounds: readonly [number, number], description: string, notes: SettingNotes = {}) =>
  Type.Optional(Type.Integer({ minimum: bounds[0], maximum: bounds[1], description, ...notes }));

/** A whole number: its default, the least, the most. */
const count = (
  [value, minimum, maximum]: readonly [number, number, number],
  description: string,
  notes: SettingNotes = {},
) => Type.Integer({ minimum, maximum, default: value, description, ...notes });

const seconds = (value: number, description: string) => count([value, 0, 31_622_400], description);

const port = (env: string, value: number, description: string) =>
  count([value, 0, 65_535], description, { env });

const flag = (value: boolean, description: string, notes: SettingNotes = {}) =>
  Type.Boolean({ default: value, description, ...notes });

const text = (description: string, notes: Notes) => Type.String({ minLength: 1, description, ...notes });

const optionalText = (description: string, notes: Notes = {}) =>
  Type.Optional(Type.String({ ...notes, description }));

const secret = (env: string, description: string) =>
  optionalText(description, { minLength: 1, env, secret: true });

const choice = <const V extends string[]>(
  values: [...V],
  value: V[number],
  description: string,
  notes: SettingNotes = {},
) => Type.Enum(values, { default: value, description, ...notes });

/** Of texts; the notes are those of each. */
const list = (description: string, notes: Notes = {}, value: string[] = []) =>
  Type.Array(Type.String(notes.pattern === undefined ? { minLength: 1, ...notes } : { ...notes }), {
    default: value,
    description,
  });

const host = Type.Object(
  {
    host: Type.String({ minLength: 1 }),
    port: Type.Integer({ minimum: 1, maximum: 65_535, default: 6379 }),
  },
  { additionalProperties: false },
);

const LISTENER = { is: values.isHost, allowed: 'an address or name of this machine, e.g. 0.0.0.0' };
const ZONE = { is: values.isTimezone, allowed: 'an IANA time zone, e.g. Europe/Berlin' };
const COLLECTOR = {
  is: values.isWebAddress,
  show: values.hiddenAddress,
  allowed: 'an http:// or https:// address',
};

const server = group(
  {
    host: text('Address of the data plane.', { env: 'HOST', default: '0.0.0.0', ...LISTENER }),
    port: port('PORT', 8080, 'Port of the data plane; 0 picks a free one.'),
    adminHost: text('Address of the admin plane (admin API, metrics, console).', {
      env: 'ADMIN_HOST',
      default: '127.0.0.1',
      ...LISTENER,
    }),
    adminPort: port('ADMIN_PORT', 8081, 'Port of the admin plane; 0 picks a free one.'),
    metricsPort: optionalCount(
      [0, 65_535],
      'Port for /metrics, /healthz and /readyz alone, on HOST. Off when unset.',
      { env: 'METRICS_PORT' },
    ),
    workers: count([1, 1, 256], 'Processes that share the port; more than one needs Redis.', {
      env: 'WORKERS',
    }),
    fastPath: flag(
      true,
      'Answer plain GET and HEAD requests for reports before the router; off: by the router, like all others. The answers are the same.',
    ),
    serverTiming: flag(
      false,
      'Tell callers in a server-timing header how long each stage of their request took. Answers at hand go by the router then.',
      { env: 'SERVER_TIMING' },
    ),
    trustedProxies: list(
      'Addresses or CIDR ranges of reverse proxies whose x-forwarded-for is believed. Empty: the socket decides.',
      { is: values.isAddressOrRange, allowed: 'an IPv4 or IPv6 address, or a range such as 10.0.0.0/8' },
    ),
    corsOrigins: list('Origins that browsers may call from. Empty: CORS is off.'),
    maxUriBytes: count([8192, 256, 65_536], 'Longest request target; beyond it 414.'),
    maxHeaderBytes: count([32_768, 1024, 262_144], 'Largest request head; beyond it 431.'),
    maxBodyBytes: count([1_048_576, 1024, 104_857_600], 'Largest request body that is read; beyond it 413.'),
    requestTimeoutSeconds: seconds(30, 'Time a caller has to send its whole request.'),
    minReadBytesPerSecond: count(
      [1024, 0, 1_048_576],
      'A caller that reads an answer slower than this is cut off; 0: none is.',
    ),
    minReadOverSeconds: count([30, 1, 3600], 'Time over which minReadBytesPerSecond is judged, seconds.'),
    drainSeconds: seconds(30, 'Time in-flight requests have to finish after SIGTERM.'),
    metricsHosts: list(
      'Names in the host header under which /metrics answers without a token, beside addresses and names without a dot or ending in .local, .internal or .svc.',
      { pattern: '^[a-z0-9_.-]+$' },
    ),
    metricsAuth: flag(false, 'Ask for the admin token on /metrics too.'),
  },
  'Where the gateway listens and what it reads from callers.',
);

const retry = group(
  {
    attempts: count([2, 0, 5], 'Further tries of a GET or HEAD after a network failure, 502, 503 or 504.'),
    baseMs: count([100, 1, 10_000], 'First wait between tries; doubles, with jitter.'),
  },
  'The one retry policy. Writes are never retried.',
);

const circuit = group(
  {
    failures: count(
      [10, 1, 1000],
      'Tries that fail in a row (5xx, 408, network, time-out) before the platform is left alone.',
    ),
    openSeconds: count([10, 1, 3600], 'Time it is left alone, before one call tries whether it is back.'),
  },
  'When calls to a platform that keeps failing are suspended; each replica judges for itself.',
);

const platform = group(
  {
    baseUrl: text('The platform, e.g. https://platform.example; a path prefix is allowed.', {
      env: 'PLATFORM_BASE_URL',
      is: values.isBaseUrl,
      show: values.shownAddress,
      allowed: 'an http:// or https:// address without user, query or fragment',
    }),
    account: text('A label for the account behind the credential; part of every cache key.', {
      env: 'PLATFORM_ACCOUNT',
      default: 'default',
    }),
    token: secret('PLATFORM_TOKEN', 'Way 1: a token copied from the dashboard. A seed: used once.'),
    tokenExpiresAt: optionalText(
      'When that token expires, as an ISO date; it is opaque and cannot be asked.',
      {
        env: 'PLATFORM_TOKEN_EXPIRES_AT',
        shownDefault: 'one year after first seen',
        is: values.isIsoDate,
        allowed: 'an ISO date, e.g. 2027-11-01 or 2027-11-01T00:00:00Z',
      },
    ),
    username: secret('PLATFORM_USERNAME', 'Way 2: the account of the token request.'),
    password: secret('PLATFORM_PASSWORD', 'Way 2: its password.'),
    clientId: secret('PLATFORM_CLIENT_ID', 'Way 2: the API client; sent as a number when it is all digits.'),
    clientSecret: secret('PLATFORM_CLIENT_SECRET', "Way 2: the API client's secret."),
    grantType: text('`grant_type` of the token request.', {
      env: 'PLATFORM_GRANT_TYPE',
      default: 'platform_dsp',
    }),
    tokenPath: text('Path of the token request, below the base URL.', {
      env: 'PLATFORM_TOKEN_PATH',
      default: '/oauth/token',
      pattern: '^/',
    }),
    renewBeforeDays: count(
      [30, 0, 300],
      'Way 2: days before its expiry at which a token is renewed; 0: when it has expired.',
    ),
    probe: optionalText('Path and query of a cheap call that proves a token works.', {
      pattern: '^/',
      env: 'PLATFORM_PROBE',
      shownDefault: 'the cheapest GET report that lately succeeded',
    }),
    timezone: text('Where the platform begins its day (IANA name).', {
      env: 'PLATFORM_TIMEZONE',
      default: 'UTC',
      ...ZONE,
    }),
    timezones: Type.Record(
      Type.String({ pattern: '^[1-9][0-9]{0,15}$' }),
      Type.String({ minLength: 1, ...ZONE }),
      {
        default: {},
        description: 'Advertiser id to time zone, where it differs from `timezone`.',
      },
    ),
    retentionDays: optionalCount(
      [1, 36_500],
      'Age in days beyond which the platform has no rows: older days that it answers without rows, or refuses, are given from history.',
      { shownDefault: 'learned' },
    ),
    timeoutMs: count(
      [30_000, 100, 600_000],
      'Deadline of one report call, connect to last byte, tries included.',
    ),
    maxAnswerBytes: count(
      [67_108_864, 1024, 1_073_741_824],
      'Largest platform answer, decoded; beyond it 502 upstream_too_large.',
    ),
    maxConcurrent: count([8, 1, 1024], 'Platform calls at once.'),
    maxQueued: count(
      [1000, 0, 100_000],
      'Platform calls that may wait for a slot; beyond it 503 overloaded.',
    ),
    circuit,
    maxPauseSeconds: seconds(900, 'Longest retry-after of the platform that is believed.'),
    loginPaths: list('A redirect to one of these paths means: credential refused.', { pattern: '^/' }, [
      '/login',
    ]),
    retry,
  },
  'The platform behind the gateway.',
);

const freshness = group(
  {
    currentSeconds: seconds(300, 'Fresh time of today and later, and of a report without a period.'),
    restatingSeconds: seconds(3600, 'Fresh time of a day within restatementDays.'),
    finalSeconds: seconds(2_592_000, 'Fresh time of a final day.'),
    emptySeconds: seconds(
      300,
      'Fresh time of an empty day at the end of an answer, not yet final, until a second look an hour later agrees.',
    ),
    emptyFinalSeconds: seconds(3600, 'The same, final, until a second look an hour later agrees.'),
    undeclaredSeconds: seconds(300, 'Fresh time of report endpoints that are not declared.'),
    negativeSeconds: seconds(30, "Time the platform's 400, 404 and 422 are remembered."),
    staleWhileRevalidateSeconds: seconds(
      600,
      'Time after freshness in which the old answer is given at once.',
    ),
    staleIfErrorSeconds: seconds(
      604_800,
      'Time after freshness in which the old answer helps when the platform fails.',
    ),
  },
  'How long an answer is fresh, by the age of its days when they were fetched.',
);

const columns = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1, description }));

const endpoint = Type.Object(
  {
    readByPost: flag(false, 'POST with a JSON body is a read here.'),
    rowsAt: optionalText(
      'Dotted path of the row array, e.g. result.rows; empty: the root; unset: found by rule.',
      { allowed: 'text' },
    ),
    requiredColumns: columns(
      'Members that every row has; an answer with a row that lacks one is no report (502).',
    ),
    knownColumns: columns(
      'Columns in camelCase that make an answer a report, beside those seen before; an answer without any of both is none (502).',
    ),
    dateField: optionalText('The member that holds the day.', { minLength: 1 }),
    rowCap: optionalCount(
      [1, 100_000_000],
      'Rows at which the platform silently stops; an answer with so many is asked again in halves.',
    ),
    divisible: choice(
      ['auto', 'always', 'never'],
      'auto',
      'Whether by-date answers may be split by day: learned, or pinned.',
    ),
    freshness: choice(['own', 'origin'], 'own', '`origin`: RFC 9111 decides by the answer headers.'),
    knownParameters: list(
      'Further parameters that the platform reads here: taken neither for misspelt nor for an account, and not warned of.',
      { pattern: '^[A-Za-z][A-Za-z0-9_]*$' },
    ),
    unknownParameters: choice(
      ['pass', 'refuse'],
      'pass',
      'What is done with a parameter that is not known and looks like no known one: passed on with a warning, or 400.',
    ),
  },
  { additionalProperties: false, default: {} },
);

const report = group(
  {
    restatementDays: count([5, 0, 365], 'A day is final when it is before today minus this.'),
    freshness,
    endpoints: Type.Record(Type.String({ pattern: '^[a-z0-9._~-]+(/[a-z0-9._~-]+)*$' }), endpoint, {
      default: {
        'campaigns/get': {
          readByPost: true,
          divisible: 'auto',
          freshness: 'own',
          knownParameters: [],
          unknownParameters: 'pass',
        },
      },
      description: 'Declared report endpoints, by their path below /api/v1/report/.',
    }),
    mergeGapDays: count(
      [7, 0, 400],
      'Missing days with at most so many cached days between them are fetched by one call.',
    ),
    maxDaysPerCall: count(
      [92, 1, 1000],
      'Longest range of one platform call for by-date reports; more go in parallel.',
    ),
    crossCheckEvery: count(
      [200, 0, 1_000_000],
      'One in this many answers of a series that were joined from days is compared with a whole answer of the platform, beside the first ones and one a day; 0: none is.',
    ),
    accountFields: Type.Array(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_]*$' }), {
      minItems: 1,
      default: ['advertiserId', 'userId'],
      description: 'Parameters that name the account of a report; the first is the usual one.',
    }),
    accountPattern: text(
      'Names (lower case, without _ . - [ ]) that look like an account, in queries, bodies and rows.',
      {
        default: '^(user|account|advertiser|client|customer|agency|owner|parent)ids?$',
        is: values.isPattern,
        allowed: 'a regular expression',
      },
    ),
    nonAccountParameters: list(
      'Parameters and columns that look as if they named an account and do not, e.g. clientTimezone: limited teams may send and see them.',
      { pattern: '^[A-Za-z][A-Za-z0-9_]*$' },
    ),
    maxRows: count(
      [1_000_000, 1, 100_000_000],
      'Most rows of one platform answer; beyond it 502 upstream_too_large.',
    ),
  },
  'How reports are read and kept.',
);

const cache = group(
  {
    l1MaxBytes: count([134_217_728, 1_048_576, 68_719_476_736], 'Finished bodies kept in each process.'),
    embeddedMaxBytes: count(
      [268_435_456, 1_048_576, 68_719_476_736],
      'Disk that the cache entries of the embedded store may take, about.',
    ),
    compressMinBytes: count(
      [1024, 0, 1_048_576],
      'Smallest body that is compressed for a caller who accepts it.',
    ),
  },
  'Memory.',
);

const route = Type.Object(
  {
    method: Type.Enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'], { description: 'Method.' }),
    path: Type.String({
      // As the path gate has it: another one could never match.
      pattern: '^/api/v1(/[A-Za-z0-9._~-]+)*(/\\*)?$',
      description: 'Path; a last segment * stands for one segment.',
    }),
    read: flag(false, 'A POST that only reads: scope platform:read.'),
    account: list(
      'Where the account is named, e.g. body.userId; one of them must be there for a limited team.',
      { pattern: '^(query|body)\\.[A-Za-z][A-Za-z0-9_]*$' },
    ),
    pathChars: Type.String({
      default: '',
      maxLength: 16,
      description: 'Further characters allowed in path segments of this route.',
      allowed: 'at most 16 characters',
    }),
  },
  { additionalProperties: false },
);

const routes = Type.Array(route, {
  default: [
    {
      method: 'POST',
      path: '/api/v1/campaign/create',
      read: false,
      account: ['body.userId', 'body.advertiserId'],
      pathChars: '',
    },
    {
      method: 'POST',
      path: '/api/v1/campaign/get',
      read: true,
      account: ['body.userId', 'body.advertiserId'],
      pathChars: '',
    },
  ],
  description:
    'Pass-through routes that limited teams may use, and POSTs that are reads. A list replaces the shipped one.',
});

const redis = group(
  {
    url: secret('REDIS_URL', 'redis:// or rediss://. Unset: the embedded store.'),
    registryUrl: secret(
      'REDIS_REGISTRY_URL',
      'Another Redis for the registry, where REDIS_URL may evict any key.',
    ),
    prefix: Type.String({
      pattern: '^[a-z0-9-]{1,32}$',
      default: 'dgw',
      description: 'First part of every key.',
    }),
    timeoutMs: count([150, 10, 10_000], 'Longest wait for one Redis command.'),
    cacheMaxBytes: optionalCount(
      [1_048_576, 1_099_511_627_776],
      'Memory Redis may use before nothing more is cached; never more than seven eighths of its maxmemory.',
      { shownDefault: "half of the server's maxmemory" },
    ),
    idempotencyMaxBytes: count(
      [67_108_864, 1_048_576, 17_179_869_184],
      'Memory in Redis for the answers to writes with an idempotency key; beyond three quarters answers are not kept.',
    ),
    minReplicas: count(
      [0, 0, 16],
      'Replicas of Redis that have to confirm a change of teams, keys or tokens (WAIT); the answer says when fewer did.',
    ),
    sentinels: Type.Array(host, { default: [], description: 'Sentinel form: the sentinels.' }),
    sentinelName: Type.String({
      default: 'mymaster',
      minLength: 1,
      description: 'Sentinel form: the master.',
    }),
    cluster: Type.Array(host, { default: [], description: 'Cluster form: first nodes.' }),
    username: optionalText('For the sentinel and cluster forms.', { minLength: 1 }),
    password: secret('REDIS_PASSWORD', 'For the sentinel and cluster forms.'),
    tls: flag(false, 'TLS for the sentinel and cluster forms.'),
  },
  'The store that several replicas share.',
);

const store = group(
  {
    dataDir: text("The embedded store's folder.", { env: 'GATEWAY_DATA_DIR', default: './data' }),
    masterKey: secret(
      'GATEWAY_MASTER_KEY',
      '32 bytes, base64; seals tokens and the pepper of key hashes. A comma list: the first seals, all open. Required with Redis; generated into the data folder when embedded.',
    ),
  },
  'The embedded store and the key that seals secrets at rest.',
);

const history = group(
  {
    enabled: flag(
      true,
      'What reports by date said is written down, day by day, so that it can be asked for as of a past moment.',
    ),
    retentionDays: count([400, 32, 3650], 'Days for which the history of a day is kept, by whole months.'),
    maxBytes: count(
      [1_073_741_824, 1_048_576, 1_099_511_627_776],
      'All history together; beyond it the oldest months go, with a warning.',
    ),
    endpoints: list('Report endpoints whose history is kept, as campaigns/get; all where empty.'),
    splits: list('Splits whose history is kept, as date or date+campaign; all by date where empty.', {
      pattern: '^date(\\+[a-z]+)*$',
    }),
  },
  'What reports said, and when.',
);

const finality = group(
  {
    mode: choice(
      ['fixed', 'observe', 'learned'],
      'observe',
      'When days are final. `fixed`: by restatementDays; `observe`: the same, and how long days change is learned from the history and shown; `learned`: by what was learned, never sooner than restatementDays.',
    ),
    maxDays: count([45, 1, 90], 'A day that is older is final, whatever was learned.'),
    exploreShare: Type.Number({
      minimum: 0,
      maximum: 1,
      default: 0.01,
      description:
        'Where the mode is `learned`: of the platform calls of a process in a day, the share that may be made to see days that nobody asks for again; 0: none.',
    }),
  },
  'When the numbers of a day change no more.',
);

const mcp = group(
  {
    maxRows: count([100, 1, 10_000], 'Most rows of one result of a tool; the rest by cursor.'),
    maxBytes: count(
      [40_000, 8192, 1_048_576],
      'Most bytes of one result of a tool, for each of its two copies: structured, and as text.',
    ),
  },
  'Tools for assistants (MCP), for teams with the scope mcp.',
);

const tracing = group(
  {
    endpoint: optionalText(
      'Address of an OpenTelemetry collector (OTLP over HTTP, usually port 4318); spans go to v1/traces below it. Off when unset.',
      { minLength: 1, env: 'OTEL_EXPORTER_OTLP_ENDPOINT', ...COLLECTOR },
    ),
    tracesEndpoint: optionalText(
      'The same for spans alone, with its path: it is asked as it stands, and wins.',
      { minLength: 1, env: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', ...COLLECTOR },
    ),
    headers: secret(
      'OTEL_EXPORTER_OTLP_HEADERS',
      'Headers for the collector, as name=value,name=value with percent-encoded values.',
    ),
    serviceName: text('Name of the gateway in traces.', {
      env: 'OTEL_SERVICE_NAME',
      default: 'dsp-gateway',
    }),
    resourceAttributes: optionalText(
      'What else all spans say, as name=value,name=value with percent-encoded values.',
      { minLength: 1, env: 'OTEL_RESOURCE_ATTRIBUTES' },
    ),
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
      'Which requests are recorded; parentbased: as their caller decided, else by the rest.',
      { env: 'OTEL_TRACES_SAMPLER' },
    ),
    samplerArg: text('With traceidratio: the share of traces that is recorded, 0 to 1.', {
      env: 'OTEL_TRACES_SAMPLER_ARG',
      default: '1',
      pattern: '^(0|1|0?\\.[0-9]{1,9}|1\\.0{1,9})$',
      allowed: 'a number from 0 to 1',
    }),
    disabled: flag(false, 'Off, whatever else is set.', { env: 'OTEL_SDK_DISABLED' }),
  },
  'Spans for OpenTelemetry.',
);

const writeGuard = group(
  {
    default: choice(
      ['allow', 'refuse'],
      'allow',
      'Whether teams without a write guard of their own may write at all.',
    ),
  },
  'What writes are held to, beside what teams have of their own.',
);

const adminToken = Type.Object(
  {
    name: Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9._@-]{0,59}$',
      description: 'Shown in the audit; not admin or gateway.',
    }),
    role: Type.Enum(['viewer', 'operator', 'owner'], {
      description: 'A viewer looks; an operator changes teams, keys and the cache; an owner everything.',
    }),
    tokenFile: optionalText('The file that holds the token; re-read when it changes.', { minLength: 1 }),
    tokenEnv: optionalText('The environment variable that holds the token, where there is no file.', {
      pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    }),
  },
  { additionalProperties: false },
);

const auth = group(
  {
    adminToken: secret(
      'ADMIN_TOKEN',
      'First admin credential, 16 printable ASCII characters or more. Required with Redis; generated into a file of the data folder when embedded.',
    ),
    adminTokens: Type.Array(adminToken, {
      default: [],
      description:
        'Further admin tokens with a name and a role: {name, role, tokenFile or tokenEnv}. ADMIN_TOKEN is the owner admin.',
    }),
    maxStaleSeconds: seconds(
      900,
      'Time that teams and keys known in memory go on being accepted while the store is away.',
    ),
  },
  'Who may call.',
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
    finality,
    mcp,
    tracing,
    auth,
    teamsFile: optionalText(
      'YAML file of teams that is applied at each start (config/teams.example.yaml). Off when unset.',
      { minLength: 1, env: 'GATEWAY_TEAMS_FILE' },
    ),
    logLevel: choice(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'info',
      'Least severity that is logged.',
      { env: 'LOG_LEVEL' },
    ),
    testClock: flag(false, 'Lets PUT /admin/v1/clock move "now". Refused in production.', {
      env: 'GATEWAY_TEST_CLOCK',
    }),
  },
  { additionalProperties: false, default: {} },
);

export type ConfigValues = Static<typeof ConfigSchema>;
export type EndpointRule = Static<typeof endpoint>;
export type RouteRule = Static<typeof route>;
export type AdminRole = Static<typeof adminToken>['role'];
