/** Calls over real sockets, as the client of an app or of an operator makes them. */
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher, request } from 'undici';
import { afterEachFile } from './after-file.js';
import type { Gateway } from './processes.js';

const newAgent = () => new Agent({ keepAliveTimeout: 1000 });
let agent = newAgent();
afterEachFile(async () => {
  await agent.destroy();
  agent = newAgent();
});

export const REPORT = '/api/v1/report/campaigns/get';

export interface Ask {
  readonly method?: Dispatcher.HttpMethod;
  readonly headers?: Record<string, string | string[]>;
  /** Sent as `x-api-key`. */
  readonly key?: string;
  /** Sent as the bearer of `authorization`. */
  readonly bearer?: string | undefined;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** A stream is sent without saying its length. */
  readonly body?: string | Buffer | Readable;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly text: string;
  json<T = Record<string, unknown>>(): T;
}

/** The body as it came: no redirect is followed, nothing is decompressed. */
export async function ask(url: string, options: Ask = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, key, bearer, json } = options;
  const body = json === undefined ? options.body : JSON.stringify(json);
  const response = await request(url, {
    dispatcher: agent,
    method,
    headers: {
      ...(key === undefined ? {} : { 'x-api-key': key }),
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const bytes = Buffer.from(await response.body.arrayBuffer());
  const text = bytes.toString('utf8');
  return {
    status: response.statusCode,
    headers: Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
    ),
    bytes,
    text,
    json: <T>() => JSON.parse(text) as T,
  };
}

/** A call of the admin plane that must succeed. @returns its JSON, `{}` for a 204 */
export async function admin<T = Record<string, unknown>>(
  gateway: Pick<Gateway, 'admin' | 'adminToken'>,
  method: Dispatcher.HttpMethod,
  path: string,
  json?: unknown,
): Promise<T> {
  const answer = await ask(`${gateway.admin}/admin/v1${path}`, {
    method,
    bearer: gateway.adminToken,
    ...(json === undefined ? {} : { json }),
  });
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
  return answer.status === 204 ? ({} as T) : answer.json<T>();
}

export interface IssuedKey {
  readonly id: string;
  readonly key: string;
  readonly prefix: string;
  readonly teamId: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
}

/** Makes a team that may do everything, unless told otherwise, and a key of it. */
export async function newTeam(
  gateway: Pick<Gateway, 'admin' | 'adminToken'>,
  team: { readonly id: string } & Record<string, unknown>,
): Promise<IssuedKey> {
  await admin(gateway, 'POST', '/teams', {
    scopes: ['report:read', 'platform:read', 'platform:write', 'cache:refresh'],
    advertisers: '*',
    limits: { requestsPerMinute: 1_000_000, maxConcurrent: 10_000 },
    ...team,
  });
  return admin<IssuedKey>(gateway, 'POST', `/teams/${team.id}/keys`, {});
}

/** One recorded call of the simulated platform, as far as tests look at it. */
export interface PlatformCall {
  /** When it arrived, milliseconds since the Unix epoch by the simulator's clock. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  readonly status: number;
}

/** The simulator's own side. */
export function simulatorOf(url: string) {
  const control = async (method: Dispatcher.HttpMethod, path: string, json?: unknown): Promise<Answer> => {
    const answer = await ask(`${url}/_sim${path}`, { method, ...(json === undefined ? {} : { json }) });
    if (answer.status >= 300) throw new Error(`${method} /_sim${path}: ${answer.status} ${answer.text}`);
    return answer;
  };
  return {
    /** Every call since the last `forget`, oldest first. */
    calls: async () => (await control('GET', '/calls')).json<{ calls: PlatformCall[] }>().calls,
    forget: () => control('DELETE', '/calls'),
    set: (switches: object) => control('PATCH', '/switches', switches),
    fault: (fault: object) => control('POST', '/faults', fault),
    clearFaults: () => control('DELETE', '/faults'),
    revoke: (token?: string) => control('POST', '/revoke', token === undefined ? {} : { token }),
    issueToken: async () => (await control('POST', '/tokens')).json<{ token: string }>().token,
    today: async () => (await control('GET', '')).json<{ today: string }>().today,
    /** The rows a correct platform answers with. */
    truth: async (query: string) =>
      (await control('GET', `/truth?${query}`)).json<{ rows: Record<string, unknown>[] }>().rows,
  };
}

/** The day some days before one, as YYYY-MM-DD. */
export function daysBefore(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) - count * 86_400_000).toISOString().slice(0, 10);
}
