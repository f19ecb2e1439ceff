/**
 * Truth, measured: what came of each day that was fetched again. Verdicts go to one document a scope, which all replicas share,
 * and one more names the scopes, for documents cannot be listed.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import { createLastUsed } from '../../lib/last-used.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { Documents } from '../../store/port.js';
import { createSharedTallies, mergeDocument } from '../../store/shared-tallies.js';
import type { DayObservation } from '../history/day-writes.js';
import type { Report } from '../query/canonicalize.js';
import { dayAt, dayNumber, daysBetween } from '../query/days.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { isWhatItSays, type Look, lookOf, type TruthVerdict, VERDICTS } from './evidence.js';
import { percentAtMost, type Scope, scopeId, scopeOf, scopesWith } from './scope.js';

// What came of asking for days again, of one scope: of each date, at which ages it came to which verdict. Pure. It only grows,
// by union: replicas add what they saw in any order, and twice, and each date counts once an age, by the worst.

/** Ages beyond are taken for this one. */
const MAX_AGE = 90;
/** Dates that are remembered. */
const KEPT_DAYS = 200;

/** For each of {@link VERDICTS} a bit for each age. */
type DateVerdicts = readonly bigint[];

interface Tally {
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
type AgeVerdicts = Readonly<Record<TruthVerdict, number>> & {
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

export interface TruthOptions {
  readonly documents: Documents;
  readonly timezoneOf: (account: string | null) => string;
  /** Whether its days say the same whatever range they are cut from. */
  readonly isSplit: (report: Report) => boolean;
  /** Why no history is kept, without which little is measured; null: it is. */
  readonly off: string | null;
  readonly metrics: { truth(verdict: TruthVerdict, days: number): void };
  readonly now: () => number;
  readonly logger: Logger;
}

/** What is known of one scope, as it is shown. */
interface ScopeTruth {
  readonly scope: Scope;
  /** Epoch milliseconds; null where nothing was. */
  readonly measuredSince: number | null;
  readonly ages: readonly (AgeVerdicts & { readonly wrongPercentAtMost: number })[];
}

export type Truth = ReturnType<typeof createTruth>;

const ABOUT = {
  basis:
    'Days are asked for again when they are no longer fresh, when a call for others brings them along, and when an answer that was joined from days is checked. None is drawn by chance, so nothing is weighted and nothing is said of days that were not asked for again. Each date counts once at each age, by the worst of what was seen then.',
  approximate:
    'wrongPercentAtMost is the bound of independent dates with 95 %; dates are not independent. What the platform would have said at a past moment cannot be seen.',
};
const FLUSH_EVERY_MS = 30_000;
const DAY_MS = 86_400_000;
const KEPT_MS = KEPT_DAYS * DAY_MS;
/** Scopes and days of which an error line was written. */
const MAX_LOGGED = 10_000;

export function createTruth(options: TruthOptions) {
  const { documents, metrics, now, logger } = options;
  const today = () => Math.floor(now() / DAY_MS);
  const logWrong = createWrongLog(logger);
  let isFull = false;
  const tallies = createSharedTallies<Scope, Tally>({
    ...{ documents, everyMs: FLUSH_EVERY_MS, ttlMs: KEPT_MS },
    ...{ decode: decodeTally, encode: encodeTally, none: NO_TALLY, merge },
    documentOf: (scope) => `truth:${scopeId(scope)}`,
    keep: (all) => forget(all, today()),
    async admit(scope) {
      const hasRoom = await addScope(documents, scope, today());
      if (!hasRoom) warnFull();
      return hasRoom;
    },
    onAway: (error) => logger.debug({ err: error }, 'what was measured of truth waits for the store'),
  });

  function warnFull(): void {
    if (!isFull) logger.warn('there is no room to measure the truth of further reports');
    isFull = true;
  }

  function note(report: Report, looks: readonly Look[]): void {
    const over = looks.filter(({ ageDays }) => ageDays > 0);
    if (over.length === 0) return;
    const scope = scopeOf(report);
    for (const verdict of VERDICTS) {
      const days = over.filter((look) => look.verdict === verdict);
      if (days.length > 0) metrics.truth(verdict, days.length);
      if (verdict === 'wrong') logWrong(scope, days, today());
    }
    if (!tallies.add(scope, tallyOf(over, now()))) warnFull();
  }

  const ageOf = ({ account }: Report, date: string) =>
    dayAt(now(), options.timezoneOf(account)) - (dayNumber(date) as number);
  const allScopes = async () => scopesWith(await readScopes(documents), tallies.unwritten());
  return {
    /** Told of every look at days that history knows, behind the answer. */
    observed(report: Report, sights: readonly DayObservation[]): void {
      const rules = { timezone: options.timezoneOf(report.account), isSplit: options.isSplit(report) };
      note(
        report,
        sights.flatMap((sight) => lookOf(sight, rules) ?? []),
      );
    },
    /** Days that were served, cut from ranges or joined, and that depend on the range asked for. */
    dependent(report: Report, days: readonly Omit<Look, 'verdict'>[]): void {
      note(
        report,
        days.map((day) => ({ ...day, verdict: 'wrong' })),
      );
    },
    /** Days that were served, and are held against the platform. */
    served(report: Report, days: Iterable<Entry<RowsHeader>>): void {
      const wrong = [...days].filter((day) => !isWhatItSays(day));
      const dates = wrong.map(({ header }) => header.lastDay as string);
      note(
        report,
        dates.map((date) => ({ date, ageDays: ageOf(report, date), verdict: 'wrong' })),
      );
    },
    /** The days of a report were to be fetched again, and could not be. */
    failed(report: Report): void {
      const { from, to } = report;
      if (from === null || to === null) return;
      const dates = daysBetween(from, to).slice(-KEPT_DAYS);
      note(
        report,
        dates.map((date) => ({ date, ageDays: ageOf(report, date), verdict: 'failed' })),
      );
    },
    /** @throws StoreUnavailable */
    async read(scope: Scope): Promise<ScopeTruth> {
      const all = await tallies.read(scope);
      const ages = countVerdicts(all);
      return {
        scope,
        measuredSince: ages.length === 0 ? null : all.since,
        ages: ages.map((age) => ({ ...age, wrongPercentAtMost: percentAtMost(age.wrong, age.n) })),
      };
    },
    /** Of one advertiser. @throws StoreUnavailable */
    scopesOf: async (account: string): Promise<readonly Scope[]> =>
      (await allScopes()).filter((one) => one.account === account),
    /** Of all advertisers. @throws StoreUnavailable */
    allScopes,
    /** What holds for all of it. */
    about: { ...ABOUT, ...(options.off === null ? {} : { notMeasured: options.off }) },
    flush: tallies.flush,
    close: tallies.close,
  };
}

function createWrongLog(logger: Logger) {
  const logged = createLastUsed<true>(MAX_LOGGED);
  /** One line for each scope and day on which something was wrong. */
  return function logWrong(scope: Scope, wrong: readonly Look[], today: number): void {
    const name = `${scopeId(scope)} ${today}`;
    if (wrong.length === 0 || logged.has(name)) return;
    logged.set(name, true);
    const { endpoint, split, account } = scope;
    const dates = wrong.slice(0, 10).map(({ date }) => date);
    logger.error(
      { endpoint, split, advertiserId: account, dates, days: wrong.length },
      'days were served wrong: their rows are not those they said they were, or depend on the range asked for; purge the advertiser, and ask for the report again',
    );
  };
}

const SCOPES = 'truth-scopes';
const MAX_SCOPES = 2000;
/** A scope that is in use is written anew when it was last written so many days ago. */
const ANEW_DAYS = 30;

const ScopesForm = recordForm(
  Type.Object({
    form: Type.Literal(1),
    /** Endpoint, split, account, and the day number when that was last written. */
    scopes: Type.Array(
      Type.Tuple([Type.String(), Type.String(), Type.Union([Type.String(), Type.Null()]), Type.Integer()]),
    ),
  }),
);
type Scopes = RecordOf<typeof ScopesForm>;

/** @returns false where there is no room for it. @throws StoreUnavailable */
async function addScope(documents: Documents, scope: Scope, today: number): Promise<boolean> {
  const isOf = ([endpoint, split, account]: Scopes['scopes'][number]) =>
    endpoint === scope.endpoint && split === scope.split && account === scope.account;
  const all = await mergeDocument<Scopes>(documents, {
    ...{ key: SCOPES, ttlMs: KEPT_MS, decode: ScopesForm.parse, encode: JSON.stringify },
    add(before) {
      const known = before ?? { form: 1, scopes: [] };
      const own = known.scopes.find(isOf);
      if (own !== undefined && today - own[3] < ANEW_DAYS) return known;
      const others = known.scopes.filter((one) => one !== own && one[3] >= today - KEPT_DAYS);
      if (others.length >= MAX_SCOPES) return known;
      return { ...known, scopes: [...others, [scope.endpoint, scope.split, scope.account, today]] };
    },
  });
  return all === null || all.scopes.some(isOf);
}

/** @throws StoreUnavailable */
async function readScopes(documents: Documents): Promise<readonly Scope[]> {
  const text = await documents.get(SCOPES);
  const all = text === null ? null : ScopesForm.parse(text);
  return (all?.scopes ?? []).map(([endpoint, split, account]) => ({ endpoint, split, account }));
}
