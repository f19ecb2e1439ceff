import { ADVERTISER_COUNT } from './catalogue.js';
import { parseDay } from './days.js';
import type { PhpInput } from './php-input.js';
import type { ReportQuery } from './truth.js';

type ReadQuery =
  /** `foreign`: names an advertiser of another account. */
  | { readonly query: ReportQuery; readonly foreign: boolean }
  /** Messages by parameter, as in the framework's validation. */
  | { readonly errors: Readonly<Record<string, readonly string[]>> };

/**
 * The parameters of a report call. Empty text counts as absent, as in the framework.
 * @param today day number; default end of the period
 * @param datesRequired absent dates are an error, not the last seven days
 */
export function readReportQuery(input: PhpInput, today: number, datesRequired: boolean): ReadQuery {
  const errors: Record<string, string[]> = {};
  const refuse = (field: string, message: string) => {
    errors[field] = [`The ${field} field ${message}`];
  };
  const advertiserIds = readIds(input.get('advertiserId'));
  if (advertiserIds === null) refuse('advertiserId', 'must be an integer.');
  const listed = input.get('campaignIds');
  const campaignIds = isAbsent(listed) || Array.isArray(listed) ? readIds(listed) : null;
  if (campaignIds === null) refuse('campaignIds', 'must be an array of integers.');
  const spentBased = isAbsent(input.get('spentBased')) ? 'usd' : input.get('spentBased');
  const isBase = spentBased === 'usd' || spentBased === 'local';
  if (!isBase) refuse('spentBased', 'must be one of: usd, local.');
  const asked = { from: readDay(input.get('dateFrom')), to: readDay(input.get('dateTo')) };
  for (const [field, day] of [['dateFrom', asked.from] as const, ['dateTo', asked.to] as const]) {
    if (day === null) refuse(field, 'must match the format Y-m-d.');
    if (day === undefined && datesRequired) refuse(field, 'is required.');
  }
  const to = asked.to ?? today;
  const from = asked.from ?? to - 6;
  if (from > to) refuse('dateTo', 'must be a date after or equal to dateFrom.');
  if (Object.keys(errors).length > 0 || !isBase) return { errors };
  return {
    query: {
      advertiserIds: advertiserIds ?? undefined,
      campaignIds: campaignIds ?? undefined,
      from,
      to,
      byDate: readFlag(input.get('byDate')),
      byCampaign: readFlag(input.get('byCampaign')),
      spentBased,
    },
    foreign: (advertiserIds ?? []).some((id) => id < 1 || id > ADVERTISER_COUNT),
  };
}

/** PHP's `FILTER_VALIDATE_INT` after trimming. @returns undefined if it is not an integer */
export function readInteger(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined;
  const digits = typeof value === 'string' ? value.replace(/^[\s\0]+|[\s\0]+$/g, '') : '';
  return /^[+-]?(0|[1-9]\d{0,15})$/.test(digits) ? Number(digits) : undefined;
}

export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}

/** One id or a list. @returns undefined: absent; null: not integers */
function readIds(value: unknown): number[] | undefined | null {
  if (isAbsent(value)) return undefined;
  const ids = (Array.isArray(value) ? value : [value]).map(readInteger);
  return ids.every((id) => id !== undefined) ? ids : null;
}

/** @returns undefined: absent; null: not a day */
function readDay(value: unknown): number | undefined | null {
  if (isAbsent(value)) return undefined;
  return (typeof value === 'string' ? parseDay(value.trim()) : undefined) ?? null;
}

/** PHP's `FILTER_VALIDATE_BOOLEAN`. */
function readFlag(value: unknown): boolean {
  return value === true || /^(1|true|on|yes)$/i.test(String(value ?? '').trim());
}
