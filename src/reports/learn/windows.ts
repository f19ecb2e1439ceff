/** Decides which days of a report are final, and how long the others are fresh. */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import type { Report } from '../query/canonicalize.js';
import type { FreshnessRules } from '../rows/freshness.js';
import { countAges, type DateEvidence, type Evidence } from './evidence.js';
import { type Scope, scopeId, scopeOf } from './scope.js';

interface WindowRules {
  /** Minimum. */
  readonly restatementDays: number;
  /** Maximum. */
  readonly maxDays: number;
}

export interface Window {
  /** Older days are final. */
  readonly days: number;
  /** Age from which on no day was seen to change, among enough days; null: unknown. */
  readonly settledFrom: number | null;
  /** Day number of the last observed change after `restatementDays`; -1: none. */
  readonly lateOn: number;
  /** Enough dates were seen unchanged since then, up to the greatest age. */
  readonly calm: boolean;
}

/** Unchanged dates, and days without late changes, before a window is narrowed. */
const CALM_DATES = 300;
const CALM_DAYS = 14;
/** Unchanged dates for `settledFrom`. */
const SETTLED_DATES = 30;

/** @param today day number */
export function windowOf(evidence: Evidence, rules: WindowRules, today: number): Window {
  const { restatementDays } = rules;
  const maxDays = Math.max(rules.maxDays, restatementDays);
  const { lateOn, latestAfter } = changesIn(evidence, restatementDays);
  const calm =
    lateOn >= 0 && today - lateOn >= CALM_DAYS && isCalm(evidence, restatementDays, maxDays, lateOn);
  const widened = Math.min(maxDays, Math.max(restatementDays, latestAfter + 1));
  const settled = countAges(evidence).find(
    ({ ageDays, n, changed }) => ageDays > latestAfter && n >= SETTLED_DATES && changed === 0,
  );
  return { days: calm ? restatementDays : widened, settledFrom: settled?.ageDays ?? null, lateOn, calm };
}

function changesIn({ dates, forgotten }: Evidence, restatementDays: number) {
  let latestAfter = forgotten.after;
  let lateOn = forgotten.after >= restatementDays ? forgotten.on : -1;
  for (const [day, { changedAfter, changedAt }] of dates) {
    latestAfter = Math.max(latestAfter, changedAfter);
    if (changedAfter >= restatementDays) lateOn = Math.max(lateOn, day + changedAt);
  }
  return { lateOn, latestAfter };
}

function isCalm({ dates }: Evidence, restatementDays: number, maxDays: number, lateOn: number): boolean {
  let calm = 0;
  for (const [day, seen] of dates)
    if (seen.until >= maxDays && day + seen.until > lateOn && staysFrom(seen, restatementDays + 1)) calm += 1;
  return calm >= CALM_DATES;
}

/** Whether it was seen up to that age with its latest numbers. */
function staysFrom({ again, changedAfter }: DateEvidence, age: number): boolean {
  for (let seen = age; seen > Math.max(0, changedAfter); seen -= 1)
    if ((again >> BigInt(seen)) & 1n) return true;
  return false;
}

export function isSameWindow(one: Window, other: Window): boolean {
  return (
    one.days === other.days &&
    one.settledFrom === other.settledFrom &&
    one.lateOn === other.lateOn &&
    one.calm === other.calm
  );
}

// Learned windows are registry records, which every process has in memory. Their evidence is in documents, see day-evidence.ts.

const PREFIX = 'finality/';
const MAX_SCOPES = 2000;

const WindowForm = recordForm(
  Type.Object({
    endpoint: Type.String(),
    split: Type.String(),
    account: Type.Union([Type.String(), Type.Null()]),
    since: Type.Integer(),
    days: Type.Integer({ minimum: 0 }),
    settledFrom: Type.Union([Type.Integer(), Type.Null()]),
    lateOn: Type.Integer(),
    calm: Type.Boolean(),
  }),
);

type KnownWindow = RecordOf<typeof WindowForm>;

export type Windows = ReturnType<typeof createWindows>;

export function createWindows(registry: Registry) {
  let known: ReadonlyMap<string, KnownWindow> | null = null;
  registry.onChange(PREFIX, () => {
    known = null;
  });
  const all = () => {
    known ??= new Map(
      registry.list(PREFIX).flatMap(([id, { value }]) => {
        const window = WindowForm.parse(value);
        return window === null ? [] : [[id, window] as const];
      }),
    );
    return known;
  };
  return {
    get: (scope: Scope): KnownWindow | null => all().get(PREFIX + scopeId(scope)) ?? null,
    list: (): readonly KnownWindow[] => [...all().values()],
    /** No change if the limit of scopes is reached. */
    put: (scope: Scope, since: number, window: Window): Promise<void> =>
      updateRecord(registry, PREFIX + scopeId(scope), (text) => {
        const before = text === null ? null : WindowForm.parse(text);
        // Written by a later release.
        if (text !== null && before === null) return null;
        const also = text === null ? room(registry) : [];
        if (also === null) return null;
        const after = JSON.stringify({ ...scope, since, ...joined(before, window) });
        return after === text ? null : { text: after, also };
      }),
    onChange: (listener: () => void): void => registry.onChange(PREFIX, listener),
  };
}

/** A window is narrowed only with evidence that includes the late changes of the record. */
function joined(before: KnownWindow | null, now: Window): Window {
  if (before === null || (now.calm && now.lateOn >= before.lateOn)) return now;
  return { ...now, days: Math.max(before.days, now.days), lateOn: Math.max(before.lateOn, now.lateOn) };
}

/** Evicts the oldest scope without late changes. Null: there is none. */
function room(registry: Registry): [string, null][] | null {
  const all = registry.list(PREFIX);
  if (all.length < MAX_SCOPES) return [];
  const idle = all.filter(([, { value }]) => (WindowForm.parse(value)?.lateOn ?? 0) < 0);
  const [oldest] = idle.sort(([, a], [, b]) => a.revision - b.revision);
  return oldest === undefined ? null : [[oldest[0], null]];
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
