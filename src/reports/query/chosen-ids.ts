/**
 * Ids in a request without an owner in their name: `ids`, or ids next to a word that names it, as in
 * `{"by": "advertiser", "ids": [2]}`; and all numbers in a value. Pure.
 */

import { isJsonArray, type Json, JsonNumber, JsonObject } from '../rows/json.js';
import { accountNameKind, idsIn, wordsOf } from './account-words.js';

interface Member {
  readonly name: string;
  readonly value: Json;
}

/** Other entities; ids below these words are theirs: `{"campaign": {"id": 7}}`. */
const ENTITY =
  'campaign|creative|placement|site|app|publisher|audience|segment|deal|country|region|city|geo|device|browser|os|language|category|domain|ad|ad ?set|ad ?group|line ?item|insertion ?order|format|size|goal|conversion|event|pixel|tag|channel|exchange|inventory|product|currency|timezone';
const OTHER_ENTITY = new RegExp(`(?:^| )(?:${ENTITY})(?:s|ies|es)?$`);
/** Also with generic words around it: `includeIds`, `id_in`. */
const BARE_ID =
  /^(?:(?:entity|entities|object|item|record|target|include|exclude|selected|only|filter|in|by|for|list) )*ids?(?: (?:in|eq|list|filter|include|only))*$/;
/** Names of selections in a flat query; in an object any name may be one. */
const CHOICE =
  /^(?:(?:filter|dimension|field|entity|group|target|by|selected) )?(?:ids?|keys?|values?|vals?|v|filters?|in|eq|equals?|is|lists?|items?|include[ds]?|only|match|selected|selection|operands?|numbers?|nos?|codes?|refs?|members?|entity|entities|targets?)$/;
/** Limits, paging and time: no selections. */
const EXTENT =
  /(?:^| )(?:limit|offset|page|pages|size|top|skip|take|count|max|min|first|last|precision|decimals|depth|interval|days?|hours?|version|priority|weight|amount|budget|bid|price|threshold|timezone|date|time|year|month|week|from|to)$/;
const ID_OF = / ids?$/;
/** Names of the dimension of a selection. */
const CHOOSES = /(?:^| )(?:by|dimensions?|fields?|level|entity|group)$/;
/** Labels, sort orders and columns: no selections. */
const NO_CHOICE =
  /(?:^| )(?:name|title|label|description|comment|text|url|domain)$|^(?:sort|order|sorted|ordered)(?: by)?$|^(?:fields|columns|metrics)$/;

export function isBareId(name: string): boolean {
  return BARE_ID.test(wordsOf(name));
}

/** Whether ids below a name belong to another entity than an account. */
export function isOtherEntity(name: string): boolean {
  return OTHER_ENTITY.test(wordsOf(name));
}

/** `by: "advertiser"`, `dimensions: ["advertiser_id"]`. @param asks in a read; in a write, `type: "user"` is no selection */
export function choosesByAccount(name: string, value: Json, asks: boolean): boolean {
  const words = wordsOf(lastPart(name));
  if (NO_CHOICE.test(words) || !(asks || CHOOSES.test(words))) return false;
  return saysAccount(value);
}

function saysAccount(value: Json): boolean {
  if (isJsonArray(value)) return value.some(saysAccount);
  return (
    typeof value === 'string' &&
    /^[\w\s.,+-]{2,200}$/.test(value) &&
    value.split(',').some((one) => accountNameKind(one) !== null)
  );
}

/** Members next to such a word with foreign numbers. @param isNested in an object, where any number may be selected */
export function foreignChoices(members: readonly Member[], own: OwnValues, isNested: boolean): string[] {
  return members
    .filter(({ name, value }) => {
      const words = wordsOf(lastPart(name));
      const isOther =
        EXTENT.test(words) || ID_OF.test(words) || OTHER_ENTITY.test(words) || /^by /.test(words);
      const mayChoose = CHOICE.test(words) || partsOf(name).some(isBareId) || (isNested && !isOther);
      return mayChoose && !own.numbers(value);
    })
    .map(({ name }) => name);
}

const NUMBER = /^[+-]?[0-9.]*[0-9](?:[eE][+-]?[0-9]+)?$/;
const SWITCHES = new Set(['', '0', '1', 'true', 'false', 'null']);

/** Whether a value contains only own accounts. */
export interface OwnValues {
  /** Checks every number, as spelt, and every name that may be an id: `{"2": true}`. */
  numbers(value: Json): boolean;
  /** Checks every text and number except switches; splits lists in texts. */
  texts(value: Json): boolean;
}

interface Numbers {
  readonly some: boolean;
  readonly own: boolean;
}

/** Memoized per list and object. */
export function ownValues(isOwn: (account: string) => boolean): OwnValues {
  const knownNumbers = new WeakMap<object, Numbers>();
  const knownTexts = new WeakMap<object, boolean>();
  const numbers = (value: Json): Numbers => once(knownNumbers, value, () => numbersOf(value));
  const texts = (value: Json): boolean => once(knownTexts, value, () => ownTexts(value));

  function numbersOf(value: Json): Numbers {
    if (isJsonArray(value)) return joined(value.map(numbers));
    if (value instanceof JsonObject)
      return joined(
        value.values.map((member, at) => {
          const inside = numbers(member);
          const name = value.names[at] as string;
          const isId = /^[1-9][0-9]*$/.test(name) && (!inside.some || isSwitch(member));
          return isId ? { some: true, own: inside.own && isOwn(name) } : inside;
        }),
      );
    const text = textOf(value);
    const ids = idsIn(value);
    const found = ids.length > 0 || !NUMBER.test(text) || text === '0' ? ids : [text];
    return { some: found.length > 0, own: found.every(isOwn) };
  }

  function ownTexts(value: Json): boolean {
    if (isJsonArray(value)) return value.every(texts);
    if (value instanceof JsonObject) return value.values.every(texts) && numbers(value).own;
    if (value === null || typeof value === 'boolean') return true;
    return textOf(value)
      .split(/[,;|\s]+/)
      .every((text) => text === '' || isOwn(text));
  }

  return { numbers: (value) => numbers(value).own, texts };
}

function joined(all: readonly Numbers[]): Numbers {
  return { some: all.some(({ some }) => some), own: all.every(({ own }) => own) };
}

function once<T>(known: WeakMap<object, T>, value: Json, find: () => T): T {
  if (typeof value !== 'object' || value === null) return find();
  const found = known.get(value) ?? find();
  known.set(value, found);
  return found;
}

/** On, off or empty, as `byDate=1`. */
export function isSwitch(value: Json): boolean {
  return !isJsonArray(value) && !(value instanceof JsonObject) && SWITCHES.has(textOf(value));
}

function textOf(value: Json): string {
  return value instanceof JsonNumber ? value.text : String(value).trim();
}

/** `ids` of `group[ids][0]`. */
function lastPart(name: string): string {
  return partsOf(name).at(-1) ?? name;
}

/** `group` and `ids` of `group[ids][0]`. */
function partsOf(name: string): string[] {
  return name.split(/[[\]]+/).filter((part) => part !== '' && !/^[0-9]+$/.test(part));
}
