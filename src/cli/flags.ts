/** Flags of a command, from the schema of the call that it makes; and how their values are read. */
import { InvalidArgumentError, Option } from 'commander';
import { refuseSecret } from './define.js';
import { readSpan } from './span.js';

/** Where a flag is not what the schema says of its member. */
interface FlagChange {
  /** E.g. `--expires <date>`; absent: the member's name, and what its schema takes. */
  readonly flag?: string;
  /** Absent: the description in the schema. */
  readonly about?: string;
  readonly read?: (text: string) => unknown;
  readonly usual?: unknown;
}

/** By the member's path, e.g. `limits.maxRangeDays`; null: it has no flag. */
export type FlagChanges = Readonly<Record<string, FlagChange | null>>;

export interface Flag {
  /** Of the member. */
  readonly path: string;
  readonly option: Option;
}

/** What of a JSON schema a flag is made of. */
interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly const?: unknown;
  readonly description?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** @param isArgument whether a member is given as an argument */
export function flagsOf(
  schema: Schema,
  changes: FlagChanges,
  isArgument: (path: string) => boolean,
  within = '',
): Flag[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const path = `${within}${name}`;
    const change = changes[path];
    if (change === null || isArgument(path)) return [];
    if (member.properties !== undefined) return flagsOf(member, changes, isArgument, `${path}.`);
    const isRequired = within === '' && (schema.required ?? []).includes(name);
    return [{ path, option: optionOf(name, member, change ?? {}).makeOptionMandatory(isRequired) }];
  });
}

function optionOf(name: string, schema: Schema, { flag, about, read, usual }: FlagChange): Option {
  const dashed = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const [placeholder, usualRead] = formOf(schema);
  const option = new Option(
    flag ?? [`--${dashed}`, ...placeholder].join(' '),
    about ?? inHelp(schema.description ?? ''),
  );
  const reader = read ?? usualRead;
  if (reader !== undefined) option.argParser(reader);
  return usual === undefined ? option : option.default(usual);
}

/** How a value is written, and read. Which values are allowed the gateway says, of all flags at once. */
function formOf({ type, format, const: only, items }: Schema): [string[], ((text: string) => unknown)?] {
  if (type === 'boolean' || only === true) return [[]];
  if (type === 'integer' || type === 'number') return [['<number>'], readNumber];
  if (type === 'array')
    return [['<list>'], items?.type === 'integer' ? (text) => readList(text).map(readNumber) : readList];
  return [[format === 'date' ? '<day>' : '<text>']];
}

/** A description as help has it: part of a line. */
function inHelp(description: string): string {
  const [first = '', second = ''] = description;
  const isWord = second === second.toLowerCase();
  return (isWord ? first.toLowerCase() : first) + description.slice(1).replace(/\.$/, '');
}

/** Members from the command line, as the call takes them. */
export function valuesOf(
  flags: readonly Flag[],
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const { path, option } of flags) {
    const value = options[option.attributeName()];
    if (value === undefined) continue;
    const [member = '', inner] = path.split('.');
    values[member] = inner === undefined ? value : { ...(values[member] as object), [inner]: value };
  }
  return values;
}

/** An id as an argument. What is no id at all is refused here, for in a path it could name something else. */
export function readId(text: string): string {
  // A key in the place of its id is a secret on the command line.
  if (text.startsWith('dgw_')) refuseSecret();
  if (!/^[A-Za-z0-9_-]{1,100}$/.test(text))
    throw new InvalidArgumentError('An id holds letters, digits, _ and - only.');
  return text;
}

export function readNumber(text: string): number {
  if (!/^[0-9]{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

export function readList(text: string): string[] {
  return text === 'none' ? [] : text.split(',').map((item) => item.trim());
}

/** @returns seconds */
export function readLength(text: string): number {
  const seconds = readSpan(text);
  if (seconds === null) throw new InvalidArgumentError('It takes a form such as 90s, 30min, 24h or 7d.');
  return seconds;
}
