/** The filter of a table: texts, and conditions such as `clicks > 1,000 and not campaign contains brand`. Pure. */
import { currencyOf, type ReportColumn } from './columns.js';
import { dates, dayAt } from './dates.js';
import { COMPARED, columnAt, comparedAt, NO_BRACKETS, unknownIn, WORD } from './filter-columns.js';
import type { numbersIn } from './numbers.js';
import { type Cell, cellOf, type Row } from './parse.js';

export interface Filtered {
  readonly rows: readonly Row[];
  /** What is not understood, and what to write instead: then there are no rows. Null: all is understood. */
  readonly fault: string | null;
  /** In words, `Clicks > 1,000 and “acme”`. Null: there is no filter, or a fault. */
  readonly understood: string | null;
  /** The columns of its conditions, by name. */
  readonly compared: readonly string[];
}

/** What a filter is read with. */
interface Reading {
  readonly rows: readonly Row[];
  readonly columns: readonly ReportColumn[];
  /** Of money in rows that name none; null: unknown. */
  readonly currency: string | null;
  /** In the reader's language. */
  readonly numbers: Pick<ReturnType<typeof numbersIn>, 'hasCommas' | 'exact'>;
}

type Test = (row: Row) => boolean;

/** A part of a filter that is understood, and where it ends. */
type Read = Readonly<{ end: number; test: Test; told: string; column: string | null }>;

type Part = Read | Readonly<{ end: number; fault: string }>;

/** From an address it may be of any length, and reading takes the square of it. */
const MAX_CHARS = 1000;

/** @returns the rows that have all texts in any cell, regardless of case, and fulfil all conditions */
export function filterRows(filter: string, reading: Reading): Filtered {
  const { rows } = reading;
  const refused = (fault: string): Filtered => ({ rows: [], fault, understood: null, compared: [] });
  if (filter.length > MAX_CHARS)
    return refused(`The filter is longer than ${MAX_CHARS} characters: write a shorter one.`);
  const read: Read[] = [];
  const joints: string[] = [];
  /** By the place of the part behind it. */
  const ors = new Map<number, string>();
  for (let at = 0; at < filter.length; ) {
    const rest = filter.slice(at);
    const [gap = ''] = /^[\s,;]+/.exec(rest) ?? [];
    const [joint = ''] = gap === '' ? (/^(?:(?:and|or)(?=\s|$)|&+|\|+)/i.exec(rest) ?? []) : [];
    if (joint !== '') joints.push(joint);
    if (/[o|]/i.test(joint)) ors.set(read.length, joint);
    const part = gap + joint === '' ? partAt(filter, at, reading) : null;
    // At the first one: each looks into all rows.
    if (part !== null && 'fault' in part) return refused(part.fault);
    if (part !== null) read.push(part);
    at = part?.end ?? at + gap.length + joint.length;
  }
  const compared = read.flatMap(({ column }) => column ?? []);
  const hasConditions = compared.length > 0;
  // Among texts alone they are texts, too.
  const all = hasConditions ? joined(read, ors) : [...read, ...joints.map((joint) => textPart(joint, 0))];
  if (all === null) return refused(noOr([...ors.values()].join(), compared, reading.columns));
  return {
    rows: all.length === 0 ? rows : rows.filter((row) => all.every(({ test }) => test(row))),
    fault: null,
    understood: all.length === 0 ? null : all.map(({ told }) => told).join(' and '),
    compared,
  };
}

/** Of conditions of one column with “or” between them one must apply. @returns null: “or” stands elsewhere */
function joined(read: readonly Read[], ors: ReadonlyMap<number, string>): Read[] | null {
  const all: Read[] = [];
  for (const [place, part] of read.entries()) {
    const before = ors.has(place) ? all.pop() : undefined;
    if (ors.has(place) && (part.column === null || before?.column !== part.column)) return null;
    all.push(before === undefined ? part : eitherOf(before, part));
  }
  return ors.has(read.length) ? null : all;
}

const eitherOf = (one: Read, other: Read): Read => ({
  ...other,
  test: (row) => one.test(row) || other.test(row),
  told: `(${one.told.replace(/^\((.* or .*)\)$/, '$1')} or ${other.told})`,
});

function noOr(or: string, compared: readonly string[], columns: readonly ReportColumn[]): string {
  const texts = columns.filter(({ name, numeric }) => !numeric && name !== 'date');
  const listed =
    texts.find(({ name }) => compared.includes(name)) ?? texts.find(({ name }) => name.endsWith('Name'));
  return `“${or}” joins conditions of one column only; of several values write a list: ${listed?.title ?? 'Campaign'} in A, B.`;
}

/** In the quotation marks of a keyboard, of which two are one inside, or of a phone. */
const QUOTED = /^(?:(["'])(?:((?:(?!\1).|\1\1)+)|(.+?))\1|“(.+?)”)(?=$|[\s,;&)])/;

/** @returns the text in the quotation marks that the filter goes on with, and how long it is with them; null: there are none */
function quotedAt(rest: string): { readonly length: number; readonly text: string } | null {
  const [quote, mark = '', doubled, single, curly = ''] = QUOTED.exec(rest) ?? [];
  if (quote === undefined) return null;
  return { length: quote.length, text: doubled?.replaceAll(mark + mark, mark) ?? single ?? curly };
}

/** @param hasDays whether it may be a part of a day as that is shown */
const textPart = (text: string, end: number, hasDays = true) => ({
  end,
  test: contains(text, hasDays),
  told: `“${text}”`,
  column: null,
});

/** What stands before a part that no row may have. */
const NOT = /^not\s+(?=[^\s,;])/i;

function partAt(filter: string, at: number, reading: Reading): Part {
  const [not] = NOT.exec(filter.slice(at)) ?? [];
  return not === undefined
    ? plainAt(filter, at, reading)
    : negated(plainAt(filter, at + not.length, reading));
}

const negated = (part: Part): Part =>
  'fault' in part ? part : { ...part, test: (row) => !part.test(row), told: `not (${part.told})` };

/** A condition, a text in quotation marks, or a word. What looks like a condition and is none may be a text that some row has. */
function plainAt(filter: string, at: number, reading: Reading): Part {
  const rest = filter.slice(at);
  const quoted = quotedAt(rest);
  if (quoted !== null) return textPart(quoted.text, at + quoted.length);
  const day = dayAt(rest, reading.rows);
  const date = reading.columns.find(({ name }) => name === 'date');
  if (day !== null && date !== undefined) {
    const phrase = textPart(rest.slice(0, day.length), at + day.length, false);
    // As somebody named a campaign.
    return reading.rows.some(phrase.test) ? phrase : textAt(filter, at, date, '=', reading.rows);
  }
  const column = columnAt(rest, reading.columns);
  const [word = ''] = WORD.exec(rest) ?? [];
  const left = column?.label ?? (COMPARED.test(word) ? '' : word);
  const behind = rest.slice(left.length);
  const [sign, signs = ''] = (column === null ? COMPARED.exec(behind) : comparedAt(behind)) ?? [];
  if (sign === undefined) return textPart(left, at + left.length);
  const from = at + left.length + sign.length;
  const part =
    column === null
      ? { end: from, fault: unknownIn(left, signs, reading.columns) }
      : comparisonAt(filter, from, column.of, signs, reading);
  if (!('fault' in part)) return part;
  // `A=B`, as somebody named a campaign.
  const [, whole = ''] = /^(.*?)(?:$|[\s,;])/.exec(rest.slice(left.length + sign.length)) ?? [];
  const text = textPart(filter.slice(at, from + whole.length), from + whole.length);
  return reading.rows.some(text.test) ? text : part;
}

const COMPARE: Readonly<Record<string, <T extends number | string>(a: T, b: T) => boolean>> = {
  '>': (a, b) => a > b,
  '<': (a, b) => a < b,
  '>=': (a, b) => a >= b,
  '<=': (a, b) => a <= b,
  '=': (a, b) => a === b,
};
const ALIKE: Readonly<Record<string, string>> = {
  ...{ '≥': '>=', '=>': '>=', '≤': '<=', '=<': '<=', '==': '=', '~': 'contains' },
};
const SHOWN: Readonly<Record<string, string>> = { '>=': '≥', '<=': '≤' };

/** With what stands directly before and behind it, and groups of three digits that spaces separate. */
const NUMBER =
  /^([-−+]?\s*[$€£]?\s*[-−]?)(\d+(?:[.,'’]\d+|[ \u00a0\u202f]\d{3}(?![\d-]))*)(\s*%|\s*[€$£])?(?=$|[\s,;&])/;

const NEGATED: Readonly<Record<string, string>> = { '!=': '=', '<>': '=', '≠': '=', '!~': 'contains' };

/** As {@link conditionAt}, also of two numbers or days, and of what no row may have. */
function comparisonAt(...[filter, at, column, signs, reading]: Parameters<typeof conditionAt>): Part {
  const plain = NEGATED[signs] ?? signs.replace(/^not\s+/i, '');
  if (plain !== signs) return negated(comparisonAt(filter, at, column, plain, reading));
  if (/^in$/i.test(signs)) return listAt(filter, at, column, reading);
  if (!/^between$/i.test(signs)) return conditionAt(filter, at, column, signs, reading);
  const low = conditionAt(filter, at, column, '>=', reading);
  if ('fault' in low) return low;
  const [and] = /^\s+and\s+/i.exec(filter.slice(low.end)) ?? [];
  if (and === undefined)
    return { end: low.end, fault: `“between” needs two values with “and”: ${column.title} between … and ….` };
  const high = conditionAt(filter, low.end + and.length, column, '<=', reading);
  if ('fault' in high) return high;
  return {
    ...high,
    test: (row) => low.test(row) && high.test(row),
    told: `${low.told} and ${high.told}`,
  };
}

/** An item without quotation marks that no row has. */
const ITEM = /^.*?(?=\s*(?:$|[,;)&|]|\s(?:and|or)(?:\s|$)))/i;

/** One of several texts, ids or days, with commas between them. @param at where the first begins, or its bracket */
function listAt(filter: string, at: number, column: ReportColumn, { rows, columns }: Reading): Part {
  const { name, title, numeric } = column;
  const isDate = name === 'date';
  const wrong = (fault: string): Part => ({ end: at, fault });
  if (numeric) return wrong(`“in” is for texts, ids and days: write ${title} = or ${title} between … and ….`);
  const texts: string[] = [];
  let end = at + (/^\(?\s*/.exec(filter.slice(at))?.[0].length ?? 0);
  for (let hasMore = true; hasMore; ) {
    const rest = filter.slice(end);
    const quoted = quotedAt(rest);
    const day = isDate ? dayAt(rest, rows) : null;
    const item = writtenOf(rest, rows, name) || (ITEM.exec(rest)?.[0] ?? '');
    const text = day?.iso ?? (quoted?.text ?? item).trim();
    if (text === '') return wrong(`A ${isDate ? 'date' : 'text'} is missing in the list after ${title} in.`);
    if (isDate && !DAYS.test(text)) return wrong(noDate(text));
    texts.push(text);
    end += quoted?.length ?? day?.length ?? item.length;
    const behind = /^\s*,\s*(?:(?:and|or)\s+)?(?=\S)/i.exec(filter.slice(end))?.[0] ?? '';
    // Behind a comma another condition may stand.
    hasMore = behind !== '' && columnAt(filter.slice(end + behind.length), columns) === null;
    if (hasMore) end += behind.length;
  }
  const cells = new Set(rows.map((row) => plain(textOf(cellOf(row, name)))));
  const isIt = (text: string) => (cell: string) => (isDate ? cell.startsWith(text) : cell === plain(text));
  const found = new Set(texts.flatMap((text) => [...cells].filter(isIt(text))));
  const told = (text: string) => (isDate ? text : `“${text}”`);
  const absent = texts.filter((text) => ![...cells].some(isIt(text))).map(told);
  return {
    end: end + (/^\s*\)/.exec(filter.slice(end))?.[0].length ?? 0),
    test: (row) => found.has(plain(textOf(cellOf(row, name)))),
    told: `${title} in ${texts.map(told).join(', ')}${absent.map((one) => ` (${one} matches no row)`).join('')}`,
    column: name,
  };
}

/** @param at where the number or text begins */
function conditionAt(
  filter: string,
  at: number,
  column: ReportColumn,
  signs: string,
  reading: Reading,
): Part {
  const { name, title, numeric, unit } = column;
  const { rows, currency, numbers } = reading;
  const typed = ALIKE[signs] ?? signs.toLowerCase();
  // An id is a number, too.
  if (!numeric && !rows.some((row) => typeof cellOf(row, name) === 'number'))
    return textAt(filter, at, column, typed, rows);
  const compare = COMPARE[typed];
  const wrong = (fault: string): Part => ({ end: at, fault });
  if (compare === undefined) return wrong(unknownSign(signs));
  const [whole, before = '', digits = '', after = ''] = NUMBER.exec(filter.slice(at)) ?? [];
  if (whole === undefined) {
    const [word = ''] = /^[^\s;]*/.exec(filter.slice(at)) ?? [];
    if (/^\(|\d\)/.test(word)) return wrong(NO_BRACKETS);
    return wrong(
      word === ''
        ? `A number is missing after ${title} ${signs}.`
        : `“${word}” is no number: write one such as 1000, 1,000 or 0.5.`,
    );
  }
  const value = numberIn(digits, numbers.hasCommas);
  if (typeof value === 'string') return wrong(value);
  const [symbol = ''] = /[$€£]/.exec(before + after) ?? [];
  if (after.includes('%') && unit !== 'share')
    return wrong(`“${whole.trim()}” has %, but ${title} is no percentage: write the number alone.`);
  const its = currencyOf(rows, currency);
  const isOther = CURRENCIES[symbol]?.test(its ?? '') === false;
  if (symbol !== '' && (unit !== 'money' || isOther))
    return wrong(`“${whole.trim()}” does not fit: ${title} is not in ${symbol}; write the number alone.`);
  // Percentages are kept as they are shown: 0.5 is 0.5 %.
  const limit = /[-−]/.test(before) ? -value : value;
  const test: Test = (row) => {
    const cell = cellOf(row, name);
    return typeof cell === 'number' && compare(cell, limit);
  };
  const shown = numeric ? numbers.exact(limit, unit, its) : limit;
  return {
    end: at + whole.length,
    test,
    told: `${title} ${SHOWN[typed] ?? typed} ${shown}`,
    column: name,
  };
}

const unknownSign = (signs: string) => `“${signs}” is not understood: write >, >=, <, <=, =, != or between.`;

/** A day, a month or a year. */
const DAYS = /^\d{4}(-\d\d(-\d\d)?)?$/;

const noDate = (text: string) =>
  `“${text}” is no date: write a day such as 2026-11-20, or a month such as 2026-11.`;

/** As texts are compared: without regard to case and surrounding space. */
const plain = (text: string): string => text.trim().toLowerCase();

/** The longest text of the column that is written there, as names have spaces; empty: none is. */
function writtenOf(rest: string, rows: readonly Row[], name: string): string {
  let longest = '';
  for (const row of rows) {
    const text = textOf(cellOf(row, name)).trim();
    // Lower case may have other lengths.
    const same = rest.slice(0, text.length);
    if (
      text.length > longest.length &&
      same.toLowerCase() === text.toLowerCase() &&
      /^(?:$|[\s,;)])/.test(rest.slice(text.length))
    )
      longest = same;
  }
  return longest;
}

/**
 * Of a column of days, which are compared, or of texts, which are equal to what is written or contain it.
 * @param at where that begins
 */
function textAt(
  filter: string,
  at: number,
  { name, title }: ReportColumn,
  sign: string,
  rows: readonly Row[],
): Part {
  const rest = filter.slice(at);
  const quoted = quotedAt(rest);
  const day = name === 'date' ? dayAt(rest, rows) : null;
  const [one = ''] = /^[^\s,;]*/.exec(rest) ?? [];
  const word = (sign === '=' ? writtenOf(rest, rows, name) : '') || one;
  const text = day?.iso ?? quoted?.text ?? word;
  const wrong = (fault: string): Part => ({ end: at, fault });
  const part = (told: string, test: (cell: string) => boolean): Part => ({
    end: at + (quoted ?? day ?? word).length,
    test: (row) => test(textOf(cellOf(row, name))),
    told: `${title} ${told}`,
    column: name,
  });
  const compare = COMPARE[sign];
  const begins = /^starts\s/.test(sign);
  if (compare === undefined && sign !== 'contains' && !begins) return wrong(unknownSign(sign));
  if (text === '') return wrong(`A ${name === 'date' ? 'date' : 'text'} is missing after ${title} ${sign}.`);
  if (name === 'date' && compare !== undefined)
    return DAYS.test(text)
      ? part(`${SHOWN[sign] ?? sign} ${text}`, (cell) => compare(cell.slice(0, text.length), text))
      : wrong(noDate(text));
  if (sign === '=') return part(`= “${text.trim()}”`, (cell) => plain(cell) === plain(text));
  if (begins) return part(`starts with “${text}”`, (cell) => plain(cell).startsWith(text.toLowerCase()));
  if (sign !== 'contains')
    return wrong(
      `“${sign}” does not fit: ${title} is text; write ${title} = and all of it, or ${title} contains and a part of it.`,
    );
  return part(`contains “${text}”`, (cell) => cell.toLowerCase().includes(text.toLowerCase()));
}

const GROUPED = /^[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/;
/** One and a half, or 1500. */
const TWO_READINGS = /^[1-9]\d{0,2}[.,]\d{3}$/;

/** @returns the number, or why it is none: another reading of its signs would be another number */
function numberIn(digits: string, hasCommas: boolean): number | string {
  // In English 1,500 has one reading, and 1.500 is written by those who write 1500 so.
  if (TWO_READINGS.test(digits) && (hasCommas || digits.includes('.')))
    return `“${digits}” has two readings: write 1500 without a separator, and decimals as 1.5.`;
  if (/^\d+(\.\d+)?$/.test(digits)) return Number(digits);
  if (GROUPED.test(digits)) return Number(digits.replaceAll(',', ''));
  return `“${digits}” is not understood: write decimals with a point, as in 0.5, and thousands as 1000 or 1,000.`;
}

/** Rows that tell none, or several, have no sign. */
const CURRENCIES: Readonly<Record<string, RegExp>> = { $: /D$/, '€': /^EUR$/, '£': /^GBP$/ };

function contains(text: string, hasDays: boolean): Test {
  const word = text.toLowerCase();
  // A day also as it is shown; many rows have the same.
  const days = new Map<string, boolean>();
  const isShown = (day: string): boolean => {
    const known = days.get(day) ?? dates.full(day).toLowerCase().includes(word);
    days.set(day, known);
    return known;
  };
  return (row) => {
    for (const name in row) if (textOf(cellOf(row, name)).toLowerCase().includes(word)) return true;
    return hasDays && isShown(textOf(cellOf(row, 'date')));
  };
}

/** The text of a cell, for search and order. */
export const textOf = (value: Cell | undefined): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value ?? '');
