/** Which of what was known of each day is asked for: `_asOf` and `_vintage`. */
import { invalidQuery } from '../errors.js';
import type { Moment } from '../history/revision.js';
import { readAsOf } from '../report/as-of.js';
import type { CanonicalReport, CanonicalRequest, CanonicalRules } from '../report/canonicalize.js';
import type { Shape } from './shape.js';

export interface AskedMomentRules {
  readonly canonical: Pick<CanonicalRules, 'startOfDayOf'>;
  readonly now: () => number;
}

/**
 * @returns null for an ordinary answer
 * @throws GatewayError `invalid_query`
 */
export function momentOf(request: CanonicalRequest, shape: Shape, rules: AskedMomentRules): Moment | null {
  const { options, report } = request;
  const { asOf, vintage } = options;
  if (asOf !== null && vintage !== null)
    throw invalidQuery({
      param: '_vintage',
      message: 'does not go with _asOf, which says what is meant already: leave out one of them',
    });
  if (asOf !== null) return asOfMoment(asOf, request, shape, rules);
  if (vintage === null || vintage === 'latest') return null;
  const message = whyNoHistory(report, shape);
  if (message !== null) throw invalidQuery({ param: '_vintage', message });
  return vintage;
}

function asOfMoment(
  asOf: string,
  { report, today }: CanonicalRequest,
  shape: Shape,
  { canonical, now }: AskedMomentRules,
): Moment {
  const read = readAsOf(asOf, {
    ...{ nowMs: now(), today },
    startOfDay: (day) => canonical.startOfDayOf(report.account, day),
  });
  const message = 'fault' in read ? read.fault : whyNoHistory(report, shape);
  if (message !== null) throw invalidQuery({ param: '_asOf', message });
  return { at: (read as { readonly atMs: number }).atMs };
}

/** @returns why nothing could ever be known of it; null where it may be */
function whyNoHistory({ split, from, to }: CanonicalReport, { format, totals }: Shape): string | null {
  if (!split.includes('date') || from.iso === null || to.iso === null)
    return 'goes with reports by date for a period: add byDate=1, dateFrom and dateTo';
  if (format === 'raw') return "goes with rows, not with the platform's own bytes: leave out _format=raw";
  return totals ? 'does not go with _totals: totals have no history' : null;
}
