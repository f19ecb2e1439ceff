/** The admin API as the commands use it: where it is, who asks, and its errors as lines a person can read. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Static, TSchema } from 'typebox';
import type { AdminOperation } from '../api/operations/operation.js';
import type { AdminCalls, AnswerTo } from '../api/operations/table.js';
import type { Environment } from '../config/rules.js';
import type { Frozen } from '../lib/record.js';
import { timeoutSignal } from '../lib/time.js';
import { CommandError, Unreachable } from './command-error.js';
import { EXIT, exitCodeOf } from './exit-codes.js';
import { problemIn, Refused } from './say-refusal.js';

export interface AdminOptions {
  readonly url?: string;
  readonly adminTokenFile?: string;
  readonly json?: boolean;
}

/** Members without a value are left out. */
type QueryValues = Readonly<Record<string, string | number | undefined>>;

interface CallInput<O extends AdminOperation> {
  /** Replaces `:id`. */
  readonly id?: string | undefined;
  readonly query?: QueryValues;
  readonly body?: O extends { readonly body: infer B extends TSchema } ? Frozen<Static<B>> : never;
  readonly timeoutMs?: number;
}

export interface Admin {
  /**
   * Calls the admin API.
   * @returns the answer. It has every member that this release requires; their forms are not checked, for another release may
   *   have written them
   * @throws CommandError, here and below
   */
  ask<C extends keyof AdminCalls>(call: C, input?: CallInput<AdminCalls[C]>): Promise<AnswerTo<C>>;
  /** The lines of a streamed answer. Both reject with {@link Unreachable} when the connection breaks. */
  lines(call: keyof AdminCalls, query: QueryValues, stop: AbortSignal): Promise<AsyncIterable<string>>;
}

/** A rotation asks the platform twice, each time with a deadline of its own. */
const TIMEOUT_MS = 120_000;

/** @throws CommandError when the address is none, or no admin token is found */
export function openAdmin(options: AdminOptions, env: Environment): Admin {
  const base = adminUrl(options, env);
  const token = adminToken(options, env);
  const away = (error: Error): never => {
    const cause = error.cause instanceof Error ? error.cause.message : error.message;
    throw new Unreachable(
      `the admin plane at ${base} cannot be reached (${cause}); is the gateway running there?`,
    );
  };
  async function check(status: number, text: () => Promise<string>): Promise<void> {
    if (status === 401) throw unknownToken(base, token.source);
    if (status < 200 || status > 299) throw refusal(await text(), status, base);
  }
  return {
    async ask(call, { id, query, body, timeoutMs } = {}) {
      const [method = ''] = call.split(' ');
      const [{ status, text }, { ADMIN_OPERATIONS }] = await Promise.all([
        exchange(urlOf(base, call, id, query), method, token.text, body, timeoutMs).catch(away),
        // Loaded with the first call, for schemas take longer to load than help does.
        import('../api/operations/table.js'),
      ]);
      await check(status, async () => text);
      const operation = ADMIN_OPERATIONS.find((one) => one.call === call);
      return parseAnswer(text, operation?.answer, base) as never;
    },
    async lines(call, query, stop) {
      const headers = { authorization: `Bearer ${token.text}` };
      const url = urlOf(base, call, undefined, query);
      const response = await fetch(url, { headers, redirect: 'manual', signal: stop }).catch(away);
      await check(response.status, () => response.text());
      return linesOf(response, away);
    },
  };
}

function urlOf(base: string, call: string, id = '', query: QueryValues = {}): string {
  const [, pattern = ''] = call.split(' ');
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
  return `${base}${pattern.replace(':id', () => encodeURIComponent(id))}${search}`;
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

async function exchange(
  url: string,
  method: string,
  token: string,
  body?: object,
  withinMs = TIMEOUT_MS,
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: 'manual',
    signal: timeoutSignal(withinMs),
  });
  return { status: response.status, text: await response.text() };
}

function adminUrl(options: AdminOptions, env: Environment): string {
  const [name, text] =
    options.url !== undefined
      ? ['--url', options.url]
      : ['GATEWAY_ADMIN_URL', env.GATEWAY_ADMIN_URL || `http://127.0.0.1:${env.ADMIN_PORT || '8081'}`];
  const url = URL.canParse(text) ? new URL(text) : null;
  const plain = url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '';
  if (plain && url.username === '' && url.password === '') return url.href.replace(/\/+$/, '');
  // What stands in for an address may hold a secret.
  throw new CommandError(
    `${name}: allowed is an address such as http://127.0.0.1:8081, without user, query or fragment`,
    EXIT.data,
  );
}

interface AdminToken {
  readonly text: string;
  /** The setting or file that it is from. */
  readonly source: string;
}

/** The file named by an option, ADMIN_TOKEN, the file named by ADMIN_TOKEN_FILE, or the one the gateway made. */
function adminToken(options: AdminOptions, env: Environment): AdminToken {
  if (options.adminTokenFile === undefined && env.ADMIN_TOKEN) return checked(env.ADMIN_TOKEN, 'ADMIN_TOKEN');
  const path =
    options.adminTokenFile ?? (env.ADMIN_TOKEN_FILE || join(env.GATEWAY_DATA_DIR || './data', 'admin.token'));
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? `there is no file ${path}` : message;
    throw new CommandError(
      `no admin token: ${reason}. Set ADMIN_TOKEN, or name its file by --admin-token-file or ADMIN_TOKEN_FILE`,
      EXIT.denied,
    );
  }
  return checked(text, path);
}

/** What no header can hold would make `fetch` throw an error that quotes it. */
function checked(text: string, source: string): AdminToken {
  if (/^[\x21-\x7e]+$/.test(text)) return { text, source };
  throw new CommandError(
    `${source}: holds ${text.length} characters, some not printable ASCII; allowed is the admin token alone`,
    EXIT.denied,
  );
}

/**
 * @param schema of the answer; undefined: there may be none
 * @throws CommandError for what is no answer to this call: something else may listen at the address
 */
function parseAnswer(text: string, schema: TSchema | undefined, base: string): object | null {
  if (schema === undefined && text === '') return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new CommandError(`what answers at ${base} is no admin plane: it sent no JSON`, EXIT.unavailable);
  }
  const { required = [] } = (schema ?? {}) as { readonly required?: readonly string[] };
  if (typeof value === 'object' && value !== null && required.every((name) => name in value)) return value;
  throw new CommandError(
    `what answers at ${base} is no admin plane that this release knows: its answer has another form. Check --url, or use the command that came with that gateway.`,
    EXIT.unavailable,
  );
}

/** With the address, for often a gateway was meant that listens elsewhere. */
function unknownToken(base: string, source: string): CommandError {
  return new CommandError(
    `The gateway at ${base} does not know this admin token (from ${source}).\nGive the one it was started with, by ADMIN_TOKEN or --admin-token-file, or name another gateway by --url.`,
    EXIT.denied,
  );
}

/** What was answered in place of what was asked for. */
function refusal(text: string, status: number, base: string): CommandError {
  const problem = problemIn(text);
  if (problem === null) {
    const words = `what answers at ${base} is no admin plane: ${status}, and no problem document`;
    return new CommandError(words, EXIT.unavailable);
  }
  // Every plane says so of an address it does not have; most often the data plane's port was given.
  if (problem.detail.startsWith('There is nothing at this address'))
    return new CommandError(
      `there is no admin API at ${base}, which may be the data plane; say where the admin plane is by --url or GATEWAY_ADMIN_URL`,
      exitCodeOf(status),
    );
  return new Refused(problem, status);
}
