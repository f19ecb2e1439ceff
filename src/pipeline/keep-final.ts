/** What of an answer is final, where nothing else will do: the rest is refused, or left out. Pure. */
import { GatewayError } from '../errors.js';
import { listed } from '../history/read-days.js';
import type { Past } from '../report/assemble-input.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import { daysBetween } from '../report/days.js';
import type { Entry } from '../report/entry.js';
import { type FinalRules, tellExpected } from '../report/final-days.js';
import { isFinal } from '../report/freshness.js';
import type { AskedFinal } from './asked-final.js';

/** An answer before it is rendered. */
export interface Parts {
  readonly parts: readonly Entry[];
  readonly totals: Entry | null;
  /** The rows have changed since the totals were fetched. */
  readonly areTotalsOld: boolean;
  readonly past: Past | null;
}

export interface FinalParts extends Parts {
  /** Days that were asked for, and are not in it. */
  readonly leftOut: readonly string[];
}

/**
 * Before anything is looked up: no call makes a day older.
 * @throws GatewayError `not_final`
 */
export function refuseYoung(final: AskedFinal | null, rules: FinalRules): void {
  if (final?.filter !== 'require' || final.young.length === 0) return;
  throw new GatewayError('not_final', { detail: `Not final: ${tellExpected(final.young, rules)}.` });
}

/**
 * What is old enough may be provisional all the same: it was fetched before, and the platform fails since; or it is asked
 * for as of a moment before.
 * @throws GatewayError `not_final`
 */
export function keepFinal(
  final: AskedFinal | null,
  report: CanonicalReport,
  answer: Parts,
  rules: FinalRules,
): FinalParts {
  const { parts, totals, areTotalsOld, past } = answer;
  if (final === null || final.isNothing) return { ...answer, leftOut: final?.young ?? [] };
  const isPartFinal = (entry: Entry): boolean =>
    entry.header.form === 'refusal' ||
    (past?.days.get(entry.header.lastDay ?? '')?.final ?? isFinal(entry.header, rules));
  const kept = parts.filter(isPartFinal);
  const leftOut = final.filter === 'only' ? final.young : [];
  const isTotalsFinal = totals === null || (isPartFinal(totals) && !areTotalsOld);
  if (kept.length === parts.length && isTotalsFinal) return { ...answer, leftOut };
  const isByDay = parts.every(({ header }) => header.form === 'rows' && header.splitFrom !== null);
  const provisional = isByDay
    ? parts.filter((part) => !isPartFinal(part)).map(({ header }) => header.lastDay as string)
    : daysBetween(report.from.iso as string, report.to.iso as string);
  // Totals of days of which some are left out would be those of another period.
  if (final.filter === 'require' || !isByDay || totals !== null) throw notFinal(provisional, past);
  const dates = [...provisional, ...leftOut];
  const days = new Map([...(past?.days ?? [])].filter(([date]) => !provisional.includes(date)));
  return {
    parts: kept,
    totals,
    areTotalsOld,
    leftOut: dates,
    past: past === null ? null : { ...past, days },
  };
}

function notFinal(dates: readonly string[], past: Past | null): GatewayError {
  const named = dates.length === 0 ? 'the totals' : listed(dates);
  return past === null
    ? new GatewayError('not_final', {
        detail: `Old enough to be final, but the platform could not be asked since, or answered with days after them: ${named}.`,
        help: 'Repeat the call in a minute.',
      })
    : new GatewayError('not_final', {
        detail: `Not seen final by that moment: ${named}.`,
        help: 'Ask as of a later moment, or with _vintage=final for what each day said when it was first seen final.',
      });
}
