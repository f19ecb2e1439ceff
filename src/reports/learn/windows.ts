/** Decides which days of a report are final, and how long the others are fresh. */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { RegistryRecord } from '../../store/port.js';
import { createRecordBook } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import type { Report } from '../query/canonicalize.js';
import type { FreshnessRules } from '../rows/freshness.js';
import { AGES } from './evidence.js';
import { type Scope, scopeId, scopeOf } from './scope.js';

interface WindowRules {
  /** Minimum. */
  readonly restatementDays: number;
  /** Maximum. */
  readonly maxDays: number;
}

/** What was counted in a scope. */
export interface ScopeCounts {
  /** Epoch milliseconds; null: nothing was counted. */
  readonly since: number | null;
  /** Distinct dates seen at an age and again later, and how many of them had changed. */
  readonly ages: readonly { readonly ageDays: number; readonly n: number; readonly changed: number }[];
  /** Greatest age after which a date changed; -1: none. */
  readonly latestAfter: number;
  readonly lateOn: number;
  /** Dates seen unchanged up to the greatest age, since the last late change. */
  readonly calm: number;
}

/** Names of what is raised, not added; the others are in evidence.ts. */
export const RAISED = { latestAfter: 'after', lateOn: 'late', since: 'since' } as const;

/** @param lateOn the last late change known otherwise */
export function countsIn(fields: ReadonlyMap<string, number>, lateOn = -1): ScopeCounts {
  const late = Math.max(lateOn, fields.get(RAISED.lateOn) ?? -1);
  const since = fields.get(RAISED.since);
  return {
    since: since === undefined ? null : -since,
    ages: AGES.flatMap((ageDays) => {
      const n = fields.get(`seen ${ageDays}`) ?? 0;
      return n === 0 ? [] : [{ ageDays, n, changed: fields.get(`changed ${ageDays}`) ?? 0 }];
    }),
    latestAfter: fields.get(RAISED.latestAfter) ?? -1,
    lateOn: late,
    calm: fields.get(`calm ${late}`) ?? 0,
  };
}

/** Unchanged dates, and days without late changes, before a window is narrowed. */
const CALM_DATES = 300;
const CALM_DAYS = 14;
/** Unchanged dates for `settledFrom`. */
const SETTLED_DATES = 30;

/** @param today day number */
export function windowOf(counts: ScopeCounts, rules: WindowRules, today: number): Window {
  const { ages, latestAfter, lateOn } = counts;
  const calm = lateOn >= 0 && today - lateOn >= CALM_DAYS && counts.calm >= CALM_DATES;
  const settled = ages.find(
    ({ ageDays, n, changed }) => ageDays > latestAfter && n >= SETTLED_DATES && changed === 0,
  );
  return {
    days: calm ? rules.restatementDays : widenedTo(latestAfter, rules),
    settledFrom: settled?.ageDays ?? null,
    lateOn,
    calm,
  };
}

/** The window that has a change after an age. */
export function widenedTo(after: number, { restatementDays, maxDays }: WindowRules): number {
  return Math.min(Math.max(maxDays, restatementDays), Math.max(restatementDays, after + 1));
}

// Learned windows are registry records, which every process has in memory. What they rest on is counted, see day-evidence.ts.

const PREFIX = 'finality/';
const MAX_SCOPES = 2000;

const WindowForm = recordForm(
  Type.Object({
    endpoint: Type.String(),
    split: Type.String(),
    account: Type.Union([Type.String(), Type.Null()]),
    since: Type.Integer(),
    /** Older days are final. */
    days: Type.Integer({ minimum: 0 }),
    /** Age from which on no day was seen to change, among enough days; null: unknown. */
    settledFrom: Type.Union([Type.Integer(), Type.Null()]),
    /** Day number of the last observed change after `restatementDays`; -1: none. */
    lateOn: Type.Integer(),
    /** Enough dates were seen unchanged since then, up to the greatest age. */
    calm: Type.Boolean(),
  }),
);

type KnownWindow = RecordOf<typeof WindowForm>;
type Window = Omit<KnownWindow, keyof Scope | 'since'>;

export type Windows = ReturnType<typeof createWindows>;

export function createWindows(registry: Registry) {
  const book = createRecordBook<KnownWindow | null>(registry, {
    prefix: PREFIX,
    max: MAX_SCOPES,
    read: WindowForm.parse,
    forget: (others) => idleFirst(others).slice(0, Math.max(0, others.length + 1 - MAX_SCOPES)),
  });
  return {
    get: (scope: Scope): KnownWindow | null => book.get(scopeId(scope)),
    list: (): readonly KnownWindow[] => book.list().flatMap(([, window]) => window ?? []),
    put: (scope: Scope, since: number, window: Window): Promise<void> =>
      book.change(scopeId(scope), (before) => {
        const after = { ...scope, since, ...joined(before, window) };
        return JSON.stringify(after) === JSON.stringify(before) ? before : after;
      }),
    onChange: (listener: () => void): void => registry.onChange(PREFIX, listener),
  };
}

/** The oldest scopes without late changes first. */
function idleFirst(others: readonly (readonly [string, RegistryRecord])[]): [string, null][] {
  const isLate = ({ value }: RegistryRecord) => Number((WindowForm.parse(value)?.lateOn ?? -1) >= 0);
  return [...others]
    .sort(([, a], [, b]) => isLate(a) - isLate(b) || a.revision - b.revision)
    .map(([record]) => [record, null]);
}

/** A window is narrowed only with evidence that includes the late changes of the record. */
function joined(before: KnownWindow | null, now: Window): Window {
  if (before === null || (now.calm && now.lateOn >= before.lateOn)) return now;
  return { ...now, days: Math.max(before.days, now.days), lateOn: Math.max(before.lateOn, now.lateOn) };
}

/** fixed: `report.restatementDays`, nothing is learned · observe: learned and shown · learned: applied */
export type FinalityMode = 'fixed' | 'observe' | 'learned';

/** Freshness of provisional days from `settledFrom` on. */
const SETTLED_MS = 6 * 3_600_000;
const MAX_OWN = 5000;

export type Rules = ReturnType<typeof createRules>;

/** @param base without learned values */
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
  /** Windows widened by this process and not shared yet, by scope. */
  const own = new Map<string, number>();
  let ofReports = new WeakMap<Report, { readonly rules: FreshnessRules; readonly stamp: string }>();
  const forget = () => {
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

  function stampedRules(report: Report) {
    const known = ofReports.get(report);
    if (known !== undefined) return known;
    const rules = rulesOf(scopeOf(report));
    const made = { rules, stamp: ` ${rules.restatementDays}-${rules.settled?.fromAge ?? ''}` };
    ofReports.set(report, made);
    return made;
  }

  return {
    rulesFor: (report: Report): FreshnessRules => (isLearned ? stampedRules(report).rules : base),
    rulesOf,
    /** Changes with the window, which invalidates finished answers. */
    stampOf: (report: Report): string => (isLearned ? stampedRules(report).stamp : ''),
    /** After a late change: applies to this process at once. */
    widen(scope: Scope, days: number): void {
      if (!isLearned) return;
      const id = scopeId(scope);
      if (Math.max(base.restatementDays, windows.get(scope)?.days ?? 0, own.get(id) ?? 0) >= days) return;
      if (own.size >= MAX_OWN) own.clear();
      own.set(id, days);
      forget();
    },
    shared(scope: Scope, days: number): void {
      const id = scopeId(scope);
      if ((own.get(id) ?? Number.POSITIVE_INFINITY) > days) return;
      own.delete(id);
      forget();
    },
  };
}

/** For reports that are not split by date, the longest window of the advertiser's other reports of the endpoint. */
function windowFor(scope: Scope, windows: Windows): KnownWindow | null {
  if (scope.split.split('+').includes('date')) return windows.get(scope);
  const near = windows
    .list()
    .filter(({ endpoint, account }) => endpoint === scope.endpoint && account === scope.account);
  const [longest] = near.sort((a, b) => b.days - a.days);
  return longest === undefined ? null : { ...longest, settledFrom: null };
}
