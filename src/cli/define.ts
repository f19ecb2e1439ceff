/** How a command is defined: what all of them share, and the examples that `--help` and the docs show. */
import { type Command, Option } from 'commander';
import type { ClientOptions, Plane } from './client.js';
import { CommandError, EXIT } from './command-error.js';
import { plainJson, plainText } from './plain-text.js';
import { inWordsOf, type Meaning, meaningOf, Refused } from './refusal.js';
import type { Terminal } from './terminal.js';

/** Adds a command, or a group of them, to the one above it. */
export type AddCommand = (parent: Command, terminal: Terminal) => void;

export interface CommandHead {
  readonly name: string;
  readonly description: string;
  /** Whole command lines, without `dsp-gateway`. */
  readonly examples: readonly string[];
  /** Adds arguments and options. */
  readonly own?: (command: Command) => Command;
}

/** A command as it was typed. */
export interface Typed<O> {
  readonly options: O;
  /** Arguments, in their order. */
  readonly typed: readonly string[];
  readonly terminal: Terminal;
}

interface CommandEntry<O> extends CommandHead {
  /** The plane that it asks. */
  readonly plane?: Plane;
  readonly meaning?: Meaning;
  run(given: Typed<O>): Promise<void>;
}

export function command<O>({ plane, meaning, name, own, run, ...about }: CommandEntry<O>): AddCommand {
  return (parent, terminal) => {
    const added = parent.command(name).description(about.description);
    if (plane !== undefined) addPlaneOptions(added, plane);
    own?.(added);
    if (meaning !== undefined) meaningOf(added, meaning);
    addExamples(added, about.examples);
    added.action(async (...all: unknown[]) => {
      const typed = all.slice(0, -2) as string[];
      await run({ options: added.opts() as O, typed, terminal }).catch((error: unknown) => {
        if (plane !== undefined && error instanceof TypeError) throw otherForm(error);
        throw error instanceof Refused ? inWordsOf(added, error) : error;
      });
    });
  };
}

/** Commands under one name. */
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

/** What feeds a command stands before it. */
function exampleLine(line: string): string {
  return line.includes('dsp-gateway') ? line : `dsp-gateway ${line}`;
}

/** Names somebody in a hurry would try; each is refused without being looked at. */
const SECRET_OPTIONS = ['token', 'admin-token', 'platform-token', 'password', 'secret', 'key', 'api-key'];

function addPlaneOptions(added: Command, plane: Plane): void {
  for (const flag of SECRET_OPTIONS) {
    added.addOption(new Option(`--${flag} [secret]`).hideHelp());
    added.on(`option:${flag}`, refuseSecret);
  }
  // Last, for groups stand in the help in the order of their first option.
  for (const [flags, about] of plane.options)
    added.addOption(new Option(flags, about).helpGroup(plane.group));
}

/** @throws CommandError that says how a secret is given instead; never with the secret in it */
export function refuseSecret(): never {
  throw new CommandError(
    'secrets are not taken from the command line: every user of the machine can read it (ps), and the shell keeps it.\n' +
      'Nothing was done; treat what was typed as known to others.\n' +
      'The admin token: ADMIN_TOKEN, or a file named by --admin-token-file. A team key: DSP_GATEWAY_KEY, or a file\n' +
      'named by --key-file. A platform token: standard input, a file named by --from-file, or type it when asked.',
    EXIT.usage,
  );
}

/** Members of an answer are not checked one by one: another release may have written them. */
function otherForm({ message }: TypeError): CommandError {
  return new CommandError(
    `the gateway cannot be understood: its answer has another form (${message}). Use the command that came with that gateway, or --json.`,
    EXIT.unavailable,
  );
}

/** Prints an answer: as JSON where that was asked for, else as `render` has it. */
export function show<T>(
  { print }: Terminal,
  options: ClientOptions,
  answer: T,
  render: (answer: T) => string,
): void {
  print(rendered(options, answer, render));
}

/** An answer as text that does nothing to a terminal, whoever wrote what is in it. */
export function rendered<T>({ json }: ClientOptions, answer: T, render: (answer: T) => string): string {
  return json ? `${plainJson(answer, 2)}\n` : plainText(render(answer));
}
