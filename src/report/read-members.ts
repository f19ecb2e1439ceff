/** Known parameters read as what they are, unknown ones taken over as they stand: the members of the platform's request. */
import type { FieldFault } from '../errors.js';
import type { Given, Place } from './given-parameters.js';
import { type Json, JsonNumber } from './json.js';
import type { Kind, ParameterTable } from './parameters.js';
import type { QueryPair } from './query-text.js';
import { sortedJson } from './sorted-json.js';
import { readJson, readText } from './values.js';

/** One member of the platform's request, ready to be sent where it came from. */
export interface Member {
  /** As the platform spells it, without `[]`. */
  readonly name: string;
  readonly place: Place;
  /** In a query: the pairs to send. In a body: none. */
  readonly pairs: readonly QueryPair[];
  /** In a body: the value as compact JSON text. In a query: empty. */
  readonly json: string;
}

/** A parameter that was read. */
export interface ReadMember {
  readonly member: Member;
  /** Canonical texts of a known parameter, the plain texts of an unknown one. */
  readonly texts: readonly string[];
}

/**
 * @param today as a day number; some values mean another day tomorrow
 * @returns none for one at fault, of which `faults` tells, or without a value
 */
export function readMember(
  one: Given,
  table: ParameterTable,
  today: number,
  faults: FieldFault[],
): ReadMember[] {
  const kind = table.kinds.get(one.name);
  if (kind === undefined) return [readUnknown(one)];
  const read = one.place === 'query' ? readText(kind, one.values, today) : readJson(kind, one.json, today);
  if ('fault' in read) {
    faults.push({ param: one.name, message: read.fault });
    return [];
  }
  if (read.texts.length === 0) return [];
  return [{ texts: read.texts, member: knownMember(one, kind, read.texts) }];
}

function knownMember({ name, place }: Given, kind: Kind, texts: readonly string[]): Member {
  if (place === 'body') return { name, place, pairs: [], json: knownJson(kind, texts) };
  const sent = kind === 'set' ? `${name}[]` : name;
  return { name, place, pairs: texts.map((value) => ({ name: sent, value })), json: '' };
}

function knownJson(kind: Kind, texts: readonly string[]): string {
  const [first] = texts as [string];
  if (kind === 'set') return `[${texts.join(',')}]`;
  if (kind === 'flag') return 'true';
  return kind === 'int' ? first : JSON.stringify(first);
}

function readUnknown({ name, list, place, values, json }: Given): ReadMember {
  if (place === 'body') {
    return { texts: scalarTexts(json), member: { name, place, pairs: [], json: sortedJson(json) } };
  }
  const sent = list ? `${name}[]` : name;
  return {
    texts: values,
    member: { name, place, pairs: values.map((value) => ({ name: sent, value })), json: '' },
  };
}

function scalarTexts(json: Json): string[] {
  if (json instanceof JsonNumber) return [json.text];
  return typeof json === 'string' || typeof json === 'boolean' ? [String(json)] : [];
}

/** Known splits by their flags, and whatever else says `by…` and is on. */
export function splitOf(read: readonly ReadMember[]): string[] {
  const names = read
    .filter(({ texts }) => texts.length > 0 && texts[0] !== '0' && texts[0] !== 'false' && texts[0] !== '')
    .flatMap(({ member }) => /^by([A-Z].*)$/.exec(member.name)?.[1] ?? [])
    .map((name) => name.charAt(0).toLowerCase() + name.slice(1));
  const rank = (name: string) => (name === 'date' ? 0 : name === 'campaign' ? 1 : 2);
  return names.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}
