/** The data plane as the commands use it: where it is, which team asks, and its errors as lines a person can read. */
import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { Environment } from '../config/rules.js';
import { timeoutSignal } from '../lib/time.js';
import { CommandError, Unreachable } from './command-error.js';
import { withExamples } from './define.js';
import { EXIT } from './exit-codes.js';
import { inWordsOf, problemIn, Refused } from './say-refusal.js';
import type { Terminal } from './terminal.js';

export interface TeamOptions {
  readonly url?: string;
  readonly keyFile?: string;
  readonly json?: boolean;
  readonly csv?: boolean;
}

/** Of a command about one report. */
export interface ReportOptions extends TeamOptions {
  readonly endpoint?: string;
}

export const ENDPOINT_OPTION = [
  '--endpoint <path>',
  'report endpoint, where the address does not say it (default: campaigns/get)',
] as const;

/** The data plane, ready to be asked. @returns what it answered with, as text. @throws CommandError */
export type AskAsTeam = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => Promise<string>;

/** The heading of {@link TEAM_OPTIONS} in a command's help. */
export const TEAM_GROUP = 'Every command that asks as a team:';

const TEAM_OPTIONS: readonly (readonly [flags: string, description: string])[] = [
  ['--url <url>', 'address of the data plane (GATEWAY_URL; default: http://127.0.0.1:$PORT)'],
  ['--key-file <path>', 'file that holds the team key (DSP_GATEWAY_KEY, DSP_GATEWAY_KEY_FILE)'],
  ['--json', 'print JSON, for scripts'],
  ['--csv', 'print CSV, for a file'],
];
const SECRET_OPTIONS = ['--key', '--api-key', '--token', '--secret'];
const TIMEOUT_MS = 120_000;

/** A command that asks as a team. @param lines whole command lines, without `dsp-gateway` */
export function teamCommand(
  parent: Command,
  name: string,
  description: string,
  lines: readonly string[],
): Command {
  const command = parent.command(name).description(description);
  for (const flag of SECRET_OPTIONS) {
    command.addOption(new Option(`${flag} [secret]`).hideHelp());
    command.on(`option:${flag.slice(2)}`, refuseKey);
  }
  for (const [flags, about] of TEAM_OPTIONS)
    command.addOption(new Option(flags, about).helpGroup(TEAM_GROUP));
  return withExamples(command, lines);
}

function refuseKey(): never {
  throw new CommandError(
    'keys are not taken from the command line: every user of the machine can read it (ps), and the shell keeps it.\n' +
      'Nothing was done; what was typed should be counted as known to others.\n' +
      'Give the key by DSP_GATEWAY_KEY, or by a file that --key-file or DSP_GATEWAY_KEY_FILE names.',
    EXIT.usage,
  );
}

/** An action of such a command. */
export function asTeam<O extends TeamOptions>(
  { env }: Terminal,
  run: (ask: AskAsTeam, options: O, ...args: readonly string[]) => Promise<void>,
): (...all: unknown[]) => Promise<void> {
  return async (...all) => {
    const command = all.at(-1) as Command;
    const options = command.opts() as O;
    if (options.json && options.csv)
      throw new CommandError('--json and --csv exclude each other', EXIT.usage);
    const args = all.slice(0, -2) as string[];
    await run(openDataPlane(options, env), options, ...args).catch((error: unknown) => {
      throw error instanceof Refused ? inWordsOf(command, error) : error;
    });
  };
}

function openDataPlane(options: TeamOptions, env: Environment): AskAsTeam {
  const base = addressOf(options, env);
  const key = keyOf(options, env);
  return async (method, path, body) => {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: {
        'x-api-key': key,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'manual',
      signal: timeoutSignal(TIMEOUT_MS),
    }).catch((error: Error) => {
      const cause = error.cause instanceof Error ? error.cause.message : error.message;
      throw new Unreachable(
        `the data plane at ${base} cannot be reached (${cause}); say where it is by --url or GATEWAY_URL`,
      );
    });
    const text = await response.text();
    if (response.ok) return text;
    const problem = problemIn(text);
    if (problem !== null) throw new Refused(problem, response.status);
    const words = `what answers at ${base} is no gateway: ${response.status}, and no problem document`;
    throw new CommandError(words, EXIT.unavailable);
  };
}

function addressOf({ url }: TeamOptions, env: Environment): string {
  const [name, text] =
    url !== undefined
      ? ['--url', url]
      : ['GATEWAY_URL', env.GATEWAY_URL || `http://127.0.0.1:${env.PORT || '8080'}`];
  const parsed = URL.canParse(text) ? new URL(text) : null;
  const plain =
    parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.search === '' && parsed.hash === '';
  if (plain && parsed.username === '' && parsed.password === '') return parsed.href.replace(/\/+$/, '');
  // What stands in for an address may hold a secret.
  throw new CommandError(
    `${name}: allowed is an address such as http://127.0.0.1:8080, without user, query or fragment`,
    EXIT.data,
  );
}

function keyOf({ keyFile }: TeamOptions, env: Environment): string {
  const file = keyFile ?? (env.DSP_GATEWAY_KEY ? undefined : env.DSP_GATEWAY_KEY_FILE || undefined);
  const text = file === undefined ? (env.DSP_GATEWAY_KEY ?? '') : readKey(file);
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  const what = text === '' ? 'no team key' : 'what was given as the team key is not printable ASCII';
  throw new CommandError(
    `${what}: set DSP_GATEWAY_KEY, or name the file that holds the key by --key-file or DSP_GATEWAY_KEY_FILE`,
    EXIT.denied,
  );
}

function readKey(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new CommandError(`no team key: ${path} cannot be read (${(error as Error).message})`, EXIT.denied);
  }
}
