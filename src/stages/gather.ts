/**
 * Stage: look up → plan → obtain → (again, until nothing is open).
 *
 * Gives the parts of a report, from the cache where their freshness allows, and says how it came by them.
 */
import type { Logger } from 'pino';
import type { EndpointRule } from '../config/schema.js';
import { GatewayError } from '../errors.js';
import { NO_WISH, type Wish } from '../http/cache-directives.js';
import type { Outcome } from '../outcome.js';
import type { CallReport } from '../platform/client.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import { daysBetween } from '../report/days.js';
import type { FreshnessRules } from '../report/freshness.js';
import { bytesKey, rowsKey } from '../report/keys.js';
import type { Part, RowsHeader } from '../report/part.js';
import type { PlanRules } from '../report/plan.js';
import type { Learner } from './learn.js';
import { dayUnit, type LookUp, type Unit } from './look-up.js';
import { BACKGROUND_TEAM, type Errand, type Haul, NotCuttable, type Obtain } from './obtain.js';
import { planTrips } from './plan-trips.js';
import { createSearch, type Search } from './search.js';

export interface GatherAsk {
  readonly report: CanonicalReport;
  /** Identity of the report without its period. */
  readonly series: string;
  /** rows: normalised · bytes: the platform's own. */
  readonly form: 'rows' | 'bytes';
  readonly wish: Wish;
  readonly team: string;
  readonly onTry?: (report: CallReport) => void;
}

export interface Gathered {
  /** In date order; one part when the report is not cut, or when it is a refusal or bytes. */
  readonly parts: readonly Part[];
  readonly outcome: Outcome;
  /** For a report that is cut by day: how many of its days were asked for. */
  readonly days: { readonly fetched: number; readonly total: number } | null;
  readonly stored: boolean;
  readonly degraded: boolean;
  /** Whether it may be kept at all: not what the platform said no-store to. */
  readonly keep: boolean;
}

export interface GatherOptions {
  readonly lookUp: LookUp;
  readonly obtain: Obtain;
  readonly learner: Learner;
  readonly endpoints: Readonly<Record<string, EndpointRule>>;
  readonly rules: FreshnessRules;
  readonly plan: PlanRules;
  readonly now: () => number;
  /** Longest time a request waits for its parts. */
  readonly timeoutMs: number;
  /** Platform calls that this process may make at once, as of now. */
  readonly turns: () => number;
  readonly logger: Logger;
  /** Told of every answer that was joined from days, for the occasional audit. */
  readonly onAssembled: (ask: GatherAsk, parts: readonly Part<RowsHeader>[]) => void;
  readonly background: (work: Promise<unknown>) => void;
}

/** Errors for which an old answer is better than none (contract: never on another 4xx). */
const EXCUSES: readonly string[] = [
  'upstream_error',
  'upstream_timeout',
  'upstream_invalid_response',
  'upstream_too_large',
  'upstream_rate_limited',
  'upstream_circuit_open',
  'upstream_budget_exhausted',
  'credential_unavailable',
  'overloaded',
];

export type Gather = (ask: GatherAsk) => Promise<Gathered>;

export function createGather(options: GatherOptions): Gather {
  const { lookUp, obtain, learner, endpoints, rules, now, logger } = options;

  return async function gather(ask) {
    if (modeOf(ask, endpoints, learner).mode === 'whole') return collect(ask, 'whole');
    try {
      return await collect(ask, 'days');
    } catch (error) {
      if (!(error instanceof NotCuttable)) throw error;
      logger.warn(
        { endpoint: ask.report.endpoint, reason: error.message },
        'an answer could not be cut by day',
      );
      return collect(ask, 'whole');
    }
  };

  async function collect(ask: GatherAsk, mode: Errand['mode']): Promise<Gathered> {
    const { report, wish } = ask;
    const whole = wholeUnit(ask);
    const units = mode === 'whole' ? [whole] : dayUnits(ask);
    const arrivedAt = now();
    const generation = mode === 'whole' ? null : learner.standing(report).generation;
    const refusalAt = mode === 'whole' ? null : whole;
    const search = createSearch({ report, units, refusalAt, wish, arrivedAt, generation }, lookUp);
    const journey: Journey = {
      ask,
      mode,
      units,
      search,
      hauls: [],
      doubts: [],
      degraded: await search.look(units),
    };
    const missing = search.open();
    if (search.refusal() === null && missing.length > 0) {
      return search.isWhole() ? collect(ask, 'whole') : fetchMissing(journey, missing);
    }
    const stale = search.stale();
    if (stale.length > 0 && !wish.onlyIfCached) refreshBehind(journey, stale);
    return arrive(journey, stale.length > 0 ? 'stale' : 'hit', 0);
  }

  async function fetchMissing(journey: Journey, missing: readonly Unit[]): Promise<Gathered> {
    const { ask, mode, search, hauls } = journey;
    if (ask.wish.onlyIfCached) throw new GatewayError('not_cached');
    const outcome = outcomeOf(missing, search);
    const signal = AbortSignal.timeout(options.timeoutMs);
    const errand: Errand = { ...ask, mode, signal, known: search.known, satisfies: search.satisfies };
    for (let open = missing; open.length > 0 && search.refusal() === null; open = search.open()) {
      if (signal.aborted) throw new GatewayError('upstream_timeout');
      const failure = await sendOut(journey, errand, [...open, ...search.stale()]);
      if (failure !== null && search.open().length > 0) {
        if (!isExcuse(failure) || !search.settleForOld()) throw failure;
        return arrive(journey, 'stale-if-error', missing.length);
      }
      if (journey.doubts.length > 0 && search.open().length > 0) {
        if (search.settleForOld()) return arrive(journey, 'stale-if-error', missing.length);
        search.settleForDoubtful();
        hauls.push(...journey.doubts);
      }
      // What another replica brought is in the store, not in our hands.
      if (search.open().length > 0) journey.degraded = await search.look(search.open());
    }
    return arrive(journey, hauls.some(({ by }) => by === 'own') ? outcome : 'collapsed', missing.length);
  }

  /** Whether there was nothing, nothing of use any more, or nothing fresh enough for this caller. */
  function outcomeOf(missing: readonly Unit[], { known }: Search): Outcome {
    const parts = missing.map(({ key }) => known.get(key));
    if (parts.includes(undefined)) return 'miss';
    return parts.every((part) => lookUp.use(part as Part, NO_WISH, now()) === 'fresh') ? 'forced' : 'refresh';
  }

  /** Sends out all calls that would bring these units. @returns the first failure; what succeeded is taken all the same */
  async function sendOut(journey: Journey, errand: Errand, wanted: readonly Unit[]): Promise<unknown> {
    const { mode, units, search } = journey;
    const trips = planTrips({
      mode,
      units,
      wanted,
      known: search.known,
      nowMs: now(),
      plan: options.plan,
      rules,
    });
    // A long backfill leaves a turn for those who ask for little.
    const atOnce = Math.max(1, options.turns() - 1);
    const results = await settleInTurns(trips, atOnce, ({ units, range }) => obtain(errand, units, range));
    let failure: unknown = null;
    for (const result of results) {
      if (result.status === 'rejected') failure ??= result.reason;
      else {
        const haul = result.value;
        try {
          const isAside = search.take(haul.pieces, haul.by);
          (isAside ? journey.doubts : journey.hauls).push(haul);
        } catch (error) {
          failure ??= error;
        }
      }
    }
    if (failure instanceof NotCuttable && !failure.doubtful) throw failure;
    return failure;
  }

  function refreshBehind(journey: Journey, stale: readonly Unit[]): void {
    const { onTry: _, ...ask } = journey.ask;
    const errand: Errand = {
      ...ask,
      mode: journey.mode,
      team: BACKGROUND_TEAM,
      signal: AbortSignal.timeout(options.timeoutMs),
      known: journey.search.known,
      satisfies: (part) => lookUp.use(part, NO_WISH, now()) === 'fresh',
    };
    const work = sendOut({ ...journey, hauls: [], doubts: [] }, errand, stale).then((failure) => {
      if (failure !== null) throw failure;
    });
    options.background(
      work.catch((error: unknown) => {
        logger.warn({ err: error, endpoint: ask.report.endpoint }, 'a refresh behind a stale answer failed');
      }),
    );
  }

  function arrive(
    { mode, units, search, hauls, degraded, ask }: Journey,
    outcome: Outcome,
    fetched: number,
  ): Gathered {
    const refusal = search.refusal();
    const parts = refusal === null ? search.parts() : [refusal];
    if (mode === 'days' && refusal === null) options.onAssembled(ask, parts as Part<RowsHeader>[]);
    return {
      parts,
      outcome,
      days: mode === 'days' && refusal === null ? { fetched, total: units.length } : null,
      stored: hauls.some(({ stored }) => stored),
      degraded,
      keep: hauls.every(({ keep }) => keep),
    };
  }
}

/** How a report is looked up and fetched, and why so, for people. */
export interface Mode {
  readonly mode: Errand['mode'];
  readonly because: string;
}

/** Cut by day only where it was proven that this changes nothing. */
export function modeOf(
  { report, form }: Pick<GatherAsk, 'report' | 'form'>,
  endpoints: GatherOptions['endpoints'],
  learner: Learner,
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
  const { state, pinned } = learner.standing(report);
  if (state === 'proven')
    return { mode: 'days', because: pinned ? 'pinned by configuration' : 'proven to be divisible' };
  if (pinned) return whole('pinned by configuration');
  return whole(state === 'refuted' ? 'refuted to be divisible' : 'not yet proven to be divisible');
}

/** One request on its way. */
interface Journey {
  readonly ask: GatherAsk;
  readonly mode: Errand['mode'];
  readonly units: readonly Unit[];
  readonly search: Search;
  readonly hauls: Haul[];
  /** Those that may be no report, as long as something better may be found. */
  readonly doubts: Haul[];
  degraded: boolean;
}

/** The entry that holds the report as a whole. */
export function wholeUnit({ report, series, form }: Pick<GatherAsk, 'report' | 'series' | 'form'>): Unit {
  const [from, to] = [report.from.iso, report.to.iso];
  const rows = rowsKey(series, from, to);
  return { key: form === 'bytes' ? bytesKey(series, from, to) : rows, claim: rows, from, to };
}

/** The entries of its days, for a report with a period. */
export function dayUnits({ report, series }: Pick<GatherAsk, 'report' | 'series'>): Unit[] {
  return daysBetween(report.from.iso as string, report.to.iso as string).map((date) => dayUnit(series, date));
}

/** As `Promise.allSettled` of `run` for each, in order, with so many under way at once. */
async function settleInTurns<T, R>(
  all: readonly T[],
  atOnce: number,
  run: (one: T) => Promise<R>,
): Promise<PromiseSettledResult<R>[]> {
  const results: PromiseSettledResult<R>[] = [];
  const waiting = all.entries();
  async function lane(): Promise<void> {
    for (const [at, one] of waiting) [results[at]] = await Promise.allSettled([run(one)]);
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, lane));
  return results;
}

function isExcuse(error: unknown): boolean {
  if (error instanceof NotCuttable) return error.doubtful;
  return error instanceof GatewayError && EXCUSES.includes(error.code);
}
