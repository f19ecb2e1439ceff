/** What goes for every question about the history of a report: that it has one, by day. */
import { invalidQuery } from '../errors.js';
import { daysBetween } from '../report/days.js';
import { parseQueryText } from '../report/query-text.js';
import type { AskedCall } from './asked-report.js';

/** Parameters that choose one moment, or leave something out: here they would be done without. */
const NOT_HERE = ['_asOf', '_vintage', '_final', '_fields'];

/**
 * @returns the days that are asked about, in order
 * @throws GatewayError `invalid_query` for a report that is not by date for a period
 */
export function daysAskedAbout({ question, named }: Pick<AskedCall, 'question' | 'named'>): string[] {
  const { split, from, to } = question.report;
  const strange = parseQueryText(named.query).filter(({ name }) => NOT_HERE.includes(name));
  const faults = strange.map(({ name }) => ({
    param: `query.${name}`,
    message: 'does not go here, where all that is kept of the days is looked at: leave it out',
  }));
  if (faults.length > 0) throw invalidQuery(...faults);
  if (split.includes('date') && from.iso !== null && to.iso !== null) return daysBetween(from.iso, to.iso);
  const message =
    'must be a report by date for a period, for only those have a history by day: add byDate=1, dateFrom and dateTo';
  throw invalidQuery({ param: 'query', message });
}
