/** What the cache holds of a report and what answering it would cost, without asking the platform. For operators. */
import type { EndpointRule } from '../config/schema.js';
import type { Learner } from '../divisibility/learn.js';
import type { PartRefusals } from '../divisibility/part-refusals.js';
import { currentState, type Divisibility } from '../divisibility/state.js';
import { NO_WISH } from '../http/cache-directives.js';
import { type CanonicalReport, type CanonicalRules, canonicalize } from '../report/canonicalize.js';
import { type FreshnessRules, freshForMs, isFinal } from '../report/freshness.js';
import type { Part } from '../report/part.js';
import type { Range } from '../report/period.js';
import type { PlanRules } from '../report/plan.js';
import { buildPlatformCall, seriesId, unsplit } from '../report/platform-call.js';
import type { Auditor } from './cross-check.js';
import type { LookUp, Unit } from './look-up.js';
import { type Asked, dayUnits, type Mode, modeOf, wholeUnit } from './mode.js';
import { planTrips } from './plan-fetches.js';
import { createSearch, type Search } from './search.js';

/** final: fresh, and past restatement · stale: past freshness, still of use · missing: the platform must be asked */
export type PieceState = 'fresh' | 'final' | 'stale' | 'missing';

export interface ExplainedPiece {
  readonly state: PieceState;
  readonly final: boolean;
  readonly asOf: string | null;
  readonly ageSeconds: number | null;
  /** Freshness left; negative when it is over. */
  readonly ttlSeconds: number | null;
  readonly rows: number | null;
}

export interface Explanation {
  readonly canonical: { readonly method: string; readonly target: string; readonly body: string | null };
  readonly series: string;
  readonly key: string;
  readonly policy: {
    readonly mode: 'days' | 'whole';
    readonly because: string;
    readonly divisibility: Divisibility | null;
    readonly restatementDays: number;
    readonly staleWhileRevalidateSeconds: number;
    readonly staleIfErrorSeconds: number;
  };
  /** Every day of a report split by date, also while it is kept as one entry; null for other reports. */
  readonly days: readonly (ExplainedPiece & { readonly date: string })[] | null;
  /** The one entry of a report that is not cut by day. */
  readonly whole: ExplainedPiece | null;
  /** The platform's refusal of the report, while it is remembered: the answer for so long. */
  readonly refusal: { readonly status: number; readonly ttlSeconds: number } | null;
  /** The platform calls that answering now would make before the answer. */
  readonly calls: readonly Range[];
  /** Those it would make behind the answer, for what is given past its freshness. */
  readonly behind: readonly Range[];
  readonly storeAway: boolean;
}

export interface ExplainOptions {
  readonly canonical: CanonicalRules;
  readonly lookUp: LookUp;
  readonly learner: Learner;
  readonly partRefusals: Pick<PartRefusals, 'wholeOnly'>;
  readonly auditor: Pick<Auditor, 'isDue'>;
  readonly endpoints: Readonly<Record<string, EndpointRule>>;
  readonly rules: FreshnessRules;
  readonly plan: PlanRules;
  readonly negativeMs: number;
  readonly account: string;
  readonly baseUrl: string;
  readonly now: () => number;
}

/** @throws GatewayError `invalid_query` as the report call itself would */
export type Explain = (endpoint: string, query: string) => Promise<Explanation>;

export function createExplain(options: ExplainOptions): Explain {
  const { lookUp, learner, rules, plan, now } = options;

  return async function explain(endpoint, query) {
    const canonical = canonicalize({ endpoint, method: 'GET', query, body: null }, options.canonical);
    const { report } = canonical;
    const form = canonical.options.format === 'raw' ? 'bytes' : 'rows';
    const series = seriesId(report, options.account, options.baseUrl);
    const found = await look({ report, series, form });
    const { mode, because, whole, known, search, storeAway, calls, behind } = found;
    const totals = canonical.options.totals ? await lookAtTotals(report) : { calls: [], behind: [] };
    return {
      canonical: buildPlatformCall(report, report.from.iso, report.to.iso),
      series,
      key: whole.key,
      policy: {
        mode,
        because,
        divisibility: shown(learner.show(report), now()),
        restatementDays: rules.restatementDays,
        staleWhileRevalidateSeconds: rules.staleWhileRevalidateMs / 1000,
        staleIfErrorSeconds: rules.staleIfErrorMs / 1000,
      },
      days: isByDate(report)
        ? explainDays(dayUnits({ report, series }), mode === 'days' ? null : whole, known)
        : null,
      whole: mode === 'days' ? null : explainPiece(known.get(whole.key), whole.to),
      refusal: explainRefusal(search.refusal()),
      calls: [...calls, ...totals.calls],
      behind: [...behind, ...totals.behind],
      storeAway,
    };
  };

  /** What a request would find, and what it would ask for: before its answer, and behind it. */
  async function look(asked: Asked): Promise<Look> {
    const preferred = modeOf(asked, options.endpoints, learner);
    const first = await lookAs(asked, preferred);
    if (preferred.mode === 'whole' || first.search.open().length === 0 || !first.search.isWhole())
      return first;
    return lookAs(asked, { mode: 'whole', because: 'kept as a whole, though its kind is cut by day' });
  }

  async function lookAs(asked: Asked, how: Mode): Promise<Look> {
    const { report } = asked;
    const { mode, because } = how;
    const whole = wholeUnit(asked);
    const units = mode === 'days' ? dayUnits(asked) : [whole];
    const joinedUnder = learner.standing(report).generation;
    const generation = mode === 'days' ? joinedUnder : null;
    const refusalAt = mode === 'days' ? whole : null;
    const ask = { report, units, refusalAt, wish: NO_WISH, arrivedAt: now(), generation, joinedUnder };
    const search = createSearch(ask, lookUp);
    const storeAway = await search.look(units);
    const { known } = search;
    const isToCompare =
      mode === 'days' &&
      known.size > 0 &&
      units.length <= plan.maxDaysPerCall &&
      options.auditor.isDue(asked);
    const isWholeOnly = options.partRefusals.wholeOnly(report) !== null;
    const callsFor = (wanted: readonly Unit[], isCompared: boolean) =>
      planTrips({
        ...{ mode, units, wanted, known, plan, rules },
        nowMs: now(),
        entire: isCompared || isWholeOnly,
      }).map(({ range: { from, to } }) => ({ from, to }));
    const isOpen = search.open().length > 0;
    const refused = search.refusal() !== null;
    return {
      mode,
      because,
      whole,
      known,
      search,
      storeAway,
      calls: isOpen && !refused ? callsFor([...search.open(), ...search.stale()], isToCompare) : [],
      behind: isOpen || refused ? [] : callsFor(search.stale(), false),
    };
  }

  /** `_totals=1` needs the unsplit report beside it. */
  function lookAtTotals(report: CanonicalReport): Promise<Look> {
    const whole = unsplit(report);
    const series = seriesId(whole, options.account, options.baseUrl);
    return look({ report: whole, series, form: 'rows' });
  }

  /** @param whole the entry that holds all days, when they are not kept one by one */
  function explainDays(units: readonly Unit[], whole: Unit | null, known: ReadonlyMap<string, Part>) {
    return units.map((unit) => {
      const date = unit.from as string;
      const piece = explainPiece(known.get((whole ?? unit).key), date);
      return { date, ...piece, ...(whole === null ? {} : { rows: null }) };
    });
  }

  function explainRefusal(part: Part | null): Explanation['refusal'] {
    if (part?.header.form !== 'refusal') return null;
    const { status, fetchedAt } = part.header;
    return { status, ttlSeconds: Math.floor((options.negativeMs - Math.max(0, now() - fetchedAt)) / 1000) };
  }

  /** @param lastDay the day it is about, or the last of several; null when the platform chose the period */
  function explainPiece(part: Part | undefined, lastDay: string | null): ExplainedPiece {
    if (part === undefined) {
      return { state: 'missing', final: false, asOf: null, ageSeconds: null, ttlSeconds: null, rows: null };
    }
    const { header } = part;
    const final = isFinal({ ...header, lastDay }, rules);
    const ageMs = Math.max(0, now() - header.fetchedAt);
    const fresh = lookUp.use(part, NO_WISH, now()) === 'fresh';
    return {
      state: fresh ? (final ? 'final' : 'fresh') : 'stale',
      final,
      asOf: new Date(header.fetchedAt).toISOString(),
      ageSeconds: Math.floor(ageMs / 1000),
      ttlSeconds: Math.floor((freshForMs(header, rules) - ageMs) / 1000),
      rows: header.form === 'rows' ? header.rowCount : null,
    };
  }
}

/** As it is now, which is not always as it was written. */
function shown(known: Divisibility | null, nowMs: number): Divisibility | null {
  return known === null ? null : { ...known, state: currentState(known, nowMs) };
}

interface Look extends Mode {
  readonly whole: Unit;
  readonly known: ReadonlyMap<string, Part>;
  readonly search: Search;
  readonly storeAway: boolean;
  readonly calls: readonly Range[];
  readonly behind: readonly Range[];
}

function isByDate({ split, from, to }: CanonicalReport): boolean {
  return split.includes('date') && from.iso !== null && to.iso !== null;
}
