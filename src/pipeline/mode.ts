/** Whether a report is looked up and fetched by its days or as a whole, and by which entries. */
import type { EndpointRule } from '../config/schema.js';
import type { Learner } from '../divisibility/learn.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import { daysBetween } from '../report/days.js';
import { bytesRef, rowsRef } from '../report/keys.js';
import { dayUnit, type Unit } from './look-up.js';

/** A report that is asked for. */
export interface Asked {
  readonly report: CanonicalReport;
  /** Identity of the report without its period. */
  readonly series: string;
  /** rows: normalised · bytes: the platform's own. */
  readonly form: 'rows' | 'bytes';
}

/** How a report is looked up and fetched, and why so, for people. */
export interface Mode {
  /** days: cut by day · whole: one answer for the period */
  readonly mode: 'days' | 'whole';
  readonly because: string;
}

/** Cut by day only where it was proven that this changes nothing. */
export function modeOf(
  { report, form }: Pick<Asked, 'report' | 'form'>,
  endpoints: Readonly<Record<string, EndpointRule>>,
  learner: Pick<Learner, 'standing'>,
): Mode {
  const { from, to, split, endpoint } = report;
  // A path of the caller's: `constructor` is not declared.
  const rule = Object.hasOwn(endpoints, endpoint) ? endpoints[endpoint] : undefined;
  const whole = (because: string): Mode => ({ mode: 'whole', because });
  if (rule === undefined) return whole('the endpoint is not declared');
  if (rule.freshness === 'origin') return whole("the endpoint's freshness is the platform's to decide");
  if (!split.includes('date')) return whole('the report is not split by date');
  if (from.iso === null || to.iso === null) return whole('the period is left to the platform');
  if (form === 'bytes') return whole("the platform's own bytes are asked for");
  const { state, pinned, wholeUntil } = learner.standing(report);
  if (state === 'proven' && wholeUntil !== null)
    return whole(
      `an answer could not be cut: asked for as a whole until ${new Date(wholeUntil).toISOString()}`,
    );
  if (state === 'proven')
    return { mode: 'days', because: pinned ? 'pinned by configuration' : 'proven to be divisible' };
  if (pinned) return whole('pinned by configuration');
  return whole(NOT_DAYS[state]);
}

const NOT_DAYS = {
  learning: 'not yet proven to be divisible',
  probation: 'on probation: compared with the join of its days, which is not given yet',
  refuted: 'refuted to be divisible',
};

/** The entry that holds the report as a whole. */
export function wholeUnit({ report, series, form }: Asked): Unit {
  const [from, to] = [report.from.iso, report.to.iso];
  const rows = rowsRef(series, from, to);
  const ref = form === 'bytes' ? bytesRef(series, from, to) : rows;
  return { ref, key: ref.id, claim: rows.id, from, to };
}

/** The entries of its days, for a report with a period. */
export function dayUnits({ report, series }: Pick<Asked, 'report' | 'series'>): Unit[] {
  return daysBetween(report.from.iso as string, report.to.iso as string).map((date) => dayUnit(series, date));
}
