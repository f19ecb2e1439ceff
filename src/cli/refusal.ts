/** Problem documents for the command line: fields become flags, API calls become commands. */
import type { Command } from 'commander';
import { describeFaults } from '../lib/http/problem.js';
import { parseObject } from '../lib/json.js';
import { CommandError } from './command-error.js';

interface Problem {
  readonly code?: string | undefined;
  readonly title: string;
  readonly detail: string;
  readonly errors?: readonly { readonly param: string; readonly message: string }[] | undefined;
  readonly help?: string | undefined;
  /** What the platform said. */
  readonly upstream?: { readonly message?: unknown; readonly errors?: unknown } | undefined;
}

export function problemIn(text: string): Problem | null {
  const { code, title, detail, help, errors, upstream } = (parseObject(text) ?? {}) as Partial<Problem>;
  if (typeof title !== 'string' || typeof detail !== 'string') return null;
  return { code, title, detail, help, errors, upstream };
}

export class Refused extends CommandError {
  readonly problem: Problem;
  /** When the gateway advises to repeat the call; null: it does not. */
  readonly retryAfterS: number | null;
  constructor(problem: Problem, exitCode: number, retryAfterS: number | null) {
    super(linesOf(problem).join('\n'), exitCode);
    this.problem = problem;
    this.retryAfterS = retryAfterS;
  }
}

/** The detail already contains the first fault. */
const othersOf = (errors: Problem['errors'] = []) =>
  errors.slice(1).map(({ param, message }) => `  ${param} ${message}`);

function linesOf({ title, detail, errors, help, upstream }: Problem): string[] {
  const said = [upstream?.message, upstream?.errors]
    .filter((one) => one !== undefined && one !== null)
    .map((one) => `The platform said: ${typeof one === 'string' ? one : JSON.stringify(one)}`);
  return [`${title}: ${detail}`, ...othersOf(errors), ...said, ...(help === undefined ? [] : [help])];
}

export interface ApiCall {
  /** A call of the API, e.g. `GET /admin/v1/teams/:id`. */
  readonly call?: string | undefined;
  /** Flags by path of the member, e.g. `limits.maxRangeDays`: `--max-range-days`. */
  readonly members: ReadonlyMap<string, string>;
}

export const apiCalls = new WeakMap<Command, ApiCall>();

/** @returns the refusal with flags and commands */
export function forCommandLine(command: Command, { problem, exitCode }: Refused): CommandError {
  const { errors = [], help } = problem;
  const fields = new Map<string, string>();
  for (const { param, message } of errors) {
    const name = nameOf(command, param) ?? param;
    // A union has a fault for each form; the first is the closest.
    if (name === param || !fields.has(name)) fields.set(name, message);
  }
  const faults = [...fields].map(([param, message]) => ({ param, message }));
  const [first, ...others] = faults;
  const lines =
    first !== undefined && errors.some(({ param }) => nameOf(command, param) !== undefined)
      ? // Without the title of the API problem.
        [describeFaults([first, ...others]).detail, ...othersOf(faults)]
      : linesOf({ ...problem, help: help === undefined ? undefined : withCommands(help, command) });
  return new CommandError(lines.join('\n'), exitCode);
}

/** The flag or argument of a field, if any. */
function nameOf(command: Command, param: string): string | undefined {
  // An item of a list is reported for the list.
  const member = param.replace(/\.\d+/g, '');
  const noted = apiCalls.get(command)?.members.get(member);
  if (noted !== undefined) return noted;
  const option = command.options.find((one) => !one.hidden && one.attributeName() === member);
  if (option !== undefined) return option.long ?? option.flags;
  return command.registeredArguments.some((one) => one.name() === member) ? `<${member}>` : undefined;
}

const CALL = /\b(?:GET|POST|PUT|PATCH|DELETE) \/[\w/{}-]+/g;
/** E.g. `"dryRun": true`. */
const SET_MEMBER = /"(\w+)": true/g;

/** Replaces API calls and body members in a remedy by commands and flags. */
function withCommands(help: string, command: Command): string {
  const all = below(rootOf(command));
  const members = apiCalls.get(command)?.members;
  return help
    .replace(CALL, (call) => commandFor(call, all) ?? call)
    .replace(SET_MEMBER, (set, member) => members?.get(member) ?? set);
}

/** E.g. `dsp-gateway teams show growth` for `GET /admin/v1/teams/growth`. */
function commandFor(call: string, all: readonly Command[]): string | undefined {
  const given = call.split('/');
  for (const command of all) {
    const pattern = apiCalls.get(command)?.call?.split('/') ?? [];
    const fits =
      pattern.length === given.length && pattern.every((part, at) => part === ':id' || part === given[at]);
    if (!fits) continue;
    const ids = given.filter((part, at) => pattern[at] === ':id' && part !== '{id}');
    return [fullName(command), ...ids].join(' ');
  }
  return undefined;
}

const rootOf = (command: Command): Command => (command.parent === null ? command : rootOf(command.parent));
const below = (command: Command): Command[] => [command, ...command.commands.flatMap(below)];
const fullName = (command: Command): string =>
  command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
