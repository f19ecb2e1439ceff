/**
 * What came of asking for days again, of one scope: of each date, at which ages it came to which verdict. Pure. It only grows,
 * by union: replicas add what they saw in any order, and twice, and each date counts once an age, by the worst.
 */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { dayNumber } from '../query/days.js';
import { type Look, type TruthVerdict, VERDICTS } from './looks.js';

/** Ages beyond are taken for this one. */
const MAX_AGE = 90;
/** Dates that are remembered. */
export const KEPT_DAYS = 200;

/** For each of {@link VERDICTS} a bit for each age. */
type DateVerdicts = readonly bigint[];

export interface Tally {
  /** Since when, epoch milliseconds. */
  readonly since: number;
  /** By day number. */
  readonly dates: ReadonlyMap<number, DateVerdicts>;
}

export const NO_TALLY: Tally = { since: Number.MAX_SAFE_INTEGER, dates: new Map() };

/** Nothing of days that were not over. */
export function tallyOf(looks: readonly Look[], at: number): Tally {
  const over = looks.filter(({ ageDays }) => ageDays > 0);
  return over.reduce<Tally>((sum, { date, ageDays, verdict }) => {
    const bits = VERDICTS.map((one) => (one === verdict ? bitOf(ageDays) : 0n));
    return merge(sum, { since: at, dates: new Map([[dayNumber(date) as number, bits]]) });
  }, NO_TALLY);
}

const bitOf = (age: number) => 1n << BigInt(Math.min(age, MAX_AGE));

export function merge(one: Tally, other: Tally): Tally {
  const dates = new Map(one.dates);
  for (const [day, bits] of other.dates) {
    const known = dates.get(day);
    dates.set(day, known === undefined ? bits : known.map((own, at) => own | (bits[at] ?? 0n)));
  }
  return { since: Math.min(one.since, other.since), dates };
}

/** Without what is too long ago. @param today as a day number */
export function forget({ since, dates }: Tally, today: number): Tally {
  return { since, dates: new Map([...dates].filter(([day]) => day >= today - KEPT_DAYS)) };
}

const HEX = Type.String({ pattern: '^[0-9a-f]+$' });
const TallyForm = recordForm(
  Type.Object({
    form: Type.Literal(1),
    since: Type.Integer(),
    /** Day number, and the ages of each verdict in hexadecimal. */
    dates: Type.Array(Type.Tuple([Type.Integer(), HEX, HEX, HEX, HEX, HEX])),
  }),
);

/** Equal for equal tallies. */
export function encodeTally({ since, dates }: Tally): string {
  const days = [...dates].sort(([a], [b]) => a - b);
  return JSON.stringify({
    form: 1,
    since,
    dates: days.map(([day, bits]) => [day, ...bits.map((ages) => ages.toString(16))]),
  });
}

/** @returns null for what is none, or was written by a later release: it is then left as it is */
export function decodeTally(text: string): Tally | null {
  const form: RecordOf<typeof TallyForm> | null = TallyForm.parse(text);
  if (form === null) return null;
  const dates = form.dates.map(([day, ...ages]): [number, DateVerdicts] => [
    day,
    ages.map((hex) => BigInt(`0x${hex}`)),
  ]);
  return { since: form.since, dates: new Map(dates) };
}

/** Distinct dates of an age: n were asked for again, of each verdict so many; failed: so many could not be. */
export type AgeVerdicts = Readonly<Record<TruthVerdict, number>> & {
  readonly ageDays: number;
  readonly n: number;
};

/** Of each age at which any was, or was to be. */
export function countVerdicts({ dates }: Tally): AgeVerdicts[] {
  const ages: AgeVerdicts[] = [];
  for (let ageDays = 1; ageDays <= MAX_AGE; ageDays += 1) {
    const counts = { failed: 0, same: 0, differs_since: 0, restated: 0, wrong: 0 };
    for (const bits of dates.values()) {
      const isSo = (at: number) => ((bits[at] ?? 0n) & bitOf(ageDays)) !== 0n;
      if (isSo(0)) counts.failed += 1;
      const worst = VERDICTS.findLastIndex((_verdict, at) => at > 0 && isSo(at));
      if (worst > 0) counts[VERDICTS[worst] as TruthVerdict] += 1;
    }
    const n = counts.same + counts.differs_since + counts.restated + counts.wrong;
    if (n + counts.failed > 0) ages.push({ ageDays, n, ...counts });
  }
  return ages;
}
