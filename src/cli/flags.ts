/** Flags of a command, derived from the schema of its call, and their parsers. */
import { InvalidArgumentError, Option } from 'commander';
import { readSpan } from '../lib/words.js';
import { refuseSecret } from './define.js';

interface FlagChange {
  /** E.g. `--expires <date>`; default: from name and schema. */
  readonly flag?: string;
  /** Default: the description in the schema. */
  readonly about?: string;
  readonly read?: (text: string) => unknown;
  readonly usual?: unknown;
}

/** By path, e.g. `limits.maxRangeDays`; null: no flag. */
export type FlagChanges = Readonly<Record<string, FlagChange | null>>;

export interface Flag {
  readonly path: string;
  readonly option: Option;
}

/** The used members of a JSON schema. */
interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly const?: unknown;
  readonly description?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

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

/** Placeholder and parser. The gateway validates values, of all flags at once. */
function formOf({ type, format, const: only, items }: Schema): [string[], ((text: string) => unknown)?] {
  if (type === 'boolean' || only === true) return [[]];
  if (type === 'integer' || type === 'number') return [['<number>'], readNumber];
  if (type === 'array')
    return [['<list>'], items?.type === 'integer' ? (text) => readList(text).map(readNumber) : readList];
  return [[format === 'date' ? '<day>' : '<text>']];
}

/** A description as part of a help line. */
function inHelp(description: string): string {
  const [first = '', second = ''] = description;
  const isWord = second === second.toLowerCase();
  return (isWord ? first.toLowerCase() : first) + description.slice(1).replace(/\.$/, '');
}

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

/** Checked here, as an invalid id could change the path. */
export function readId(text: string): string {
  // A key instead of its id is a secret on the command line.
  if (text.startsWith('dgw_')) refuseSecret();
  if (!/^[A-Za-z0-9_-]{1,100}$/.test(text))
    throw new InvalidArgumentError('An id consists of letters, digits, _ and -.');
  return text;
}

export function readNumber(text: string): number {
  if (!/^[0-9]{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

export function readList(text: string): string[] {
  return text === 'none' ? [] : text.split(',').map((item) => item.trim());
}

export function readLength(text: string): number {
  const seconds = readSpan(text);
  if (seconds === null) throw new InvalidArgumentError('The form is e.g. 90s, 30min, 24h or 7d.');
  return seconds;
}
