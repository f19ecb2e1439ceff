/** `_final`: `require` refuses an answer with provisional days, `only` leaves those days out. Pure. */
import { GatewayError, invalidQuery } from '../../errors.js';
import { withStep } from '../../lib/field-faults.js';
import { listed } from '../history/read.js';
import { notRaw, type Shape } from '../options.js';
import type { ParsedReport, Report } from '../query/canonicalize.js';
import { dayNumber, daysBetween, isoDay } from '../query/days.js';
import type { FinalFilter } from '../query/output-options.js';
import type { Past } from '../rows/answer.js';
import type { Entry } from '../rows/entry.js';
import { type Flaw, joinFlaws } from '../rows/flaws.js';
import { byAge, expectedFinalDates, type FinalRules, isFinal, lackingDays } from '../rows/freshness.js';
import { whyNoTotals } from '../rows/warnings.js';

export interface FinalOption {
  readonly filter: FinalFilter;
  /** Today in the zone of the account, as a day number. */
  readonly today: number;
  /** Days too young to be final; `only` does not fetch them. */
  readonly young: readonly string[];
  /** `only` leaves no day. */
  readonly leavesNone: boolean;
  /** Part of the key of the answer in memory: a day left out today may be final tomorrow. */
  readonly key: string;
}

/**
 * @returns null if provisional days are accepted
 * @throws GatewayError `invalid_query`
 */
export function finalOption(
  { options, report, today }: ParsedReport,
  shape: Shape,
  rules: FinalRules,
): FinalOption | null {
  const { final: filter, vintage } = options;
  if (filter === null) return null;
  const { from, to } = report;
  if (vintage === 'first' || vintage === 'final')
    throw fault(`cannot be combined with _vintage=${vintage}`, 'leave out one of them');
  if (from === null || to === null) throw fault('requires a period', 'add dateFrom and dateTo, or _period');
  if (filter === 'only' && !report.split.includes('date'))
    throw fault('set to only requires a report by date', 'add byDate=1, or use _final=require');
  if (filter === 'only' && shape.format === 'raw') throw invalidQuery(notRaw('_final', 'set to only '));
  const { old, young } = byAge(daysBetween(from, to), today, rules);
  const key = filter === 'only' ? `only ${today}` : filter;
  return { filter, today, young, leavesNone: filter === 'only' && old.length === 0, key };
}

function fault(message: string, step: string): GatewayError {
  return invalidQuery(withStep('_final', message, step));
}

/** For `only`: the report without its young days; unchanged if none would be left. */
export function cutToFinal(report: Report, final: FinalOption | null): Report {
  const first = final?.young[0];
  if (final?.filter !== 'only' || final.leavesNone || first === undefined) return report;
  return { ...report, to: isoDay((dayNumber(first) as number) - 1) };
}

/**
 * Called before the lookup: no platform call can make a young day final.
 * @throws GatewayError `not_final`
 */
export function refuseYoung(final: FinalOption | null, rules: FinalRules): void {
  if (final?.filter !== 'require' || final.young.length === 0) return;
  throw new GatewayError('not_final', { detail: `Not final: ${expectedFinalDates(final.young, rules)}.` });
}

export interface AnswerParts {
  readonly parts: readonly Entry[];
  readonly totals: Entry | null;
  /** The rows have changed since the totals were fetched. */
  readonly areTotalsOld: boolean;
  readonly past: Past | null;
}

/**
 * Applies `_final` to fetched parts. A day that is old enough may still be provisional: the platform failed since it was
 * fetched, or `_asOf` is earlier.
 * @returns the final parts, and the days of the period that are left out
 * @throws GatewayError `not_final`
 */
export function keepFinal(
  final: FinalOption | null,
  report: Report,
  answer: AnswerParts,
  rules: FinalRules,
): AnswerParts & { readonly leftOut: readonly string[] } {
  const { parts, totals, areTotalsOld, past } = answer;
  if (final === null || final.leavesNone) return { ...answer, leftOut: final?.young ?? [] };
  const isPartFinal = ({ header }: Entry): boolean =>
    header.form === 'refusal' || (past?.days.get(header.lastDay ?? '')?.final ?? isFinal(header, rules));
  const kept = parts.filter(isPartFinal);
  const leftOut = final.filter === 'only' ? final.young : [];
  const areTotalsFinal =
    totals === null || whyNoTotals(totals, parts, rules) !== null || (isPartFinal(totals) && !areTotalsOld);
  if (kept.length === parts.length && areTotalsFinal) return { ...answer, leftOut };
  const isByDay = parts.every(({ header }) => header.form === 'rows' && header.splitFrom !== null);
  const provisional = isByDay
    ? parts.filter((part) => !isPartFinal(part)).map(({ header }) => header.lastDay as string)
    : daysBetween(report.from as string, report.to as string);
  const lacking = parts.flatMap(({ header }) => [
    ...lackingDays(header, rules),
    ...(header.forgotten?.missing ?? []),
  ]);
  if (lacking.length > 0 && (final.filter === 'require' || !isByDay)) throw incomplete(lacking);
  // Totals include the days that would be left out.
  if (final.filter === 'require' || !isByDay || totals !== null) {
    const flaws = joinFlaws([...parts, ...(totals === null ? [] : [totals])].map(({ header }) => header));
    throw flaws.length > 0 ? flawed(provisional, flaws) : notFinal(provisional, past);
  }
  const days = [...(past?.days ?? [])].filter(([date]) => !provisional.includes(date));
  return {
    parts: kept,
    totals,
    areTotalsOld,
    leftOut: [...provisional, ...leftOut],
    past: past === null ? null : { ...past, days: new Map(days) },
  };
}

function incomplete(dates: readonly string[]): GatewayError {
  return new GatewayError('not_final', {
    detail: `Never final, because the platform no longer returns their rows: ${listed(dates)}.`,
    help: 'Begin the period after these days, or leave out _final.',
  });
}

function flawed(dates: readonly string[], flaws: readonly Flaw[]): GatewayError {
  const codes = flaws.map(({ code }) => code).join(', ');
  return new GatewayError('not_final', {
    detail: `The platform's rows are not final because of ${codes}: ${listed(dates)}.`,
    help: 'Request them without _final to see the warning, which says what to do.',
  });
}

function notFinal(dates: readonly string[], past: Past | null): GatewayError {
  const named = dates.length === 0 ? 'the totals' : listed(dates);
  return past === null
    ? new GatewayError('not_final', {
        detail: `Old enough to be final, but not fetched since: ${named}.`,
        help: 'Repeat in a minute: the platform failed, or the totals are older than the rows.',
      })
    : new GatewayError('not_final', {
        detail: `Not final yet at that time: ${named}.`,
        help: 'Use a later _asOf, or _vintage=final for the first final numbers of each day.',
      });
}
