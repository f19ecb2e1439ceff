/** The gateway's own parameters, which start with `_`; and negotiation of format and coding (RFC 9110, sections 12.5.1 and 12.5.3). */
import * as zlib from 'node:zlib';
import Negotiator from 'negotiator';
import { type FieldFault, GatewayError } from '../../errors.js';
import { isUnknown, mustBe, withStep } from '../../lib/field-faults.js';
import { didYouMean, meantName } from '../../lib/near-name.js';
import type { QueryPair } from './given-parameters.js';
import { flagOf, GATEWAY_PARAMETERS, type GatewayParameter } from './parameters.js';
import { periodFault, resolvePeriod } from './period.js';

export type Coding = 'identity' | 'gzip' | 'br' | 'zstd';

/** With charset: a range with a parameter does not match a type without it. */
const TYPES: readonly (readonly [Format, type: string])[] = [
  ['json', 'application/json; charset=utf-8'],
  ['csv', 'text/csv; charset=utf-8'],
  ['ndjson', 'application/x-ndjson; charset=utf-8'],
  ['raw', 'application/vnd.dsp.raw; charset=utf-8'],
];

/** zstd only if the runtime has it. Among equals the caller's order decides. */
const HAS_ZSTD = 'zstdCompress' in zlib;
const CODINGS: readonly Coding[] = [...(HAS_ZSTD ? ['zstd' as const] : []), 'br', 'gzip', 'identity'];

/** `_format` overrides `accept`, which overrides the team's default. @throws GatewayError `not_acceptable` */
export function negotiateFormat(asked: Format | null, accept: string | undefined, fallback: Format): Format {
  if (asked !== null) return asked;
  if (accept === undefined || accept.trim() === '' || accept === '*/*') return fallback;
  // A range such as */* takes the first.
  const offered = TYPES.toSorted(([a], [b]) => Number(b === fallback) - Number(a === fallback));
  const chosen = new Negotiator({ headers: { accept } }).mediaType(offered.map(([, type]) => type));
  const found = offered.find(([, type]) => type === chosen);
  if (found === undefined) throw new GatewayError('not_acceptable');
  return found[0];
}

/** Whether the caller refuses an uncompressed body, and accepts another coding. */
export function refusesIdentity(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined || !/q *= *0/i.test(acceptEncoding)) return false;
  const negotiator = new Negotiator({ headers: { 'accept-encoding': acceptEncoding } });
  return negotiator.encoding(['identity']) === undefined && negotiator.encoding(CODINGS) !== undefined;
}

/** Identity if nothing else matches (RFC 9110, section 12.5.3). */
export function negotiateCoding(acceptEncoding: string | undefined): Coding {
  if (acceptEncoding === undefined || acceptEncoding === '') return 'identity';
  const negotiator = new Negotiator({ headers: { 'accept-encoding': acceptEncoding } });
  const chosen = negotiator.encoding(CODINGS);
  return (chosen as Coding | undefined) ?? 'identity';
}

export const FORMATS = ['json', 'csv', 'ndjson', 'raw'] as const;
export type Format = (typeof FORMATS)[number];

export const VINTAGES = ['first', 'final', 'latest'] as const;

export const FINAL_FILTERS = ['require', 'only'] as const;
export type FinalFilter = (typeof FINAL_FILTERS)[number];

export interface OutputOptions {
  /** Null when absent: `accept` and the team's default decide. */
  readonly format: Format | null;
  readonly totals: boolean;
  readonly days: boolean;
  /** Word of a relative period, valid. */
  readonly period: string | null;
  readonly bom: boolean;
  /** Unparsed; null when absent. */
  readonly asOf: string | null;
  /** Which numbers of each day; null when absent. */
  readonly vintage: (typeof VINTAGES)[number] | null;
  /** Null: provisional days are accepted. */
  readonly final: FinalFilter | null;
  /** Columns in order; null: all. */
  readonly fields: readonly string[] | null;
}

/** @param pairs each name once. @param faults receives faults */
export function readOutputOptions(pairs: readonly QueryPair[], faults: FieldFault[]): OutputOptions {
  const given = new Map<string, string>();
  for (const { name, value } of pairs) {
    if (GATEWAY_PARAMETERS.includes(name as GatewayParameter)) given.set(name, value);
    else faults.push(isUnknown(name, GATEWAY_PARAMETERS));
  }
  const flag = (name: GatewayParameter): boolean => {
    const value = flagOf(given.get(name) ?? '');
    if (value === null) faults.push(mustBe(name, '1 or 0'));
    return value ?? false;
  };
  const word = <T extends string>(name: GatewayParameter, words: readonly T[]): T | null => {
    const value = given.get(name) ?? null;
    const known = words.find((one) => one === value) ?? null;
    if (value !== null && known === null) faults.push(mustBe(name, `one of ${words.join(', ')}`));
    return known;
  };
  const format = word('_format', FORMATS);
  const fields = given.get('_fields');
  const period = given.get('_period') ?? null;
  if (period !== null && resolvePeriod(period, 0) === null) faults.push(periodFault(period));
  return {
    format,
    totals: flag('_totals'),
    days: flag('_days'),
    period,
    bom: flag('_bom'),
    asOf: given.get('_asOf') ?? null,
    vintage: word('_vintage', VINTAGES),
    final: word('_final', FINAL_FILTERS),
    fields: fields === undefined ? null : readFields(fields, faults),
  };
}

const MAX_FIELDS = 256;

/** @returns names of columns, in order. @param faults receives faults */
export function readFields(text: string, faults: FieldFault[]): readonly string[] {
  const fields = text.split(',');
  const twice = fields.find((field, at) => fields.indexOf(field) < at);
  const param = '_fields';
  if (fields.includes('')) faults.push(mustBe(param, 'column names separated by commas, such as date,spent'));
  else if (fields.length > MAX_FIELDS) faults.push(mustBe(param, `at most ${MAX_FIELDS} column names`));
  else if (twice !== undefined) faults.push(withStep(param, `names ${twice} twice`, 'leave out one of them'));
  return fields;
}

/** Known columns listed in a message. */
const MAX_NAMED = 15;

/**
 * @param columns of the answer's rows; without rows no name is a fault
 * @param seen columns of earlier answers to the same report, which may be missing at times
 */
export function fieldFaults(
  fields: readonly string[],
  columns: readonly string[],
  seen: ReadonlySet<string>,
): FieldFault[] {
  if (columns.length === 0) return [];
  const unknown = fields.filter((field) => !columns.includes(field) && !seen.has(field));
  const known = columns.slice(0, MAX_NAMED).join(', ') + (columns.length > MAX_NAMED ? ' and others' : '');
  return unknown.map((field) => {
    const meant = meantName(field, columns);
    const hint = meant === undefined ? '' : `: ${didYouMean(meant)}`;
    const help = `${meant === undefined ? 'Leave out' : `Send ${meant} instead of`} ${field} in _fields.`;
    return {
      param: '_fields',
      help,
      message: `names ${field}, which is not a column of this report${hint}${hint === '' ? '.' : ''} Columns: ${known}`,
    };
  });
}
