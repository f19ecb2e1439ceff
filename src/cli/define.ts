/** How a command is defined: what all of them share, and the examples that `--help` and the docs show. */
import { type Command, Option } from 'commander';
import { type Admin, type AdminOptions, openAdmin } from './admin-client.js';
import { CommandError } from './command-error.js';
import { EXIT } from './exit-codes.js';
import { plainJson, plainText } from './plain-text.js';
import { inWordsOf, Refused } from './say-refusal.js';
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

/** The heading of {@link ADMIN_OPTIONS} in a command's help. */
export const ADMIN_GROUP = 'Every command against the admin API:';

/** Options that every command against the admin API takes. */
const ADMIN_OPTIONS: readonly (readonly [flags: string, description: string])[] = [
  ['--url <url>', 'address of the admin plane (GATEWAY_ADMIN_URL; default: http://127.0.0.1:$ADMIN_PORT)'],
  [
    '--admin-token-file <path>',
    'file that holds the admin token (ADMIN_TOKEN, ADMIN_TOKEN_FILE; default: admin.token in GATEWAY_DATA_DIR)',
  ],
  ['--json', 'print JSON, for scripts'],
];

/** Names somebody in a hurry would try; each is refused without being looked at. */
const SECRET_OPTIONS = ['--token', '--admin-token', '--platform-token', '--password', '--secret'];

export interface AdminCommand {
  readonly name: string;
  readonly description: string;
  /** Whole command lines, without `dsp-gateway`. */
  readonly examples: readonly string[];
}

/** A command against the admin API. */
export function adminCommand(parent: Command, { name, description, examples: lines }: AdminCommand): Command {
  const command = parent.command(name).description(description);
  for (const flag of SECRET_OPTIONS) {
    command.addOption(new Option(`${flag} [secret]`).hideHelp());
    command.on(`option:${flag.slice(2)}`, refuseSecret);
  }
  // Last, for groups stand in the help in the order of their first option.
  for (const [flags, about] of ADMIN_OPTIONS) {
    command.addOption(new Option(flags, about).helpGroup(ADMIN_GROUP));
  }
  return withExamples(command, lines);
}

/** @throws CommandError that says how a secret is given instead; never with the secret in it */
export function refuseSecret(): never {
  throw new CommandError(
    'secrets are not taken from the command line: every user of the machine can read it (ps), and the shell keeps it.\n' +
      'Nothing was done; what was typed should be counted as known to others.\n' +
      'The admin token: ADMIN_TOKEN, or a file named by --admin-token-file. A platform token: standard input,\n' +
      'a file named by --from-file, or type it when asked.',
    EXIT.usage,
  );
}

/** Prints an answer: as JSON where that was asked for, else as `render` has it. */
export function show<T>(
  { print }: Terminal,
  options: AdminOptions,
  answer: T,
  render: (answer: T) => string,
): void {
  print(rendered(options, answer, render));
}

/** An answer as text that does nothing to a terminal, whoever wrote what is in it. */
export function rendered<T>({ json }: AdminOptions, answer: T, render: (answer: T) => string): string {
  return json ? `${plainJson(answer, 2)}\n` : plainText(render(answer));
}

export type Run<O extends AdminOptions> = (
  admin: Admin,
  options: O,
  ...args: readonly string[]
) => Promise<void>;

/** An action of an admin command, given the API ready for use. */
export function act<O extends AdminOptions>(
  { env }: Terminal,
  run: Run<O>,
): (...all: unknown[]) => Promise<void> {
  return async (...all) => {
    const command = all.at(-1) as Command;
    const args = all.slice(0, -2) as string[];
    const options = command.opts() as O;
    await run(openAdmin(options, env), options, ...args).catch((error: unknown) => {
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
