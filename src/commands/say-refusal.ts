/** What the admin API refused, in the words of whoever typed the command: its options, not the members of a body. */
import type { Command, Option } from 'commander';
import { CommandError } from './command-error.js';
import { EXIT, exitCodeOf } from './exit-codes.js';

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

/** Thrown for a problem document; ends the command with its title, its detail, its faults and what to do next. */
export class Refused extends CommandError {
  readonly refusal: Refusal;
  /** @param further lines in front of what to do next */
  constructor(refusal: Refusal, status: number, further: readonly string[] = []) {
    const { title, detail, errors = [], help } = refusal;
    const lines = errors.map(({ param, message }) => `  ${param}: ${message}`);
    const next = help === undefined ? [] : [help];
    super([`${title}: ${detail}`, ...lines, ...further, ...next].join('\n'), exitCodeOf(status));
    this.refusal = refusal;
  }
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
  if (exitCode === EXIT.notFound) return new Refused(refusal, 404, whatThereIs(refusal.detail));
  const said = new Map<string, string>();
  for (const { param, message: fault } of faults) {
    const name = nameOf(command, param);
    // A value that may be of several forms has a fault for each of them; the first is the closest.
    if (name !== null && !said.has(name)) said.set(name, plainFault(fault));
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

/** What a schema's validator says, as people say it. */
const PLAIN: readonly (readonly [RegExp, string])[] = [
  [/^must be equal to one of the allowed values: /, 'allowed is '],
  [
    /^must match pattern "\^\(\?!gateway\$\)\[a-z0-9-\]\{1,40\}\$"$/,
    'must be lower-case letters, digits and hyphens, at most 40, and not gateway',
  ],
  [/^must be >= (\S+)$/, 'must be $1 or more'],
  [/^must be <= (\S+)$/, 'must be $1 or less'],
  [/^must NOT have more than /, 'must have at most '],
  [/^must NOT have fewer than /, 'must have at least '],
  [/^must NOT have duplicate items.*$/, 'must name each one once'],
];

function plainFault(text: string): string {
  return PLAIN.reduce((said, [form, words]) => said.replace(form, words), text);
}

/** The command that lists what there is, where an id was none. */
function whatThereIs(detail: string): string[] {
  const kind = /\b(team|key)\b/.exec(detail)?.[1];
  return kind === undefined ? [] : [`  dsp-gateway ${kind}s list shows which there are`];
}
