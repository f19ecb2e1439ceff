/** `_final`: whether days that are not final will do. */
import { type GatewayError, invalidQuery } from '../errors.js';
import type { CanonicalReport, CanonicalRequest } from '../report/canonicalize.js';
import { dayNumber, daysBetween, isoDay } from '../report/days.js';
import { byAge, type FinalRules } from '../report/final-days.js';
import type { FinalFilter } from '../report/output-options.js';
import type { Shape } from './shape.js';

export interface AskedFinal {
  readonly filter: FinalFilter;
  /** The day it is in the zone of the account, as a day number. */
  readonly today: number;
  /** Days of the period that are too young to be final; of what may be wanted without them they are asked for no more. */
  readonly young: readonly string[];
  /** Whether no day is left. */
  readonly isNothing: boolean;
  /** Part of the key of the finished answer: what is left out today may be final tomorrow. */
  readonly key: string;
}

/**
 * @returns null where any day will do
 * @throws GatewayError `invalid_query`
 */
export function askedFinal(
  { options, report, today }: CanonicalRequest,
  shape: Shape,
  rules: FinalRules,
): AskedFinal | null {
  const { final: filter, vintage } = options;
  if (filter === null) return null;
  const { from, to } = report;
  if (vintage === 'first' || vintage === 'final')
    throw fault(
      `does not go with _vintage=${vintage}, which says which numbers are meant: leave out one of them`,
    );
  if (from.iso === null || to.iso === null)
    throw fault('goes with a period, whose days are final or not: add dateFrom and dateTo, or _period');
  if (filter === 'only' && !report.split.includes('date'))
    throw fault(
      'with only goes with reports by date, whose rows say which days are left: add byDate=1, or give _final=require',
    );
  if (filter === 'only' && shape.format === 'raw')
    throw fault("with only goes with rows, not with the platform's own bytes: leave out _format=raw");
  const dates = daysBetween(from.iso, to.iso);
  const { old, young } = byAge(dates, today, rules);
  const key = filter === 'only' ? `only ${today}` : filter;
  return { filter, today, young, isNothing: filter === 'only' && old.length === 0, key };
}

/** The report without the days that are too young, where they are not wanted; the whole of it where none would be left. */
export function cutToFinal(report: CanonicalReport, final: AskedFinal | null): CanonicalReport {
  const first = final?.young[0];
  if (final?.filter !== 'only' || final.isNothing || first === undefined) return report;
  const iso = isoDay((dayNumber(first) as number) - 1);
  return { ...report, to: { ...report.to, iso } };
}

function fault(message: string): GatewayError {
  return invalidQuery({ param: '_final', message });
}
