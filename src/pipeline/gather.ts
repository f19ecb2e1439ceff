/**
 * Stage: look up → plan → obtain → (again, until nothing is open).
 *
 * Gives the parts of a report, from the cache where their freshness allows, and says where they are from.
 */
import type { Logger } from 'pino';
import type { EndpointRule } from '../config/schema.js';
import type { Learner } from '../divisibility/learn.js';
import type { PartRefusals } from '../divisibility/part-refusals.js';
import { GatewayError } from '../errors.js';
import { NO_WISH, type Wish } from '../http/cache-directives.js';
import type { Outcome } from '../outcome.js';
import type { CallReport } from '../platform/slot.js';
import type { FreshnessRules } from '../report/freshness.js';
import type { Part, RowsHeader } from '../report/part.js';
import type { PlanRules } from '../report/plan.js';
import { type Auditor, auditFrom } from './cross-check.js';
import { BACKGROUND_TEAM } from './fetch-days.js';
import type { LookUp, Unit } from './look-up.js';
import { type Asked, dayUnits, modeOf, wholeUnit } from './mode.js';
import { type Errand, type Haul, NotCuttable, type Obtain } from './obtain.js';
import { planTrips } from './plan-fetches.js';
import { createRefreshes } from './refreshes.js';
import { createSearch, type Search } from './search.js';
import { settleInTurns } from './settle-in-turns.js';
import { newPatience, type Patience } from './store-patience.js';

export interface GatherAsk extends Asked {
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
  /** For an answer from days: from when on it is worth a check, epoch milliseconds. */
  readonly auditFromMs: number | null;
}

export interface GatherOptions {
  readonly lookUp: LookUp;
  readonly obtain: Obtain;
  readonly learner: Learner;
  readonly partRefusals: Pick<PartRefusals, 'wholeOnly'>;
  readonly endpoints: Readonly<Record<string, EndpointRule>>;
  readonly rules: FreshnessRules;
  readonly plan: PlanRules;
  readonly now: () => number;
  /** Longest time a request waits for its parts. */
  readonly timeoutMs: number;
  /** Platform calls that this process may make at once, as of now. */
  readonly turns: () => number;
  readonly logger: Logger;
  /** Told of every answer that was joined from days, and asked whether a call should bring all of them. */
  readonly auditor: Pick<Auditor, 'isDue' | 'wasCompared' | 'joined'>;
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
  const { lookUp, obtain, learner, endpoints, rules, now } = options;
  const refreshes = createRefreshes(options);

  return async function gather(ask) {
    return collect(ask, modeOf(ask, endpoints, learner).mode);
  };

  async function collect(
    ask: GatherAsk,
    mode: Errand['mode'],
    patience: Patience = newPatience(),
  ): Promise<Gathered> {
    const { report, wish } = ask;
    const whole = wholeUnit(ask);
    const units = mode === 'whole' ? [whole] : dayUnits(ask);
    const arrivedAt = now();
    const joinedUnder = learner.standing(report).generation;
    const generation = mode === 'whole' ? null : joinedUnder;
    const refusalAt = mode === 'whole' ? null : whole;
    const search = createSearch(
      { report, units, refusalAt, wish, arrivedAt, generation, joinedUnder, patience },
      lookUp,
    );
    const journey: Journey = {
      ...{ ask, mode, units, search, arrivedAt, patience },
      hauls: [],
      doubts: [],
      degraded: await search.look(units),
      entire: false,
    };
    const missing = search.open();
    if (search.refusal() === null && missing.length > 0) {
      return search.isWhole() ? collect(ask, 'whole', patience) : fetchMissing(journey, missing);
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
    const errand: Errand = {
      ...{ ...ask, mode, signal, patience: journey.patience },
      known: search.known,
      satisfies: search.satisfies,
    };
    for (let open = missing; open.length > 0 && search.refusal() === null; open = search.open()) {
      if (signal.aborted) throw new GatewayError('upstream_timeout');
      journey.entire = isToCompare(journey);
      const failure = await sendOut(journey, errand, [...open, ...search.stale()]);
      if (failure instanceof NotCuttable && !failure.doubtful) {
        return takeWhole(journey, failure, errand, outcome);
      }
      if (failure !== null && search.open().length > 0) {
        if (isExcuse(failure) && search.settleForOld())
          return arrive(journey, 'stale-if-error', missing.length);
        if (failure instanceof NotCuttable) return takeWhole(journey, failure, errand, outcome);
        throw failure;
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

  /** A check of the series is due and there is something to compare: the call that is made anyway brings all days. */
  function isToCompare({ ask, mode, units, search }: Journey): boolean {
    const { maxDaysPerCall } = options.plan;
    if (mode === 'whole' || search.known.size === 0 || units.length > maxDaysPerCall) return false;
    return options.auditor.isDue(ask);
  }

  /** An answer could not be cut: it is the whole, when it was for all of the period; else the whole is asked for. */
  async function takeWhole(
    journey: Journey,
    { by, whole, doubtful }: NotCuttable,
    errand: Errand,
    outcome: Outcome,
  ): Promise<Gathered> {
    const { ask, arrivedAt, patience } = journey;
    const { report, wish } = ask;
    if (whole === null) return collect(ask, 'whole', patience);
    const units = [wholeUnit(ask)];
    const search = createSearch(
      {
        report,
        units,
        refusalAt: null,
        wish,
        arrivedAt,
        generation: null,
        patience,
        joinedUnder: learner.standing(report).generation,
      },
      lookUp,
    );
    const isOwn = by === errand;
    const taken: Journey = { ...journey, mode: 'whole', units, search, hauls: [whole] };
    // A doubtful answer comes after whatever was kept of the whole.
    if (doubtful) taken.degraded = await search.look(units);
    const isAside = search.take(whole.pieces, isOwn ? 'own' : 'other');
    if (isAside && search.settleForOld()) return arrive({ ...taken, hauls: [] }, 'stale-if-error', 1);
    if (isAside) search.settleForDoubtful();
    if (search.open().length > 0) return collect(ask, 'whole', patience);
    return arrive(taken, isOwn ? outcome : 'collapsed', 1);
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
      entire: journey.entire || options.partRefusals.wholeOnly(errand.report) !== null,
    });
    // A long backfill leaves a turn for those who ask for little.
    const atOnce = Math.max(1, options.turns() - 1);
    const results = await settleInTurns(trips, atOnce, ({ units, range }) => obtain(errand, units, range));
    let failure: unknown = null;
    for (const result of results) {
      if (result.status === 'rejected') failure = graver(failure, result.reason);
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
    return failure;
  }

  function refreshBehind(journey: Journey, stale: readonly Unit[]): void {
    const { onTry: _, ...ask } = journey.ask;
    const report = `${journey.mode}|${wholeUnit(ask).claim}`;
    refreshes.start(report, ask.report.endpoint, async () => {
      const errand: Errand = {
        ...ask,
        mode: journey.mode,
        team: BACKGROUND_TEAM,
        signal: AbortSignal.timeout(options.timeoutMs),
        patience: newPatience(),
        known: journey.search.known,
        satisfies: (part) => lookUp.use(part, NO_WISH, now()) === 'fresh',
      };
      const behind: Journey = { ...journey, hauls: [], doubts: [], entire: false };
      const failure = await sendOut(behind, errand, stale);
      // What could not be cut is kept as a whole by now.
      if (failure instanceof NotCuttable && !failure.doubtful) return;
      if (failure !== null) throw failure;
    });
  }

  function arrive(
    { mode, units, search, hauls, degraded, ask, entire }: Journey,
    outcome: Outcome,
    fetched: number,
  ): Gathered {
    const refusal = search.refusal();
    const parts = refusal === null ? search.parts() : [refusal];
    const days = mode === 'days' && refusal === null ? (parts as Part<RowsHeader>[]) : null;
    const auditFromMs = days === null ? null : auditFrom(days, ask.report);
    if (days !== null && auditFromMs !== null) {
      if (now() >= auditFromMs) options.background(options.auditor.joined(ask, days));
      else if (entire) options.auditor.wasCompared(ask);
    }
    return {
      parts,
      outcome,
      days: days === null ? null : { fetched, total: units.length },
      stored: hauls.some(({ stored }) => stored),
      degraded,
      keep: hauls.every(({ keep }) => keep),
      auditFromMs,
    };
  }
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
  readonly arrivedAt: number;
  readonly patience: Patience;
  degraded: boolean;
  /** Its calls bring all days, to compare them with those that are known. */
  entire: boolean;
}

/** That a report is to be taken as a whole comes before what failed beside it. */
function graver(one: unknown, other: unknown): unknown {
  return one === null || (other instanceof NotCuttable && !(one instanceof NotCuttable)) ? other : one;
}

function isExcuse(error: unknown): boolean {
  if (error instanceof NotCuttable) return error.doubtful;
  return error instanceof GatewayError && EXCUSES.includes(error.code);
}
