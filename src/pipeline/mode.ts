/** Whether a report is looked up and fetched by its days or as a whole. Pure. */
import type { DivisibilityStatus } from '../divisibility/learn.js';
import type { ReportPolicy } from '../report-policy.js';
import type { ReportQuestion } from './question.js';

/** How a report is looked up and fetched, and why so, for people. */
export interface Mode {
  /** days: split by day · whole: one answer for the period */
  readonly mode: 'days' | 'whole';
  readonly because: string;
}

const whole = (because: string): Mode => ({ mode: 'whole', because });

export const KEPT_AS_WHOLE = whole('kept as a whole, though its kind is split by day');
export const COULD_NOT_SPLIT = whole('its answer could not be split by day');

const NOT_DAYS = {
  learning: 'not yet proven to be divisible',
  probation: 'on probation: compared with the join of its days, which is not given yet',
  refuted: 'refuted to be divisible',
};

/** Split by day only where it was proven that this changes nothing. */
export function modeOf(
  { report, form }: Pick<ReportQuestion, 'report' | 'form'>,
  { endpoints }: Pick<ReportPolicy, 'endpoints'>,
  { state, pinned, wholeUntil }: DivisibilityStatus,
): Mode {
  const { from, to, split, endpoint } = report;
  const rule = endpoints.get(endpoint);
  if (rule === undefined) return whole('the endpoint is not declared');
  if (rule.freshness === 'origin') return whole("the endpoint's freshness is the platform's to decide");
  if (!split.includes('date')) return whole('the report is not split by date');
  if (from === null || to === null) return whole('the period is left to the platform');
  if (form === 'bytes') return whole("the platform's own bytes are asked for");
  if (state === 'proven' && wholeUntil !== null)
    return whole(
      `an answer could not be split: asked for as a whole until ${new Date(wholeUntil).toISOString()}`,
    );
  if (state === 'proven')
    return { mode: 'days', because: pinned ? 'pinned by configuration' : 'proven to be divisible' };
  if (pinned) return whole('pinned by configuration');
  return whole(NOT_DAYS[state]);
}
