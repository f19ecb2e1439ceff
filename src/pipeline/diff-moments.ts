/** Between which two moments a diff is asked for: instants, days that are over, words, or what a pin holds. */
import { type FieldFault, invalidQuery } from '../errors.js';
import type { Moment } from '../history/revision.js';
import type { PinnedRows } from '../pins/create-pins.js';
import type { CanonicalRules } from '../report/canonicalize.js';
import type { AskedCall } from './asked-report.js';
import { readAsOf } from './options.js';

export interface DiffMomentRules {
  readonly canonical: Pick<CanonicalRules, 'todayOf' | 'startOfDayOf'>;
  readonly now: () => number;
}

/** A moment as it is shown, and as the history is asked for it. */
export interface NamedMoment {
  readonly name: string;
  readonly moment: Moment;
}

/** @throws GatewayError `invalid_query` for what is no moment, and for an order that is none */
export function momentsOf(
  { given, question }: AskedCall,
  { canonical, now }: DiffMomentRules,
): { readonly from: NamedMoment | { readonly pin: string }; readonly to: NamedMoment } {
  const { account } = question.report;
  const faults: FieldFault[] = [];
  const read = (param: 'from' | 'to', word: 'first' | 'latest'): NamedMoment | null => {
    const text = given.get(param);
    if (text === word) return { name: word, moment: word };
    const startOfDay = (day: number) => canonical.startOfDayOf(account, day);
    const asOf =
      text === undefined
        ? { fault: 'is missing' }
        : readAsOf(text, now(), canonical.todayOf(account), startOfDay);
    if ('atMs' in asOf) return { name: new Date(asOf.atMs).toISOString(), moment: { at: asOf.atMs } };
    faults.push({ param, message: `${asOf.fault}; ${ALLOWED[param]}` });
    return null;
  };
  const pin = /^pin_[\w-]{1,64}$/.test(given.get('from') ?? '') ? (given.get('from') as string) : null;
  const [from, to] = [pin === null ? read('from', 'first') : null, read('to', 'latest')];
  if (from !== null && to !== null && instantOf(from) > instantOf(to))
    faults.push({ param: 'from', message: `lies after to (${to.name}): give the earlier moment as from` });
  if (faults.length > 0) throw invalidQuery(...faults);
  return { from: pin === null ? (from as NamedMoment) : { pin }, to: to as NamedMoment };
}

/** @throws GatewayError `invalid_query` for a pin that holds something else, or was known later than `to` */
export function refuseOtherReport({ pin }: PinnedRows, { question }: AskedCall, to: NamedMoment): void {
  const { report, series } = question;
  const isSame = pin.series === series && pin.from === report.from.iso && pin.to === report.to.iso;
  const message = !isSame
    ? `is a pin of another report or period (${pin.endpoint}?${pin.query}): give that one as endpoint and query`
    : pin.revision === null
      ? 'is a pin of a whole answer, which cannot be compared by days'
      : pin.knownAt > instantOf(to)
        ? `is a pin of what was known at ${new Date(pin.knownAt).toISOString()}, which is after to (${to.name})`
        : null;
  if (message !== null) throw invalidQuery({ param: 'from', message });
}

const ALLOWED = {
  from: 'allowed are an instant (2026-11-03T08:00:00Z), a day that is over (2026-11-03), first, or the id of a pin',
  to: 'allowed are an instant (2026-11-03T08:00:00Z), a day that is over (2026-11-03), latest',
};

/** For the order alone: `first` is before, and `latest` after, every instant. */
function instantOf({ moment }: NamedMoment): number {
  if (typeof moment === 'object') return moment.at;
  return moment === 'latest' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
}
