/** Definition of a command: shared options, examples, output. */
import { type Command, Option } from 'commander';
import type { ClientOptions, Plane } from './client.js';
import { CommandError, EXIT } from './command-error.js';
import { plainJson, plainText } from './plain-text.js';
import { type ApiCall, apiCalls, forCommandLine, Refused } from './refusal.js';
import type { Terminal } from './terminal.js';

export type AddCommand = (parent: Command, terminal: Terminal) => void;

export interface CommandHead {
  readonly name: string;
  readonly description: string;
  /** Whole command lines, without `dsp-gateway`. */
  readonly examples: readonly string[];
  readonly own?: (command: Command) => Command;
}

export interface Typed<O> {
  readonly options: O;
  readonly typed: readonly string[];
  readonly terminal: Terminal;
}

interface CommandEntry<O> extends CommandHead {
  readonly plane?: Plane;
  readonly apiCall?: ApiCall;
  run(given: Typed<O>): Promise<void>;
}

const REQUIRED = ' (required)';

export function command<O>({ plane, apiCall, name, own, run, ...about }: CommandEntry<O>): AddCommand {
  return (parent, terminal) => {
    const added = parent.command(name).description(about.description);
    if (plane !== undefined) addPlaneOptions(added, plane);
    own?.(added);
    if (apiCall !== undefined) apiCalls.set(added, apiCall);
    // Options of calls are shared by all programs of a process.
    for (const option of added.options)
      if (option.mandatory && !option.description.endsWith(REQUIRED)) option.description += REQUIRED;
    addExamples(added, about.examples);
    added.action(async (...all: unknown[]) => {
      const typed = all.slice(0, -2) as string[];
      await run({ options: added.opts() as O, typed, terminal }).catch((error: unknown) => {
        if (plane !== undefined && error instanceof TypeError) throw otherForm(error);
        throw error instanceof Refused ? forCommandLine(added, error) : error;
      });
    });
  };
}

export function group(name: string, description: string, ...commands: readonly AddCommand[]): AddCommand {
  return (program, terminal) => {
    const parent = program.command(name).description(description);
    for (const add of commands) add(parent, terminal);
  };
}

const examples = new WeakMap<Command, readonly string[]>();

function addExamples(added: Command, lines: readonly string[]): void {
  examples.set(added, lines);
  const title = lines.length === 1 ? 'Example' : 'Examples';
  added.addHelpText('after', `\n${title}:\n${lines.map((line) => `  ${exampleLine(line)}`).join('\n')}`);
}

export function examplesOf(added: Command): readonly string[] {
  return (examples.get(added) ?? []).map(exampleLine);
}

/** An example with a pipe contains `dsp-gateway` already. */
function exampleLine(line: string): string {
  return line.includes('dsp-gateway') ? line : `dsp-gateway ${line}`;
}

/** Plausible names for secrets; each is refused. */
const SECRET_OPTIONS = ['token', 'admin-token', 'platform-token', 'password', 'secret', 'key', 'api-key'];

function addPlaneOptions(added: Command, plane: Plane): void {
  for (const flag of SECRET_OPTIONS) {
    added.addOption(new Option(`--${flag} [secret]`).hideHelp());
    added.on(`option:${flag}`, refuseSecret);
  }
  // Last: help orders groups by their first option.
  for (const [flags, about] of plane.options)
    added.addOption(new Option(flags, about).helpGroup(plane.group));
}

/** @throws CommandError that explains how to pass a secret */
export function refuseSecret(): never {
  throw new CommandError(
    'secrets are not accepted on the command line: other users can read it (ps), and the shell stores it.\n' +
      'Nothing was done. Treat the secret as exposed.\n' +
      'Admin token: ADMIN_TOKEN, or --admin-token-file. Team key: DSP_GATEWAY_KEY, or --key-file.\n' +
      'Platform token: standard input, --from-file, or the prompt.',
    EXIT.usage,
  );
}

/** Types of members are not checked, as the gateway may be of another release. */
function otherForm({ message }: TypeError): CommandError {
  return new CommandError(
    `unexpected response of the gateway (${message}). Use the command of that gateway's release, or --json.`,
    EXIT.unavailable,
  );
}

/** Prints an answer as JSON or rendered. */
export function show<T>(
  { print }: Terminal,
  options: ClientOptions,
  answer: T,
  render: (answer: T) => string,
): void {
  print(rendered(options, answer, render));
}

/** An answer as text without control characters. */
export function rendered<T>({ json }: ClientOptions, answer: T, render: (answer: T) => string): string {
  return json ? `${plainJson(answer, 2)}\n` : plainText(render(answer));
}
