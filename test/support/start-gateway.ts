/** A whole gateway in this process, on a store in its memory, with a clock that a test moves. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import inject, { type InjectOptions, type Response } from 'light-my-request';
import type { Dispatcher } from 'undici';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { issue } from '../../src/api/admin/keys.js';
import { addTeam } from '../../src/api/admin/teams.js';
import { buildAdminPlane } from '../../src/api/admin.js';
import { buildDataPlane } from '../../src/api/data.js';
import { type Config, loadConfig } from '../../src/config/load.js';
import { fixedSecret } from '../../src/config/secret.js';
import type { Problem } from '../../src/lib/http/problem.js';
import { createServices, type Services } from '../../src/server/services.js';
import { startSimulator } from '../../src/simulator/simulator.js';
import type { Simulator, SimulatorOptions } from '../../src/simulator/simulator-api.js';
import { createEmbeddedStore } from '../../src/store/embedded/embedded-store.js';
import type { Store } from '../../src/store/port.js';
import type { NewTeam } from '../../src/teams/auth/team.js';
import { createLog, type Log } from '../../src/telemetry/logger.js';
import { createMemoryServer } from './memory/memory-store.js';
import { createTestClock, type TestClock } from './test-clock.js';

export const REPORT = '/api/v1/report/campaigns/get';
export const ADMIN_TOKEN = 'admin-token-of-the-tests';

export interface GatewayOptions {
  /** ISO time at which the clock starts; noon of 2026-11-21. */
  readonly now?: string;
  /** Settings as they would stand in the YAML file. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** The embedded store in a folder of its own, where its files are the subject; otherwise one in memory. */
  readonly onDisk?: boolean;
  /** Settings of the environment, beside the platform's address and token. */
  readonly env?: Readonly<Record<string, string>>;
  /** Laid between the gateway and its store, to break it. */
  readonly wrapStore?: (store: Store) => Store;
  /** The store of another gateway, to be its replica. */
  readonly sharedStore?: Store;
  readonly clock?: TestClock;
  /** What secrets are sealed with; one of this run when absent. */
  readonly masterKey?: string;
  /** The connection pool to the platform; one is made when absent. */
  readonly agent?: Dispatcher;
  /** `debug` unless given, which shows the stages of each request; answers at once are given above it. */
  readonly logLevel?: string;
  /** Whether the process is told to stop. */
  readonly stopping?: () => boolean;
}

/** A log line as JSON. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string };

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  readonly text: string;
  json<T = Record<string, unknown>>(): T;
}

/** The JSON form of a report. */
export interface ReportBody {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly meta: {
    readonly endpoint: string;
    readonly advertiserId: number | string | null;
    readonly period: { readonly from: string | null; readonly to: string | null } | null;
    readonly split: readonly string[];
    readonly spentBased: string | null;
    readonly rowCount: number;
    readonly asOf: string;
    readonly final: boolean;
    readonly stale: boolean;
    readonly firstProvisionalDate?: string;
    readonly revision?: string;
    readonly knownAt?: string;
    readonly source?: string;
    readonly reach: { readonly summable: boolean };
    readonly paging?: Readonly<Record<string, unknown>>;
    readonly days?: readonly {
      readonly date: string;
      readonly asOf: string;
      readonly final: boolean;
      readonly stale: boolean;
      readonly knownFrom?: string;
      readonly confirmedUntil?: string;
      readonly exact?: boolean;
      readonly ageHours?: number;
    }[];
    readonly totals?: Readonly<Record<string, unknown>>;
    readonly warnings?: readonly {
      readonly code: string;
      readonly message: string;
      readonly days?: readonly string[];
      readonly missing?: readonly string[];
    }[];
  };
}

/** @returns the report in an answer. @throws when it is none */
export function reportIn(reply: Reply): ReportBody {
  if (reply.status !== 200) throw new Error(`answered ${reply.status}: ${reply.text}`);
  return reply.json<ReportBody>();
}

/** Status and code of a problem, e.g. `403 advertiser_forbidden`; of anything else the status alone. */
export function outcomeOf(reply: Reply): string {
  const isProblem = reply.headers['content-type']?.startsWith('application/problem+json') ?? false;
  return isProblem ? `${reply.status} ${reply.json<Problem>().code}` : String(reply.status);
}

export interface Call {
  readonly method?: InjectOptions['method'];
  /** Sent as `x-api-key`. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly body?: string | Buffer;
  /** The caller's address. */
  readonly from?: string;
}

export interface TestGateway {
  readonly services: Services;
  readonly clock: TestClock;
  readonly data: FastifyInstance;
  readonly admin: FastifyInstance;
  readonly store: Store;
  /** Another data plane over the same services, with changes. */
  buildData(changes: Partial<Services>): Promise<FastifyInstance>;
  /** Asks the data plane, without a socket. */
  call(target: string, call?: Call): Promise<Reply>;
  /** Asks for the campaign report. @param query without `?` */
  report(key: string, query: string, call?: Call): Promise<Reply>;
  /** Asks the admin plane with its token. @throws when the answer is no 2xx */
  manage(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    json?: unknown,
  ): Promise<Record<string, unknown>>;
  /** Makes a team that may do everything, unless told otherwise. @returns a key of it */
  addTeam(team?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Every log line so far. */
  readonly log: readonly LogLine[];
  /** The same, as written. */
  readonly logText: string;
  close(): Promise<void>;
}

/** @param platform where the platform is, and a token for it */
export async function startGatewayAt(
  platform: { readonly url: string; readonly token: string },
  options: GatewayOptions = {},
): Promise<TestGateway> {
  const clock = options.clock ?? createTestClock(options.now);
  const folder = await mkdtemp(join(tmpdir(), 'dgw-gateway-'));
  const config = await settings(folder, platform, options.config ?? {}, options.env ?? {});
  const lines: string[] = [];
  const log = createLog({
    level: options.logLevel ?? 'debug',
    stream: { write: (line) => void lines.push(line) },
    secrets: () => [platform.token, ADMIN_TOKEN],
  });
  const own =
    options.sharedStore ??
    (options.onDisk === true
      ? await createEmbeddedStore({
          dataDir: join(folder, 'data'),
          cacheMaxBytes: config.cache.embeddedMaxBytes,
          clock,
          logger: log.logger,
        })
      : storeInMemory(clock, log));
  const store = options.wrapStore?.(own) ?? own;
  const services = await createServices({
    config,
    store,
    clock,
    log,
    masterKey: fixedSecret('GATEWAY_MASTER_KEY', options.masterKey ?? MASTER_KEY),
    proxy: {},
    ...(options.agent === undefined ? {} : { agent: options.agent }),
  });
  const app = {
    services,
    adminToken: fixedSecret('ADMIN_TOKEN', ADMIN_TOKEN),
    stopping: options.stopping ?? (() => false),
    metricsText: () => services.metrics.registry.metrics(),
    workersReady: () => true,
    dataUrl(): string | null {
      const address = data.server.address();
      return address !== null && typeof address === 'object'
        ? `http://${address.address}:${address.port}`
        : null;
    },
  };
  const data: FastifyInstance = await buildDataPlane(app);
  const { plane: admin, close: closeAdmin } = onceAsked(() => buildAdminPlane(app));
  const { call, report } = callsOf(data);
  return {
    services,
    clock,
    data,
    admin,
    store: own,
    buildData: (changes) => buildDataPlane({ ...app, services: { ...services, ...changes } }),
    call,
    report,
    manage: managementOf(admin),
    addTeam: teamsOf(services),
    get log() {
      return lines.map((line) => JSON.parse(line) as LogLine);
    },
    get logText() {
      return lines.join('');
    },
    async close() {
      await data.close();
      await closeAdmin();
      await services.close();
      if (options.sharedStore === undefined) await own.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Ended with the test. */
export async function gatewayAt(
  platform: { readonly url: string; readonly token: string },
  options: GatewayOptions = {},
): Promise<TestGateway> {
  const gateway = await startGatewayAt(platform, options);
  onTestFinished(() => gateway.close());
  return gateway;
}

export interface SimulatedGateway extends TestGateway {
  readonly simulator: Simulator;
}

export type SimulatedOptions = GatewayOptions &
  Pick<SimulatorOptions, 'switches' | 'basePath'> & {
    /** Whether the gateway has what the token request takes, too. */
    readonly mints?: boolean;
  };

/** A gateway in front of a simulated platform that has the same clock and no rate limit. */
export async function startGateway(options: SimulatedOptions = {}): Promise<SimulatedGateway> {
  const clock = options.clock ?? createTestClock(options.now);
  const simulator = await startSimulator({
    clock,
    switches: { rateLimitPerMinute: 0, ...options.switches },
    ...(options.basePath === undefined ? {} : { basePath: options.basePath }),
  });
  const { username, password, clientId, clientSecret } = simulator.account;
  const tokenRequest = {
    PLATFORM_USERNAME: username,
    PLATFORM_PASSWORD: password,
    PLATFORM_CLIENT_ID: String(clientId),
    PLATFORM_CLIENT_SECRET: clientSecret,
  };
  const env = { ...(options.mints === true ? tokenRequest : {}), ...options.env };
  const gateway = await startGatewayAt(simulator, { ...options, clock, env });
  // Defined on the same object, so that its getters stay live.
  return Object.assign(gateway, {
    simulator,
    close: bothOf(gateway.close, () => simulator.close()),
  });
}

/** Ended with the test. */
export async function withGateway(options: SimulatedOptions = {}): Promise<SimulatedGateway> {
  const gateway = await startGateway(options);
  onTestFinished(() => gateway.close());
  return gateway;
}

/** The same, and a key of a team that may do everything, unless told otherwise. */
export async function withTeam(
  options: Parameters<typeof withGateway>[0] = {},
  team: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly gateway: SimulatedGateway; readonly key: string }> {
  const gateway = await withGateway(options);
  return { gateway, key: await gateway.addTeam(team) };
}

const MASTER_KEY = randomBytes(32).toString('base64');

/** As the embedded store, without its files. */
function storeInMemory(clock: TestClock, log: Log): Store {
  return { ...createMemoryServer({ clock, logger: log.logger }).handle(), kind: 'embedded' };
}

function bothOf(first: () => Promise<void>, second: () => Promise<void>): () => Promise<void> {
  return async () => {
    await first();
    await second();
  };
}

async function settings(
  folder: string,
  platform: { readonly url: string; readonly token: string },
  tree: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string>>,
): Promise<Config> {
  const path = join(folder, 'config.yaml');
  const own = tree.platform as { readonly retry?: object } | undefined;
  // Retries follow each other at once, unless a test is about the wait between them.
  const given = { ...tree, platform: { ...own, retry: { baseMs: 1, ...own?.retry } } };
  await writeFile(path, stringify(given));
  return loadConfig({
    GATEWAY_CONFIG: path,
    GATEWAY_DATA_DIR: join(folder, 'data'),
    PLATFORM_BASE_URL: platform.url,
    PLATFORM_TOKEN: platform.token,
    ...env,
  });
}

function callsOf(data: FastifyInstance): Pick<TestGateway, 'call' | 'report'> {
  async function call(target: string, options: Call = {}): Promise<Reply> {
    const { method = 'GET', key, headers = {}, json, from } = options;
    const payload = json === undefined ? options.body : JSON.stringify(json);
    await data.ready();
    // By way of the server, as from a socket: the path gate stands in front of Fastify, and of its own inject.
    const response = await inject(
      (request, response) => void data.server.emit('request', request, response),
      {
        method,
        url: target,
        headers: {
          ...(key === undefined ? {} : { 'x-api-key': key }),
          ...(json === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(payload === undefined ? {} : { payload }),
        ...(from === undefined ? {} : { remoteAddress: from }),
      },
    );
    return replyOf(response);
  }
  return {
    call,
    report: (key, query, options = {}) =>
      call(query === '' ? REPORT : `${REPORT}?${query}`, { key, ...options }),
  };
}

export function replyOf(response: Response): Reply {
  return {
    status: response.statusCode,
    headers: response.headers as Record<string, string | undefined>,
    body: response.rawPayload,
    text: response.payload,
    json: <T>() => JSON.parse(response.payload) as T,
  };
}

/** A plane that is built when it is first asked: most tests never do. Until then each member of it is a function that waits. */
function onceAsked(build: () => Promise<FastifyInstance>) {
  let building: Promise<FastifyInstance> | null = null;
  let built: FastifyInstance | null = null;
  const open = async (): Promise<FastifyInstance> => {
    building ??= build();
    built = await building;
    return built;
  };
  const memberOf = (plane: FastifyInstance, name: string | symbol): unknown => {
    const member: unknown = Reflect.get(plane, name);
    return typeof member === 'function' ? member.bind(plane) : member;
  };
  const plane = new Proxy({} as FastifyInstance, {
    get(_target, name) {
      if (built !== null) return memberOf(built, name);
      // It is no promise.
      if (name === 'then') return undefined;
      return async (...args: unknown[]) =>
        (memberOf(await open(), name) as (...of: unknown[]) => unknown)(...args);
    },
  });
  return { plane, close: async () => void (await (await building)?.close()) };
}

function managementOf(admin: FastifyInstance): TestGateway['manage'] {
  return async (method, path, json) => {
    const response = await admin.inject({
      method,
      url: `/admin/v1${path}`,
      headers: {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(json === undefined ? {} : { payload: JSON.stringify(json) }),
    });
    if (response.statusCode >= 300)
      throw new Error(`${method} ${path} answered ${response.statusCode}: ${response.payload}`);
    return response.payload === '' ? {} : (JSON.parse(response.payload) as Record<string, unknown>);
  };
}

/** As the admin plane does it, which need not be built for that. */
function teamsOf(services: Services): TestGateway['addTeam'] {
  const actor = { name: 'admin', address: '127.0.0.1' };
  let teams = 0;
  return async (given = {}) => {
    teams += 1;
    const team = {
      id: `team-${teams}`,
      scopes: ['report:read', 'platform:read', 'platform:write', 'cache:refresh'],
      advertisers: '*',
      limits: { requestsPerMinute: 1_000_000, maxConcurrent: 10_000 },
      ...given,
    };
    const { id: teamId } = await addTeam(team as NewTeam, actor, services);
    const { text } = await issue({ teamId, label: '', expiresAt: null }, actor, services);
    return text;
  };
}
