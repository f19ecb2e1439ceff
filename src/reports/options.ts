/** Shape of an answer and time of its data: `_totals`, `_days`, `_bom`, `_fields`, `_asOf` and `_vintage`. */
import { type FieldFault, invalidQuery } from '../errors.js';
import { mustBe, withStep } from '../lib/field-faults.js';
import type { Moment } from './history/revision.js';
import type { ParsedReport, ParseRules, Report } from './query/canonicalize.js';
import { dayNumber } from './query/days.js';
import type { Coding, Format, OutputOptions } from './query/output-options.js';

/** Options that change the body of the same report. */
export interface Shape {
  readonly format: Format;
  readonly totals: boolean;
  readonly days: boolean;
  readonly bom: boolean;
  /** Columns in order; null: all. */
  readonly fields: readonly string[] | null;
}

/** Key of a body in memory. */
export function shapeKey(series: string, report: Report, shape: Shape, coding: Coding): string {
  const flags = `${shape.totals ? 't' : ''}${shape.days ? 'd' : ''}${shape.bom ? 'b' : ''}`;
  const fields = shape.fields === null ? '' : encodeURIComponent(JSON.stringify(shape.fields));
  return `${series}|${report.from ?? ''}|${report.to ?? ''}|${shape.format}|${flags}|${fields}|${coding}`;
}

export function notRaw(param: string, value = ''): FieldFault {
  return withStep(param, `${value}requires rows`, 'leave out _format=raw');
}

export const BOM_FAULT: FieldFault = {
  param: '_bom',
  message: 'requires _format=csv',
  help: 'Send _format=csv, or omit _bom.',
};

/** @throws GatewayError `invalid_query` for options without effect in the format */
export function shapeOf(format: Format, { totals, days, bom, fields }: OutputOptions): Shape {
  const ofMeta = (param: string, member: string) => ({
    param,
    message: 'requires _format=json',
    help: `Omit ${param} here, and send the same query with ${param}=1&_format=json for meta.${member}.`,
  });
  const faults: FieldFault[] = [];
  if (totals && format !== 'json') faults.push(ofMeta('_totals', 'totals'));
  if (days && format !== 'json') faults.push(ofMeta('_days', 'days'));
  if (fields !== null && format === 'raw') faults.push(notRaw('_fields'));
  if (bom && format !== 'csv') faults.push(BOM_FAULT);
  if (faults.length > 0) throw invalidQuery(...faults);
  return { format, totals, days, bom, fields };
}

/**
 * @returns null for current data
 * @throws GatewayError `invalid_query`
 */
export function momentOf(
  { options, report, today }: ParsedReport,
  shape: Shape,
  rules: Pick<ParseRules, 'startOfDayOf'>,
  nowMs: number,
): Moment | null {
  const { asOf, vintage } = options;
  if (asOf !== null && vintage !== null)
    throw invalidQuery(withStep('_vintage', 'cannot be combined with _asOf', 'leave out one of them'));
  if (asOf === null && (vintage === null || vintage === 'latest')) return null;
  const read =
    asOf === null ? null : readAsOf(asOf, nowMs, today, (day) => rules.startOfDayOf(report.account, day));
  if (read !== null && 'fault' in read) throw invalidQuery({ ...AS_OF, message: read.fault });
  const fault = whyNoHistory(asOf === null ? '_vintage' : '_asOf', report, shape);
  if (fault !== null) throw invalidQuery(fault);
  return read === null ? (vintage as 'first' | 'final') : { at: (read as { readonly atMs: number }).atMs };
}

const AS_OF = mustBe(
  '_asOf',
  'an instant with a UTC offset, such as 2026-11-03T08:00:00Z, or a past day, such as 2026-11-03',
);

/** @returns why history cannot have the report; null if it can */
function whyNoHistory(
  param: string,
  { split, from, to }: Report,
  { format, totals }: Shape,
): FieldFault | null {
  if (!split.includes('date') || from === null || to === null)
    return withStep(param, 'requires a report by date with a period', 'add byDate=1, dateFrom and dateTo');
  if (format === 'raw') return notRaw(param);
  const message = 'cannot be combined with _totals: totals have no history';
  return totals ? { param, message, help: `Leave out ${param} or _totals.` } : null;
}

/** RFC 3339, section 5.6: a full date and time with its offset. */
const INSTANT = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;

/**
 * @param text an instant, or a past day (its end, in the account's zone)
 * @param today day number, in that zone
 * @param startOfDay epoch milliseconds, in that zone
 */
export function readAsOf(
  text: string,
  nowMs: number,
  today: number,
  startOfDay: (day: number) => number,
): { readonly atMs: number } | { readonly fault: string } {
  const day = dayNumber(text);
  if (day !== null)
    return day < today
      ? { atMs: startOfDay(day + 1) - 1 }
      : { fault: 'is not a past day: use a past day, or an instant such as 2026-11-03T08:00:00Z' };
  const atMs = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs)) return { fault: AS_OF.message };
  return atMs > nowMs
    ? { fault: `is in the future: the current time is ${new Date(nowMs).toISOString()}` }
    : { atMs };
}
