/** How a command is defined: what all of them share, and the examples that `--help` and the docs show. */
import { type Command, Option } from 'commander';
import type { ClientOptions, Plane } from './client.js';
import { CommandError, EXIT } from './command-error.js';
import { plainJson, plainText } from './plain-text.js';
import { inWordsOf, Refused } from './refusal.js';
import type { Terminal } from './terminal.js';

const examples = new WeakMap<Command, readonly string[]>();

/** Adds examples to a command's help. @param lines whole command lines, without `dsp-gateway` */
export function withExamples(command: Command, lines: readonly string[]): Command {
  examples.set(command, lines);
  const title = lines.length === 1 ? 'Example' : 'Examples';
  return command.addHelpText(
    'after',
    `\n${title}:\n${lines.map((line) => `  ${exampleLine(line)}`).join('\n')}`,
  );
}

export function examplesOf(command: Command): readonly string[] {
  return (examples.get(command) ?? []).map(exampleLine);
}

/** What feeds a command stands before it. */
function exampleLine(line: string): string {
  return line.includes('dsp-gateway') ? line : `dsp-gateway ${line}`;
}

export interface CommandHead {
  readonly name: string;
  readonly description: string;
  /** Whole command lines, without `dsp-gateway`. */
  readonly examples: readonly string[];
}

/** Names somebody in a hurry would try; each is refused without being looked at. */
const SECRET_OPTIONS = ['token', 'admin-token', 'platform-token', 'password', 'secret', 'key', 'api-key'];

/** A command that asks a gateway at one of its planes. */
export function planeCommand(
  plane: Plane,
  parent: Command,
  { name, description, examples: lines }: CommandHead,
): Command {
  const command = parent.command(name).description(description);
  for (const flag of SECRET_OPTIONS) {
    command.addOption(new Option(`--${flag} [secret]`).hideHelp());
    command.on(`option:${flag}`, refuseSecret);
  }
  // Last, for groups stand in the help in the order of their first option.
  for (const [flags, about] of plane.options)
    command.addOption(new Option(flags, about).helpGroup(plane.group));
  return withExamples(command, lines);
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

/** The action of a command that asks a gateway: a refusal is told in the words of that command. */
export function action<O extends ClientOptions>(
  run: (options: O, args: readonly string[]) => Promise<void>,
): (...all: unknown[]) => Promise<void> {
  return async (...all) => {
    const command = all.at(-1) as Command;
    await run(command.opts() as O, all.slice(0, -2) as string[]).catch((error: unknown) => {
      if (error instanceof TypeError) throw otherForm(error);
      throw error instanceof Refused ? inWordsOf(command, error) : error;
    });
  };
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
