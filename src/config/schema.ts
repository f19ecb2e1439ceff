/**
 * Every setting: its place in the YAML, its environment name, type, default and meaning.
 *
 * One schema gives the validation, the TypeScript type, the table in `docs/settings.md`, `config/default.yaml`
 * and the chart's values schema. To add a setting, add a line here.
 */
import Type, { type Static, type TSchema } from 'typebox';

/** What a setting's schema carries beside JSON Schema: `env` is its environment name. */
export interface SettingNotes {
  readonly env?: string;
  /** A secret is never printed, and may come from the file named by `<env>_FILE`. */
  readonly secret?: boolean;
  /** Replaces the default in tables where the true one is decided at the start. */
  readonly shownDefault?: string;
  /** Replaces the schema's own words for what is allowed. */
  readonly allowed?: string;
}

const group = <P extends Record<string, TSchema>>(properties: P, description: string) =>
  Type.Object(properties, { additionalProperties: false, default: {}, description });

const seconds = (value: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: 31_622_400, default: value, description });

const text = (description: string, notes: SettingNotes & { default?: string; pattern?: string }) =>
  Type.String({ minLength: 1, description, ...notes });

const secret = (env: string, description: string) =>
  Type.Optional(Type.String({ minLength: 1, description, env, secret: true }));

const port = (env: string, value: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: 65_535, default: value, env, description });

const host = Type.Object(
  {
    host: Type.String({ minLength: 1 }),
    port: Type.Integer({ minimum: 1, maximum: 65_535, default: 6379 }),
  },
  { additionalProperties: false },
);

const server = group(
  {
    host: text('Address of the data plane.', { env: 'HOST', default: '0.0.0.0' }),
    port: port('PORT', 8080, 'Port of the data plane; 0 picks a free one.'),
    adminHost: text('Address of the admin plane (admin API, metrics, console).', {
      env: 'ADMIN_HOST',
      default: '127.0.0.1',
    }),
    adminPort: port('ADMIN_PORT', 8081, 'Port of the admin plane; 0 picks a free one.'),
    metricsPort: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 65_535,
        env: 'METRICS_PORT',
        description: 'Port for /metrics, /healthz and /readyz alone, on HOST. Off when unset.',
      }),
    ),
    workers: Type.Integer({
      minimum: 1,
      maximum: 256,
      default: 1,
      env: 'WORKERS',
      description: 'Processes that share the port; more than one needs Redis.',
    }),
    fastPath: Type.Boolean({
      default: true,
      description:
        'Answer plain GET and HEAD requests for reports before the router; off: by the router, like all others. The answers are the same.',
    }),
    serverTiming: Type.Boolean({
      default: false,
      env: 'SERVER_TIMING',
      description:
        'Tell callers in a server-timing header how long each stage of their request took. Answers at hand go by the router then.',
    }),
    trustedProxies: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description:
        'Addresses or CIDR ranges of reverse proxies whose x-forwarded-for is believed. Empty: the socket decides.',
    }),
    corsOrigins: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description: 'Origins that browsers may call from. Empty: CORS is off.',
    }),
    maxUriBytes: Type.Integer({
      minimum: 256,
      maximum: 65_536,
      default: 8192,
      description: 'Longest request target; beyond it 414.',
    }),
    maxHeaderBytes: Type.Integer({
      minimum: 1024,
      maximum: 262_144,
      default: 32_768,
      description: 'Largest request head; beyond it 431.',
    }),
    maxBodyBytes: Type.Integer({
      minimum: 1024,
      maximum: 104_857_600,
      default: 1_048_576,
      description: 'Largest request body that is read; beyond it 413.',
    }),
    requestTimeoutSeconds: seconds(30, 'Time a caller has to send its whole request.'),
    minReadBytesPerSecond: Type.Integer({
      minimum: 0,
      maximum: 1_048_576,
      default: 1024,
      description: 'A caller that reads an answer slower than this is cut off; 0: none is.',
    }),
    minReadOverSeconds: Type.Integer({
      minimum: 1,
      maximum: 3600,
      default: 30,
      description: 'Time over which minReadBytesPerSecond is judged, seconds.',
    }),
    drainSeconds: seconds(30, 'Time in-flight requests have to finish after SIGTERM.'),
    metricsHosts: Type.Array(Type.String({ pattern: '^[a-z0-9_.-]+$' }), {
      default: [],
      description:
        'Names in the host header under which /metrics answers without a token, beside addresses and names without a dot or ending in .local, .internal or .svc.',
    }),
    metricsAuth: Type.Boolean({ default: false, description: 'Ask for the admin token on /metrics too.' }),
  },
  'Where the gateway listens and what it reads from callers.',
);

const retry = group(
  {
    attempts: Type.Integer({
      minimum: 0,
      maximum: 5,
      default: 2,
      description: 'Further tries of a GET or HEAD after a network failure, 502, 503 or 504.',
    }),
    baseMs: Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 100,
      description: 'First wait between tries; doubles, with jitter.',
    }),
  },
  'The one retry policy. Writes are never retried.',
);

const circuit = group(
  {
    failures: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 10,
      description:
        'Tries that fail in a row (5xx, 408, network, time-out) before the platform is left alone.',
    }),
    openSeconds: Type.Integer({
      minimum: 1,
      maximum: 3600,
      default: 10,
      description: 'Time it is left alone, before one call tries whether it is back.',
    }),
  },
  'When calls to a platform that keeps failing are suspended; each replica judges for itself.',
);

const platform = group(
  {
    baseUrl: text('The platform, e.g. https://platform.example; a path prefix is allowed.', {
      env: 'PLATFORM_BASE_URL',
      allowed: 'an http:// or https:// address without user, query or fragment',
    }),
    account: text('A label for the account behind the credential; part of every cache key.', {
      env: 'PLATFORM_ACCOUNT',
      default: 'default',
    }),
    token: secret('PLATFORM_TOKEN', 'Way 1: a token copied from the dashboard. A seed: used once.'),
    tokenExpiresAt: Type.Optional(
      Type.String({
        env: 'PLATFORM_TOKEN_EXPIRES_AT',
        description: 'When that token expires, as an ISO date; it is opaque and cannot be asked.',
        shownDefault: 'one year after first seen',
      }),
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
    renewBeforeDays: Type.Integer({
      minimum: 0,
      maximum: 300,
      default: 30,
      description: 'Way 2: days before its expiry at which a token is renewed; 0: when it has expired.',
    }),
    probe: Type.Optional(
      Type.String({
        pattern: '^/',
        env: 'PLATFORM_PROBE',
        description: 'Path and query of a cheap call that proves a token works.',
        shownDefault: 'the cheapest GET report that lately succeeded',
      }),
    ),
    timezone: text('Where the platform begins its day (IANA name).', {
      env: 'PLATFORM_TIMEZONE',
      default: 'UTC',
    }),
    timezones: Type.Record(Type.String({ pattern: '^[1-9][0-9]{0,15}$' }), Type.String({ minLength: 1 }), {
      default: {},
      description: 'Advertiser id to time zone, where it differs from `timezone`.',
    }),
    retentionDays: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 36_500,
        shownDefault: 'learned',
        description:
          'Age in days beyond which the platform has no rows: older days that it answers without rows, or refuses, are given from history.',
      }),
    ),
    timeoutMs: Type.Integer({
      minimum: 100,
      maximum: 600_000,
      default: 30_000,
      description: 'Deadline of one report call, connect to last byte, tries included.',
    }),
    maxAnswerBytes: Type.Integer({
      minimum: 1024,
      maximum: 1_073_741_824,
      default: 67_108_864,
      description: 'Largest platform answer, decoded; beyond it 502 upstream_too_large.',
    }),
    maxConcurrent: Type.Integer({
      minimum: 1,
      maximum: 1024,
      default: 8,
      description: 'Platform calls at once.',
    }),
    maxQueued: Type.Integer({
      minimum: 0,
      maximum: 100_000,
      default: 1000,
      description: 'Platform calls that may wait for a slot; beyond it 503 overloaded.',
    }),
    circuit,
    maxPauseSeconds: seconds(900, 'Longest retry-after of the platform that is believed.'),
    loginPaths: Type.Array(Type.String({ pattern: '^/' }), {
      default: ['/login'],
      description: 'A redirect to one of these paths means: credential refused.',
    }),
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

const endpoint = Type.Object(
  {
    readByPost: Type.Boolean({ default: false, description: 'POST with a JSON body is a read here.' }),
    rowsAt: Type.Optional(
      Type.String({
        description: 'Dotted path of the row array, e.g. result.rows; empty: the root; unset: found by rule.',
        allowed: 'text',
      }),
    ),
    requiredColumns: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        description: 'Members that every row has; an answer with a row that lacks one is no report (502).',
      }),
    ),
    knownColumns: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        description:
          'Columns in camelCase that make an answer a report, beside those seen before; an answer without any of both is none (502).',
      }),
    ),
    dateField: Type.Optional(Type.String({ minLength: 1, description: 'The member that holds the day.' })),
    rowCap: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100_000_000,
        description:
          'Rows at which the platform silently stops; an answer with so many is asked again in halves.',
      }),
    ),
    divisible: Type.Enum(['auto', 'always', 'never'], {
      default: 'auto',
      description: 'Whether by-date answers may be split by day: learned, or pinned.',
    }),
    freshness: Type.Enum(['own', 'origin'], {
      default: 'own',
      description: '`origin`: RFC 9111 decides by the answer headers.',
    }),
    knownParameters: Type.Array(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_]*$' }), {
      default: [],
      description:
        'Further parameters that the platform reads here: taken neither for misspelt nor for an account, and not warned of.',
    }),
    unknownParameters: Type.Enum(['pass', 'refuse'], {
      default: 'pass',
      description:
        'What is done with a parameter that is not known and looks like no known one: passed on with a warning, or 400.',
    }),
  },
  { additionalProperties: false, default: {} },
);

const report = group(
  {
    restatementDays: Type.Integer({
      minimum: 0,
      maximum: 365,
      default: 5,
      description: 'A day is final when it is before today minus this.',
    }),
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
    mergeGapDays: Type.Integer({
      minimum: 0,
      maximum: 400,
      default: 7,
      description: 'Missing days with at most so many cached days between them are fetched by one call.',
    }),
    maxDaysPerCall: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 92,
      description: 'Longest range of one platform call for by-date reports; more go in parallel.',
    }),
    crossCheckEvery: Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      default: 200,
      description:
        'One in this many answers of a series that were joined from days is compared with a whole answer of the platform, beside the first ones and one a day; 0: none is.',
    }),
    accountFields: Type.Array(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_]*$' }), {
      minItems: 1,
      default: ['advertiserId', 'userId'],
      description: 'Parameters that name the account of a report; the first is the usual one.',
    }),
    accountPattern: text(
      'Names (lower case, without _ . - [ ]) that look like an account, in queries, bodies and rows.',
      {
        default: '^(user|account|advertiser|client|customer|agency|owner|parent)ids?$',
      },
    ),
    nonAccountParameters: Type.Array(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_]*$' }), {
      default: [],
      description:
        'Parameters and columns that look as if they named an account and do not, e.g. clientTimezone: limited teams may send and see them.',
    }),
    maxRows: Type.Integer({
      minimum: 1,
      maximum: 100_000_000,
      default: 1_000_000,
      description: 'Most rows of one platform answer; beyond it 502 upstream_too_large.',
    }),
  },
  'How reports are read and kept.',
);

const cache = group(
  {
    l1MaxBytes: Type.Integer({
      minimum: 1_048_576,
      maximum: 68_719_476_736,
      default: 134_217_728,
      description: 'Finished bodies kept in each process.',
    }),
    embeddedMaxBytes: Type.Integer({
      minimum: 1_048_576,
      maximum: 68_719_476_736,
      default: 268_435_456,
      description: 'Disk that the cache entries of the embedded store may take, about.',
    }),
    compressMinBytes: Type.Integer({
      minimum: 0,
      maximum: 1_048_576,
      default: 1024,
      description: 'Smallest body that is compressed for a caller who accepts it.',
    }),
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
    read: Type.Boolean({ default: false, description: 'A POST that only reads: scope platform:read.' }),
    account: Type.Array(Type.String({ pattern: '^(query|body)\\.[A-Za-z][A-Za-z0-9_]*$' }), {
      default: [],
      description:
        'Where the account is named, e.g. body.userId; one of them must be there for a limited team.',
    }),
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
    timeoutMs: Type.Integer({
      minimum: 10,
      maximum: 10_000,
      default: 150,
      description: 'Longest wait for one Redis command.',
    }),
    cacheMaxBytes: Type.Optional(
      Type.Integer({
        minimum: 1_048_576,
        maximum: 1_099_511_627_776,
        description:
          'Memory Redis may use before nothing more is cached; never more than seven eighths of its maxmemory.',
        shownDefault: "half of the server's maxmemory",
      }),
    ),
    idempotencyMaxBytes: Type.Integer({
      minimum: 1_048_576,
      maximum: 17_179_869_184,
      default: 67_108_864,
      description:
        'Memory in Redis for the answers to writes with an idempotency key; beyond three quarters answers are not kept.',
    }),
    minReplicas: Type.Integer({
      minimum: 0,
      maximum: 16,
      default: 0,
      description:
        'Replicas of Redis that have to confirm a change of teams, keys or tokens (WAIT); the answer says when fewer did.',
    }),
    sentinels: Type.Array(host, { default: [], description: 'Sentinel form: the sentinels.' }),
    sentinelName: Type.String({
      default: 'mymaster',
      minLength: 1,
      description: 'Sentinel form: the master.',
    }),
    cluster: Type.Array(host, { default: [], description: 'Cluster form: first nodes.' }),
    username: Type.Optional(
      Type.String({ minLength: 1, description: 'For the sentinel and cluster forms.' }),
    ),
    password: secret('REDIS_PASSWORD', 'For the sentinel and cluster forms.'),
    tls: Type.Boolean({ default: false, description: 'TLS for the sentinel and cluster forms.' }),
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
    enabled: Type.Boolean({
      default: true,
      description:
        'What reports by date said is written down, day by day, so that it can be asked for as of a past moment.',
    }),
    retentionDays: Type.Integer({
      minimum: 32,
      maximum: 3650,
      default: 400,
      description: 'Days for which the history of a day is kept, by whole months.',
    }),
    maxBytes: Type.Integer({
      minimum: 1_048_576,
      maximum: 1_099_511_627_776,
      default: 1_073_741_824,
      description: 'All history together; beyond it the oldest months go, with a warning.',
    }),
    endpoints: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description: 'Report endpoints whose history is kept, as campaigns/get; all where empty.',
    }),
    splits: Type.Array(Type.String({ pattern: '^date(\\+[a-z]+)*$' }), {
      default: [],
      description: 'Splits whose history is kept, as date or date+campaign; all by date where empty.',
    }),
  },
  'What reports said, and when.',
);

const finality = group(
  {
    mode: Type.Enum(['fixed', 'observe', 'learned'], {
      default: 'observe',
      description:
        'When days are final. `fixed`: by restatementDays; `observe`: the same, and how long days change is learned from the history and shown; `learned`: by what was learned, never sooner than restatementDays.',
    }),
    maxDays: Type.Integer({
      minimum: 1,
      maximum: 90,
      default: 45,
      description: 'A day that is older is final, whatever was learned.',
    }),
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
    maxRows: Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 100,
      description: 'Most rows of one result of a tool; the rest by cursor.',
    }),
    maxBytes: Type.Integer({
      minimum: 8192,
      maximum: 1_048_576,
      default: 40_000,
      description: 'Most bytes of one result of a tool, for each of its two copies: structured, and as text.',
    }),
  },
  'Tools for assistants (MCP), for teams with the scope mcp.',
);

const tracing = group(
  {
    endpoint: Type.Optional(
      Type.String({
        minLength: 1,
        env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
        description:
          'Address of an OpenTelemetry collector (OTLP over HTTP, usually port 4318); spans go to v1/traces below it. Off when unset.',
        allowed: 'an http:// or https:// address',
      }),
    ),
    tracesEndpoint: Type.Optional(
      Type.String({
        minLength: 1,
        env: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
        description: 'The same for spans alone, with its path: it is asked as it stands, and wins.',
        allowed: 'an http:// or https:// address',
      }),
    ),
    headers: secret(
      'OTEL_EXPORTER_OTLP_HEADERS',
      'Headers for the collector, as name=value,name=value with percent-encoded values.',
    ),
    serviceName: text('Name of the gateway in traces.', {
      env: 'OTEL_SERVICE_NAME',
      default: 'dsp-gateway',
    }),
    resourceAttributes: Type.Optional(
      Type.String({
        minLength: 1,
        env: 'OTEL_RESOURCE_ATTRIBUTES',
        description: 'What else all spans say, as name=value,name=value with percent-encoded values.',
      }),
    ),
    sampler: Type.Enum(
      [
        'always_on',
        'always_off',
        'traceidratio',
        'parentbased_always_on',
        'parentbased_always_off',
        'parentbased_traceidratio',
      ],
      {
        default: 'parentbased_always_on',
        env: 'OTEL_TRACES_SAMPLER',
        description: 'Which requests are recorded; parentbased: as their caller decided, else by the rest.',
      },
    ),
    samplerArg: text('With traceidratio: the share of traces that is recorded, 0 to 1.', {
      env: 'OTEL_TRACES_SAMPLER_ARG',
      default: '1',
      pattern: '^(0|1|0?\\.[0-9]{1,9}|1\\.0{1,9})$',
      allowed: 'a number from 0 to 1',
    }),
    disabled: Type.Boolean({
      default: false,
      env: 'OTEL_SDK_DISABLED',
      description: 'Off, whatever else is set.',
    }),
  },
  'Spans for OpenTelemetry.',
);

const writeGuard = group(
  {
    default: Type.Enum(['allow', 'refuse'], {
      default: 'allow',
      description: 'Whether teams without a write guard of their own may write at all.',
    }),
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
    tokenFile: Type.Optional(
      Type.String({ minLength: 1, description: 'The file that holds the token; re-read when it changes.' }),
    ),
    tokenEnv: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
        description: 'The environment variable that holds the token, where there is no file.',
      }),
    ),
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
    teamsFile: Type.Optional(
      Type.String({
        minLength: 1,
        env: 'GATEWAY_TEAMS_FILE',
        description:
          'YAML file of teams that is applied at each start (config/teams.example.yaml). Off when unset.',
      }),
    ),
    logLevel: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      default: 'info',
      env: 'LOG_LEVEL',
      description: 'Least severity that is logged.',
    }),
    testClock: Type.Boolean({
      default: false,
      env: 'GATEWAY_TEST_CLOCK',
      description: 'Lets PUT /admin/v1/clock move "now". Refused in production.',
    }),
  },
  { additionalProperties: false, default: {} },
);

export type ConfigValues = Static<typeof ConfigSchema>;
export type EndpointRule = Static<typeof endpoint>;
export type RouteRule = Static<typeof route>;
export type AdminRole = Static<typeof adminToken>['role'];
