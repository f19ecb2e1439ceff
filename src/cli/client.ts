/** HTTP client of the commands: address, credential, and refusals as errors. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Static, TSchema } from 'typebox';
import type { AdminOperation, AnswerOf } from '../api/operations/operation.js';
import type { Environment } from '../config/rules.js';
import type { Frozen } from '../lib/record.js';
import { timeoutSignal } from '../lib/time.js';
import { CommandError, EXIT, exitCodeOf, Unanswered, Unreachable } from './command-error.js';
import { problemIn, Refused } from './refusal.js';
import { savedSession } from './session-file.js';

export interface ClientOptions {
  readonly url?: string;
  readonly adminTokenFile?: string;
  readonly keyFile?: string;
  readonly json?: boolean;
  readonly csv?: boolean;
}

/** A plane of the gateway with its address and credential. */
export interface Plane {
  readonly name: string;
  readonly secret: string;
  /** Variable with the address. */
  readonly url: string;
  readonly port: readonly [setting: string, usual: string];
  /** Variable with the secret; `…_FILE` names a file. */
  readonly variable: string;
  readonly fileOption: readonly [member: 'adminTokenFile' | 'keyFile', flag: string];
  readonly group: string;
  readonly options: readonly (readonly [flags: string, description: string])[];
  readonly headers: (secret: string) => Readonly<Record<string, string>>;
  /** What `dsp-gateway login` kept for the gateway at this address. */
  readonly session?: typeof savedSession;
  /** Default file of the secret. */
  readonly usualFile?: (env: Environment) => string;
}

export const ADMIN_PLANE: Plane = {
  name: 'admin plane',
  secret: 'admin token',
  url: 'GATEWAY_ADMIN_URL',
  port: ['ADMIN_PORT', '8081'],
  variable: 'ADMIN_TOKEN',
  fileOption: ['adminTokenFile', '--admin-token-file'],
  group: 'Options of all commands for the admin API:',
  options: [
    ['--url <url>', 'address of the admin plane (GATEWAY_ADMIN_URL; default: http://127.0.0.1:$ADMIN_PORT)'],
    [
      '--admin-token-file <path>',
      'file with the admin token (ADMIN_TOKEN, ADMIN_TOKEN_FILE; default: the session of dsp-gateway login, else admin.token in GATEWAY_DATA_DIR)',
    ],
    ['--json', 'print JSON'],
  ],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  session: savedSession,
  usualFile: (env) => join(env.GATEWAY_DATA_DIR || './data', 'admin.token'),
};

export const DATA_PLANE: Plane = {
  name: 'data plane',
  secret: 'team key',
  url: 'GATEWAY_URL',
  port: ['PORT', '8080'],
  variable: 'DSP_GATEWAY_KEY',
  fileOption: ['keyFile', '--key-file'],
  group: 'Options of all commands for the data plane:',
  options: [
    ['--url <url>', 'address of the data plane (GATEWAY_URL; default: http://127.0.0.1:$PORT)'],
    ['--key-file <path>', 'file with the team key (DSP_GATEWAY_KEY, DSP_GATEWAY_KEY_FILE)'],
    ['--json', 'print JSON'],
    ['--csv', 'print CSV'],
  ],
  headers: (secret) => ({ 'x-api-key': secret }),
};

/** Longer than a token request and the verification of the token (`platform/credential/`). */
const TIMEOUT_MS = 120_000;

export interface Call {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly body?: object | undefined;
  readonly timeoutMs?: number | undefined;
}

/** @returns the response body. @throws CommandError */
export type Ask = (call: Call) => Promise<string>;

export interface PlaneAnswer {
  readonly text: string;
  readonly headers: Headers;
}

interface Credential {
  readonly text: string;
  /** Where it comes from, for people. */
  readonly source: string;
}

/** @param credential null: none is sent; absent: as options and environment have it */
export function openPlane(
  plane: Plane,
  options: ClientOptions,
  env: Environment,
  credential?: Credential | null,
) {
  const base = addressOf(plane, options, env);
  const secret = credential === undefined ? secretOf(plane, options, env, base) : credential;
  const away = (error: Error): never => {
    const cause = error.cause instanceof Error ? error.cause.message : error.message;
    throw new Unreachable(
      `the ${plane.name} at ${base} cannot be reached (${cause}); start the gateway, or set its address with --url or ${plane.url}`,
    );
  };
  async function send({ method, path, body }: Call, signal: AbortSignal): Promise<Response> {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { ...(secret && plane.headers(secret.text)), ...type },
      body: body === undefined ? null : JSON.stringify(body),
      redirect: 'manual',
      signal,
    }).catch(away);
    if (response.ok) return response;
    const { status } = response;
    if (status === 401 && secret?.source === LOGIN)
      throw new CommandError(`Your session at ${base} has ended. ${SIGN_IN_AGAIN}`, EXIT.denied);
    if (status === 401 && plane === ADMIN_PLANE && secret !== null)
      throw new CommandError(
        `The gateway at ${base} does not accept this admin token (from ${secret.source}).\nUse its token with ADMIN_TOKEN or --admin-token-file, or another gateway with --url.`,
        EXIT.denied,
      );
    const refused = refusal(plane, await response.text().catch(away), response, base);
    if (status !== 404 || !(refused instanceof Refused) || plane !== ADMIN_PLANE) throw refused;
    // Usually the port of the data plane was given. The admin plane has this path and requires a token.
    const { status: known } = await fetch(`${base}/admin/v1/status`, { redirect: 'manual', signal }).catch(
      away,
    );
    if (known !== 404) throw refused;
    throw new CommandError(
      `there is no admin API at ${base}, which may be the data plane; set the address of the admin plane with --url or GATEWAY_ADMIN_URL`,
      EXIT.notFound,
    );
  }
  /** @throws CommandError */
  async function answer(call: Call, stop?: AbortSignal): Promise<PlaneAnswer> {
    const timeoutMs = call.timeoutMs ?? TIMEOUT_MS;
    const late = timeoutSignal(timeoutMs);
    const signal = stop === undefined ? late : AbortSignal.any([late, stop]);
    try {
      const response = await send(call, signal);
      return { text: await response.text().catch(away), headers: response.headers };
    } catch (error) {
      // It has accepted the connection: that would have failed earlier.
      if (!late.aborted) throw error;
      throw new Unanswered(
        `the gateway at ${base} did not answer within ${timeoutMs / 1000} s; it is running, so look at its state with dsp-gateway status, and repeat later`,
      );
    }
  }
  return {
    base,
    answer,
    ask: async (call: Call): Promise<string> => (await answer(call)).text,
    /** The lines of a streamed response. Both reject with {@link Unreachable} if the connection breaks. */
    lines: async (path: string, stop: AbortSignal) =>
      linesOf(await send({ method: 'GET', path }, stop), away),
  };
}

async function* linesOf({ body }: Response, away: (error: Error) => never): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (error) {
    away(error as Error);
  }
}

function addressOf({ url, port }: Plane, options: ClientOptions, env: Environment): string {
  const usual = `http://127.0.0.1:${env[port[0]] || port[1]}`;
  const [name, text] = options.url === undefined ? [url, env[url] || usual] : ['--url', options.url];
  const parsed = URL.canParse(text) ? new URL(text) : null;
  const plain =
    parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.search === '' && parsed.hash === '';
  if (plain && parsed.username === '' && parsed.password === '') return parsed.href.replace(/\/+$/, '');
  // Not repeated: the text may contain a secret.
  throw new CommandError(
    `${name}: allowed is an address such as http://127.0.0.1:${port[1]}, without user, query or fragment`,
    EXIT.data,
  );
}

export const LOGIN = 'dsp-gateway login';
const SIGN_IN_AGAIN = 'Sign in again: dsp-gateway login';

/** In order: file of the option, variable, file of the variable, session of `login`, default file. */
function secretOf(plane: Plane, options: ClientOptions, env: Environment, base: string): Credential {
  const { secret: what, variable, usualFile } = plane;
  const [member, flag] = plane.fileOption;
  const named = options[member];
  const text = env[variable];
  if (named === undefined && text) return checked(text, variable, what);
  const given = named ?? (env[`${variable}_FILE`] || undefined);
  const session = given === undefined ? (plane.session?.(base, env) ?? null) : null;
  if (session !== null) return { text: session.token, source: LOGIN };
  const path = given ?? usualFile?.(env);
  let reason = 'none is configured';
  try {
    if (path !== undefined) return checked(readFileSync(path, 'utf8').trim(), path, what);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    reason = code === 'ENOENT' ? `there is no file ${path}` : message;
  }
  throw new CommandError(
    `no ${what}: ${reason}. Set ${variable}, or give its file with ${flag} or ${variable}_FILE${plane.session === undefined ? '' : `; or sign in with your company account: ${LOGIN}`}`,
    EXIT.denied,
  );
}

/** An invalid header value would make `fetch` throw an error that quotes it. */
function checked(text: string, source: string, what: string): Credential {
  if (/^[\x21-\x7e]+$/.test(text)) return { text, source };
  throw new CommandError(
    `${source}: has ${text.length} characters, some not printable ASCII; allowed is the ${what} alone`,
    EXIT.denied,
  );
}

function refusal({ name }: Plane, text: string, { status, headers }: Response, base: string): CommandError {
  const problem = problemIn(text);
  if (problem === null)
    return new CommandError(
      `the server at ${base} is not a gateway's ${name}: ${status} without a problem document`,
      EXIT.unavailable,
    );
  const seconds = headers.get('retry-after') ?? '';
  return new Refused(problem, exitCodeOf(status), /^\d{1,6}$/.test(seconds) ? Number(seconds) : null);
}

/** Undefined members are omitted. */
type QueryValues = Readonly<Record<string, unknown>>;

interface CallInput<O extends AdminOperation> {
  /** Replaces `:id`. */
  readonly id?: string | undefined;
  readonly query?: QueryValues | undefined;
  readonly body?:
    | (O extends { readonly body: infer B extends TSchema } ? Frozen<Static<B>> : never)
    | undefined;
  readonly timeoutMs?: number;
}

export interface Admin {
  /**
   * @returns the answer. Required members are present; their types are not checked, as the gateway may be of another release
   * @throws CommandError
   */
  ask<O extends AdminOperation>(operation: O, input?: CallInput<O>): Promise<AnswerOf<O>>;
  lines(operation: AdminOperation, query: QueryValues, stop: AbortSignal): Promise<AsyncIterable<string>>;
}

export function openAdmin(options: ClientOptions, env: Environment): Admin {
  const client = openPlane(ADMIN_PLANE, options, env);
  return {
    async ask({ call, answer }, { id, query, body, timeoutMs } = {}) {
      const [method = ''] = call.split(' ');
      const path = pathOf(call, query, id);
      const text = await client.ask({ method, path, body: body as object, timeoutMs });
      return parseAnswer(text, answer, client.base) as never;
    },
    lines: ({ call }, query, stop) => client.lines(pathOf(call, query), stop),
  };
}

function pathOf(call: string, query: QueryValues = {}, id = ''): string {
  const [, pattern = ''] = call.split(' ');
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
  return `${pattern.replace(':id', () => encodeURIComponent(id))}${search}`;
}

/**
 * @param schema of the answer; undefined: it may be empty
 * @throws CommandError for any other response: another server may listen at the address
 */
function parseAnswer(text: string, schema: TSchema | undefined, base: string): object | null {
  if (schema === undefined && text === '') return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new CommandError(
      `the server at ${base} is not an admin plane: its response is not JSON`,
      EXIT.unavailable,
    );
  }
  const { required = [] } = (schema ?? {}) as { readonly required?: readonly string[] };
  if (typeof value === 'object' && value !== null && required.every((name) => name in value)) return value;
  throw new CommandError(
    `unexpected response of the gateway at ${base}: required members are missing. Check --url, or use the command of that gateway's release.`,
    EXIT.unavailable,
  );
}
