/**
 * Truth, measured: what came of each day that was asked for again. What is seen is gathered in memory and added now and then to
 * what all replicas have seen, one document a scope.
 */

import type { Logger } from 'pino';
import { percentAtMost } from '../finality/bound.js';
import { type Scope, scopeId, scopeOf, scopesWith } from '../finality/scope.js';
import type { Sight } from '../history/day-writes.js';
import { createLastUsed } from '../last-used.js';
import { repeat } from '../repeat.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import { dayAt, dayNumber, daysBetween } from '../report/days.js';
import type { Entry, RowsHeader } from '../report/entry.js';
import type { Documents } from '../store/port.js';
import { allScopes } from './scopes.js';
import { createTallies } from './tallies.js';
import { type AgeVerdicts, countVerdicts, KEPT_DAYS, tallyOf } from './tally.js';
import { isWhatItSays, type Look, lookOf, type TruthVerdict, VERDICTS } from './verdicts.js';

export interface TruthOptions {
  readonly documents: Documents;
  readonly timezoneOf: (account: string | null) => string;
  /** Whether its days say the same whatever range they are cut from. */
  readonly isSplit: (report: CanonicalReport) => boolean;
  /** Why no history is kept, without which little is measured; null: it is. */
  readonly off: string | null;
  readonly metrics: { truth(verdict: TruthVerdict, days: number): void };
  readonly now: () => number;
  readonly logger: Logger;
}

/** What is known of one scope, as it is shown. */
export interface ScopeTruth {
  readonly scope: Scope;
  /** Epoch milliseconds; null where nothing was. */
  readonly measuredSince: number | null;
  readonly ages: readonly (AgeVerdicts & { readonly wrongPercentAtMost: number })[];
}

export interface Truth {
  /** Told of every look at days that history knows, behind the answer. */
  sighted(report: CanonicalReport, sights: readonly Sight[]): void;
  /** Days that were served, cut from ranges or joined, and that depend on the range asked for. */
  dependent(report: CanonicalReport, days: readonly Omit<Look, 'verdict'>[]): void;
  /** Days that were served, and are held against the platform. */
  served(report: CanonicalReport, days: Iterable<Entry<RowsHeader>>): void;
  /** The days of a report were to be asked for again, and could not be. */
  failed(report: CanonicalReport): void;
  /** @throws StoreUnavailable */
  read(scope: Scope): Promise<ScopeTruth>;
  /** Of one advertiser. @throws StoreUnavailable */
  scopesOf(account: string): Promise<readonly Scope[]>;
  /** Of all advertisers. @throws StoreUnavailable */
  allScopes(): Promise<readonly Scope[]>;
  /** What holds for all of it. */
  readonly about: { readonly basis: string; readonly approximate: string; readonly notMeasured?: string };
  /** Writes down what was seen so far. Never rejects. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const BASIS =
  'Days are asked for again when they are no longer fresh, when a call for others brings them along, and when an answer that was joined from days is checked. None is drawn by chance, so nothing is weighted and nothing is said of days that were not asked for again. Each date counts once at each age, by the worst of what was seen then.';
const APPROXIMATE =
  'wrongPercentAtMost is the bound of independent dates with 95 %; dates are not independent. What the platform would have said at a past moment cannot be seen.';
const FLUSH_EVERY_MS = 30_000;
const DAY_MS = 86_400_000;
/** Scopes and days of which an error line was written. */
const MAX_SAID = 10_000;

export function createTruth(options: TruthOptions): Truth {
  const { documents, metrics, now, logger } = options;
  const sayWrong = createTruthLog(logger, now);
  const tallies = createTallies({ documents, now, logger });

  function note(report: CanonicalReport, looks: readonly Look[]): void {
    const over = looks.filter(({ ageDays }) => ageDays > 0);
    if (over.length === 0) return;
    const scope = scopeOf(report);
    for (const verdict of VERDICTS) {
      const days = over.filter((look) => look.verdict === verdict);
      if (days.length > 0) metrics.truth(verdict, days.length);
    }
    sayWrong(
      scope,
      over.filter(({ verdict }) => verdict === 'wrong').map(({ date }) => date),
    );
    tallies.add(scope, tallyOf(over, now()));
  }

  const scopes = async () => scopesWith(await allScopes(documents), tallies.unwritten());
  const flushes = repeat(FLUSH_EVERY_MS, tallies.flush);
  return {
    sighted(report, sights) {
      const rules = { timezone: options.timezoneOf(report.account), isSplit: options.isSplit(report) };
      note(
        report,
        sights.flatMap((sight) => lookOf(sight, rules) ?? []),
      );
    },
    dependent: (report, days) =>
      note(
        report,
        days.map((day) => ({ ...day, verdict: 'wrong' })),
      ),
    served(report, days) {
      const today = dayAt(now(), options.timezoneOf(report.account));
      const wrong = [...days].filter((day) => !isWhatItSays(day));
      note(
        report,
        wrong.map(({ header }) => lookAt(header.lastDay as string, today, 'wrong')),
      );
    },
    failed(report) {
      const today = dayAt(now(), options.timezoneOf(report.account));
      note(
        report,
        datesOf(report).map((date) => lookAt(date, today, 'failed')),
      );
    },
    async read(scope) {
      const all = await tallies.read(scope);
      const ages = countVerdicts(all);
      return {
        scope,
        measuredSince: ages.length === 0 ? null : all.since,
        ages: ages.map((age) => ({ ...age, wrongPercentAtMost: percentAtMost(age.wrong, age.n) })),
      };
    },
    scopesOf: async (account) => (await scopes()).filter((one) => one.account === account),
    allScopes: scopes,
    about: {
      ...{ basis: BASIS, approximate: APPROXIMATE },
      ...(options.off === null ? {} : { notMeasured: options.off }),
    },
    flush: tallies.flush,
    async close() {
      await flushes.stop();
      await tallies.flush();
    },
  };
}

function datesOf({ from, to }: CanonicalReport): readonly string[] {
  return from.iso === null || to.iso === null ? [] : daysBetween(from.iso, to.iso).slice(-KEPT_DAYS);
}

function lookAt(date: string, today: number, verdict: TruthVerdict): Look {
  return { date, ageDays: today - (dayNumber(date) as number), verdict };
}

/** One line for each scope and day that something was wrong. */
function createTruthLog(logger: Logger, now: () => number) {
  const said = createLastUsed<true>(MAX_SAID);
  return function sayWrong(scope: Scope, dates: readonly string[]): void {
    const name = `${scopeId(scope)} ${Math.floor(now() / DAY_MS)}`;
    if (dates.length === 0 || said.has(name)) return;
    said.set(name, true);
    const { endpoint, split, account } = scope;
    logger.error(
      { endpoint, split, advertiserId: account, dates: dates.slice(0, 10), days: dates.length },
      'days were served wrong: their rows are not those they said they were, or depend on the range asked for; purge the advertiser, and ask for the report again',
    );
  };
}
