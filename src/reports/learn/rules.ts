/** The one place that says which days of a report are final, and how long the others are fresh. */
import type { Report } from '../query/canonicalize.js';
import type { FreshnessRules } from '../rows/freshness.js';
import { type Scope, scopeId, scopeOf } from './scope.js';
import type { KnownWindow, Windows } from './windows.js';

/** `fixed`: `report.restatementDays`, nothing is learned; `observe`: learned and shown; `learned`: freshness goes by it. */
export type FinalityMode = 'fixed' | 'observe' | 'learned';

/** Fresh time of a day that is not final, of an age at which no day was ever seen to change. */
const SETTLED_MS = 6 * 3_600_000;
/** Scopes whose rules are at hand. */
const MAX_RULES = 5000;

/** @param base by `report.restatementDays` */
export function createRules({
  mode,
  maxDays,
  base,
  windows,
}: {
  readonly mode: FinalityMode;
  readonly maxDays: number;
  readonly base: FreshnessRules;
  readonly windows: Windows;
}) {
  const isLearned = mode === 'learned';
  const own = new Map<string, number>();
  let byScope = new Map<string, FreshnessRules>();
  let ofReports = new WeakMap<Report, FreshnessRules>();
  const forget = () => {
    byScope = new Map();
    ofReports = new WeakMap();
  };
  windows.onChange(forget);

  function rulesOf(scope: Scope): FreshnessRules {
    if (!isLearned) return base;
    const known = windowFor(scope, windows);
    const learned = Math.max(known?.days ?? 0, own.get(scopeId(scope)) ?? 0);
    const longest = Math.max(maxDays, base.restatementDays);
    const restatementDays = Math.min(longest, Math.max(base.restatementDays, learned));
    const { settledFrom = null } = known ?? {};
    if (settledFrom === null || own.has(scopeId(scope))) return { ...base, restatementDays };
    return {
      ...base,
      restatementDays,
      settled: { fromAge: settledFrom, ms: Math.max(SETTLED_MS, base.restatingMs) },
    };
  }

  function rulesFor(report: Report): FreshnessRules {
    if (!isLearned) return base;
    const known = ofReports.get(report);
    if (known !== undefined) return known;
    const scope = scopeOf(report);
    const id = scopeId(scope);
    const rules = byScope.get(id) ?? rulesOf(scope);
    if (byScope.size >= MAX_RULES) byScope = new Map();
    byScope.set(id, rules);
    ofReports.set(report, rules);
    return rules;
  }

  return {
    rulesFor,
    rulesOf,
    /** Another one where another window is in use: what was finished under one is not sent under the other. */
    stampOf(report: Report): string {
      if (!isLearned) return '';
      const { restatementDays, settled } = rulesFor(report);
      return ` ${restatementDays}-${settled?.fromAge ?? ''}`;
    },
    /** A late change was seen: at once, for this process, whatever the registry says. */
    widen(scope: Scope, days: number): void {
      if (!isLearned) return;
      const id = scopeId(scope);
      if (Math.max(base.restatementDays, windows.get(scope)?.days ?? 0, own.get(id) ?? 0) >= days) return;
      if (own.size >= MAX_RULES) own.clear();
      own.set(id, days);
      forget();
    },
    /** The registry has this window now. */
    shared(scope: Scope, days: number): void {
      const id = scopeId(scope);
      if ((own.get(id) ?? Number.POSITIVE_INFINITY) > days) return;
      own.delete(id);
      forget();
    },
  };
}

/** Of a report that is not by date nothing is learned: for it the longest window of its advertiser's reports holds. */
function windowFor(scope: Scope, windows: Windows): KnownWindow | null {
  if (scope.split.split('+').includes('date')) return windows.get(scope);
  const near = windows
    .list()
    .filter(({ endpoint, account }) => endpoint === scope.endpoint && account === scope.account);
  const [longest] = near.sort((a, b) => b.days - a.days);
  return longest === undefined ? null : { ...longest, settledFrom: null };
}
