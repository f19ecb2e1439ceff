/** What the admin API refused, in the words of whoever typed the command: its options, not the members of a body. */
import type { Command, Option } from 'commander';
import { CommandError } from './command-error.js';
import { exitCodeOf } from './exit-codes.js';

interface Fault {
  readonly param: string;
  readonly message: string;
}

export interface Refusal {
  readonly title: string;
  readonly detail: string;
  readonly errors?: readonly Fault[] | undefined;
  readonly help?: string | undefined;
}

/** @returns null for what is no problem document */
export function problemIn(text: string): Refusal | null {
  try {
    const { title, detail, help, errors } = JSON.parse(text) as Partial<Refusal>;
    if (typeof title !== 'string' || typeof detail !== 'string') return null;
    return { title, detail, help, errors };
  } catch {
    return null;
  }
}

/** Thrown for a problem document; ends the command with its title, its detail, its faults and what to do next. */
export class Refused extends CommandError {
  readonly refusal: Refusal;
  constructor(refusal: Refusal, status: number) {
    const { title, detail, errors = [], help } = refusal;
    const lines = errors.map(({ param, message }) => `  ${param}: ${message}`);
    const next = help === undefined || SEEN_ABOVE.test(help) ? [] : [inCommands(help)];
    super([`${title}: ${detail}`, ...lines, ...next].join('\n'), exitCodeOf(status));
    this.refusal = refusal;
  }
}

/** What the lines above it say already. */
const SEEN_ABOVE = /^Read detail\b|\bas errors says\b/;

/** Calls of the admin API, and members of their bodies, as the commands and options that stand for them. */
const COMMANDS: readonly (readonly [call: RegExp, command: string])[] = [
  [/GET \/admin\/v1\/token\b/g, 'dsp-gateway token show'],
  [/POST \/admin\/v1\/token\/([a-z]+)/g, 'dsp-gateway token $1'],
  [/GET \/admin\/v1\/teams\/\{id\}\/keys/g, 'dsp-gateway keys list'],
  [/POST \/admin\/v1\/teams\/([\w-]+)\/keys/g, 'dsp-gateway keys issue $1'],
  [/GET \/admin\/v1\/teams\/([\w-]+)/g, 'dsp-gateway teams show $1'],
  [/PATCH \/admin\/v1\/teams\/([\w-]+)/g, 'dsp-gateway teams update $1'],
  [/GET \/admin\/v1\/teams\b/g, 'dsp-gateway teams list'],
  [/GET \/gateway\/v1\/pins\b/g, 'dsp-gateway report pin list'],
  [/DELETE \/gateway\/v1\/pins\/\{id\}/g, 'dsp-gateway report pin delete'],
  [/"(force|replace)": true/g, '--$1'],
];

function inCommands(help: string): string {
  return COMMANDS.reduce((said, [call, command]) => said.replace(call, command), help);
}

/** Members whose option or argument has another name. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  id: 'team',
  advertiserId: 'advertiser',
  expiresAt: 'expires',
  overlapSeconds: 'overlap',
};

/** @returns the same refusal as the command that was typed has it */
export function inWordsOf(command: Command, { refusal, message, exitCode }: Refused): CommandError {
  const faults = refusal.errors ?? [];
  const said = new Map<string, string>();
  for (const { param, message: fault } of faults) {
    const name = nameOf(command, param);
    // A value that may be of several forms has a fault for each of them; the first is the closest.
    if (name !== null && !said.has(name)) said.set(name, fault);
    else if (name === null) said.set(param, fault);
  }
  if (faults.length === 0 || !faults.some(({ param }) => nameOf(command, param) !== null))
    return new CommandError(message, exitCode);
  const lines = [...said].map(([name, fault]) => `  ${name}: ${fault}`);
  return new CommandError(
    ['Nothing was done; a value is not one that is allowed.', ...lines].join('\n'),
    exitCode,
  );
}

/** E.g. `--scopes` for `scopes.0`, and `<team>` for `id`; null for what is no value of the command line. */
function nameOf(command: Command, param: string): string | null {
  const [member = '', ...rest] = param
    .replace(/^limits\./, '')
    .split('.')
    .filter((part) => !/^\d+$/.test(part));
  if (rest.length > 0) return null;
  const name = OTHER_NAMES[member] ?? member;
  const option = command.options.find((one: Option) => !one.hidden && one.attributeName() === name);
  if (option !== undefined) return option.long ?? option.flags;
  return command.registeredArguments.some((argument) => argument.name() === name) ? `<${name}>` : null;
}
