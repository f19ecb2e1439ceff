/** The filter of a table: texts, and conditions such as `clicks > 1,000 and CTR >= 0.5%`. Pure. */
import { currencyOf, type ReportColumn } from './columns.js';
import { type Cell, cellOf, type Row } from './parse.js';

export interface Filtered {
  readonly rows: readonly Row[];
  /** What is not understood, and what to write instead: then there are no rows. Null: all is understood. */
  readonly fault: string | null;
}

/** What a filter is read with. */
interface Reading {
  readonly rows: readonly Row[];
  readonly columns: readonly ReportColumn[];
  /** Of money in rows that name none; null: unknown. */
  readonly currency: string | null;
  /** Whether the reader's language writes decimals with a comma. */
  readonly hasCommas: boolean;
}

type Test = (row: Row) => boolean;

/** A part of a filter, and where it ends. */
type Part = Readonly<{ end: number; test: Test; isCondition: boolean } | { end: number; fault: string }>;

/** From an address it may be of any length, and reading takes the square of it. */
const MAX_CHARS = 1000;

/** @returns the rows that have all texts in any cell, regardless of case, and fulfil all conditions */
export function filterRows(filter: string, reading: Reading): Filtered {
  const { rows } = reading;
  if (filter.length > MAX_CHARS)
    return { rows: [], fault: `The filter is longer than ${MAX_CHARS} characters: write a shorter one.` };
  const parts: Part[] = [];
  const joints: string[] = [];
  for (let at = 0; at < filter.length; ) {
    const rest = filter.slice(at);
    const [gap = ''] = /^[\s,;]+/.exec(rest) ?? [];
    const [joint = ''] = gap === '' ? (/^(?:(?:and|or)(?=\s|$)|&+|\|+)/i.exec(rest) ?? []) : [];
    if (joint !== '') joints.push(joint);
    const part = gap + joint === '' ? partAt(filter, at, reading) : null;
    if (part !== null) parts.push(part);
    at = part?.end ?? at + gap.length + joint.length;
  }
  for (const part of parts) if ('fault' in part) return { rows: [], fault: part.fault };
  const read = parts.flatMap((part) => ('test' in part ? part : []));
  const either = joints.find((joint) => /[o|]/i.test(joint));
  const hasConditions = read.some(({ isCondition }) => isCondition);
  if (hasConditions && either !== undefined)
    return { rows: [], fault: `“${either}” is not possible: all conditions apply together.` };
  // Among texts alone they are texts, too.
  const tests = [
    ...read.map(({ test }) => test),
    ...(hasConditions ? [] : joints.map((joint) => contains(joint))),
  ];
  return {
    rows: tests.length === 0 ? rows : rows.filter((row) => tests.every((test) => test(row))),
    fault: null,
  };
}

const WORD = /^(?:[^\s<>=≤≥]+?(?=[,;]*(?:$|[\s<>=≤≥]))|[<>=≤≥]+)/;
const COMPARED = /^\s*(!?[<>=≤≥]+)\s*/;

/** A condition, or a word. What looks like a condition and is none may be a text that some row has. */
function partAt(filter: string, at: number, reading: Reading): Part {
  const rest = filter.slice(at);
  const column = columnAt(rest, reading.columns);
  const [word = ''] = WORD.exec(rest) ?? [];
  const left = column?.label ?? (COMPARED.test(word) ? '' : word);
  const [sign, signs = ''] = COMPARED.exec(rest.slice(left.length)) ?? [];
  if (sign === undefined) return { end: at + left.length, test: contains(left), isCondition: false };
  const from = at + left.length + sign.length;
  const part =
    column === null
      ? { end: from, fault: unknownIn(left, signs, reading.columns) }
      : conditionAt(filter, from, column.of, signs, reading);
  if (!('fault' in part)) return part;
  // `A=B`, as somebody named a campaign.
  const [, whole = ''] = /^(.*?)(?:$|[\s,;])/.exec(rest.slice(left.length + sign.length)) ?? [];
  const text = contains(filter.slice(at, from + whole.length));
  return reading.rows.some(text) ? { end: from + whole.length, test: text, isCondition: false } : part;
}

/** The column whose name, as its head has it or as the platform has it, stands before a comparison. */
function columnAt(
  text: string,
  columns: readonly ReportColumn[],
): { readonly of: ReportColumn; readonly label: string } | null {
  const lower = text.toLowerCase();
  const labels = columns.flatMap((of) => [of.title, of.name].map((label) => ({ of, label })));
  const found = labels.filter(
    ({ label }) => lower.startsWith(label.toLowerCase()) && COMPARED.test(text.slice(label.length)),
  );
  return found.sort((a, b) => b.label.length - a.label.length)[0] ?? null;
}

function unknownIn(name: string, signs: string, columns: readonly ReportColumn[]): string {
  const known = columns.flatMap(({ numeric, title }) => (numeric ? title : [])).join(', ');
  return name === ''
    ? `A column is missing before “${signs}”; columns of numbers are ${known}.`
    : `No column of numbers is called “${name}”; columns of numbers are ${known}.`;
}

const COMPARE: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '>': (a, b) => a > b,
  '<': (a, b) => a < b,
  '>=': (a, b) => a >= b,
  '<=': (a, b) => a <= b,
  '=': (a, b) => a === b,
};
const ALIKE: Readonly<Record<string, string>> = { '≥': '>=', '=>': '>=', '≤': '<=', '=<': '<=', '==': '=' };

/** With what stands directly before and behind it, and groups of three digits that spaces separate. */
const NUMBER =
  /^([-−+]?\s*[$€£]?\s*[-−]?)(\d+(?:[.,'’]\d+|[ \u00a0\u202f]\d{3}(?![\d-]))*)(\s*%|\s*[€$£])?(?=$|[\s,;&])/;

/** @param at where the number begins */
function conditionAt(
  filter: string,
  at: number,
  { name, title, numeric, unit }: ReportColumn,
  signs: string,
  { rows, currency, hasCommas }: Reading,
): Part {
  const compare = COMPARE[ALIKE[signs] ?? signs];
  const wrong = (fault: string): Part => ({ end: at, fault });
  // An id is a number, too.
  if (!numeric && !rows.some((row) => typeof cellOf(row, name) === 'number'))
    return wrong(`${title} is no column of numbers: write the text that you look for alone.`);
  if (compare === undefined) return wrong(`“${signs}” is not understood: write >, >=, <, <= or =.`);
  const [whole, before = '', digits = '', after = ''] = NUMBER.exec(filter.slice(at)) ?? [];
  if (whole === undefined) {
    const [typed = ''] = /^[^\s;]*/.exec(filter.slice(at)) ?? [];
    return wrong(
      typed === ''
        ? `A number is missing after ${title} ${signs}.`
        : `“${typed}” is no number: write one such as 1000, 1,000 or 0.5.`,
    );
  }
  const value = numberIn(digits, hasCommas);
  if (typeof value === 'string') return wrong(value);
  const [symbol = ''] = /[$€£]/.exec(before + after) ?? [];
  if (after.includes('%') && unit !== 'share')
    return wrong(`“${whole.trim()}” has %, but ${title} is no percentage: write the number alone.`);
  const isOther = CURRENCIES[symbol]?.test(currencyOf(rows, currency) ?? '') === false;
  if (symbol !== '' && (unit !== 'money' || isOther))
    return wrong(`“${whole.trim()}” does not fit: ${title} is not in ${symbol}; write the number alone.`);
  // Percentages are kept as they are shown: 0.5 is 0.5 %.
  const limit = /[-−]/.test(before) ? -value : value;
  const test: Test = (row) => {
    const cell = cellOf(row, name);
    return typeof cell === 'number' && compare(cell, limit);
  };
  return { end: at + whole.length, test, isCondition: true };
}

const GROUPED = /^\d{1,3}(,\d{3})+(\.\d+)?$/;

/** @returns the number, or why it is none: another reading of its signs would be another number */
function numberIn(digits: string, hasCommas: boolean): number | string {
  // Where 1,500 is one and a half, and 1.500 is 1500, either is written by mistake.
  if (hasCommas && /[.,]\d{3}$/.test(digits) && !/[.,].*[.,]/.test(digits))
    return `“${digits}” has two readings: write 1500 without a separator, and decimals as 1.5.`;
  if (/^\d+(\.\d+)?$/.test(digits)) return Number(digits);
  if (GROUPED.test(digits)) return Number(digits.replaceAll(',', ''));
  return `“${digits}” is not understood: write decimals with a point, as in 0.5, and thousands as 1000 or 1,000.`;
}

/** Rows that tell none, or several, have no sign. */
const CURRENCIES: Readonly<Record<string, RegExp>> = { $: /D$/, '€': /^EUR$/, '£': /^GBP$/ };

function contains(text: string): Test {
  const word = text.toLowerCase();
  return (row) => {
    for (const name in row) if (textOf(cellOf(row, name)).toLowerCase().includes(word)) return true;
    return false;
  };
}

/** The text of a cell, for search and order. */
export const textOf = (value: Cell | undefined): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value ?? '');
