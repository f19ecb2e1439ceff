/** The admin API as the commands use it: where it is, who asks, and its errors as lines a person can read. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import type { Environment } from '../config/rules.js';
import type { Problem } from '../errors.js';

export interface AdminOptions {
  readonly admin?: string;
  readonly tokenFile?: string;
  readonly json?: boolean;
}

/** Exit code of a command that the gateway refused or that could not reach it (EX_UNAVAILABLE). */
export const EX_UNAVAILABLE = 69;

/** Thrown with lines for standard error; ends the command with a code of its own. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;
  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Options that every command against the admin API takes. */
export function withAdminOptions(command: Command): Command {
  return command
    .addOption(new Option('--admin <url>', 'address of the admin plane').env('DSP_GATEWAY_ADMIN'))
    .addOption(new Option('--token-file <path>', 'file that holds the admin token').env('ADMIN_TOKEN_FILE'))
    .option('--json', 'print JSON, for scripts');
}

export const ADMIN_HELP = `
The admin plane is sought at --admin, DSP_GATEWAY_ADMIN, or http://127.0.0.1:$ADMIN_PORT (8081). The admin token
comes from --token-file, ADMIN_TOKEN, or admin.token in GATEWAY_DATA_DIR (./data); never from the command line.`;

/**
 * Calls the admin API.
 * @returns the parsed answer; undefined for one without a body
 * @throws CommandError
 */
export async function callAdmin<T>(
  options: AdminOptions,
  env: Environment,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  const base = options.admin ?? `http://127.0.0.1:${env.ADMIN_PORT ?? '8081'}`;
  if (!URL.canParse(base))
    throw new CommandError(`--admin: was ${base}; allowed is an address such as http://127.0.0.1:8081`, 64);
  const response = await fetch(new URL(path, base), {
    method,
    headers: {
      authorization: `Bearer ${adminToken(options, env)}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch((error: Error) => {
    const cause = error.cause instanceof Error ? error.cause.message : error.message;
    throw new CommandError(
      `the admin plane at ${base} cannot be reached (${cause}); is the gateway running there?`,
      EX_UNAVAILABLE,
    );
  });
  const text = await response.text();
  if (!response.ok) throw new CommandError(problemLines(text, response.status), EX_UNAVAILABLE);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

function adminToken(options: AdminOptions, env: Environment): string {
  if (options.tokenFile === undefined && env.ADMIN_TOKEN !== undefined) return env.ADMIN_TOKEN;
  const path = options.tokenFile ?? join(env.GATEWAY_DATA_DIR ?? './data', 'admin.token');
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new CommandError(
      `no admin token: ${(error as Error).message}. Set ADMIN_TOKEN, or name its file by --token-file`,
      EX_UNAVAILABLE,
    );
  }
}

function problemLines(text: string, status: number): string {
  try {
    const { title, detail, errors = [] } = JSON.parse(text) as Problem;
    return [`${title}: ${detail}`, ...errors.map(({ param, message }) => `  ${param}: ${message}`)].join(
      '\n',
    );
  } catch {
    return `the admin plane answered ${status} with something that is no problem document`;
  }
}
