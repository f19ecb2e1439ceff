/** The one place that says which days of a report are final, and how long the others are fresh. */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import type { Report } from '../query/canonicalize.js';
import type { FreshnessRules } from '../rows/freshness.js';
import { countAges, type DateEvidence, type Evidence } from './evidence.js';
import { type Scope, scopeId, scopeOf } from './scope.js';

// When the numbers of a day change no more, by what was seen of days before it. Pure.

interface WindowRules {
  /** It is never shorter than that. */
  readonly restatementDays: number;
  /** Nor longer than that. */
  readonly maxDays: number;
}

export interface Window {
  /** A day is final when it is older. */
  readonly days: number;
  /** From this age on no day was ever seen to change, and enough were seen; null where that cannot be said. */
  readonly settledFrom: number | null;
  /** The last day on which a change was seen that came later than `restatementDays`, as a day number; -1: none was. */
  readonly lateOn: number;
  /** Such changes are over: enough dates were seen again since at the greatest age. */
  readonly calm: boolean;
}

/** Distinct dates that must have stayed as they were before a window is made shorter again, and the days it takes at least. */
const CALM_DATES = 300;
const CALM_DAYS = 14;
/** Distinct dates of an age by which a kind counts as settled so far. */
const SETTLED_DATES = 30;

/** @param today as a day number */
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

/** Whether it was seen by that age as it was seen last. */
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

// The windows that were learned, as records of the registry: every process has them at hand, for they decide what is fresh.
// They change seldom; what they were learned from lies elsewhere, see `learn.ts`.

const PREFIX = 'finality/';
/** Scopes that are remembered. */
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

/** A scope and its window, since when it is observed. */
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
    /** @returns the window before; null where there was none, or there is no room for another */
    async put(scope: Scope, since: number, window: Window): Promise<KnownWindow | null> {
      const id = PREFIX + scopeId(scope);
      let before: KnownWindow | null = null;
      await updateRecord(registry, id, (text) => {
        before = text === null ? null : WindowForm.parse(text);
        // A later release has written it.
        if (text !== null && before === null) return null;
        const also = text === null ? room(registry) : [];
        if (also === null) return null;
        const after = JSON.stringify({ ...scope, since, ...joined(before, window) });
        return after === text ? null : { text: after, also };
      });
      return before;
    },
    onChange: (listener: () => void): void => registry.onChange(PREFIX, listener),
  };
}

/** What is known of both: a window is made shorter only by who has seen all late changes that the record tells of. */
function joined(before: KnownWindow | null, now: Window): Window {
  if (before === null || (now.calm && now.lateOn >= before.lateOn)) return now;
  return { ...now, days: Math.max(before.days, now.days), lateOn: Math.max(before.lateOn, now.lateOn) };
}

/** What goes for another scope, oldest first: not what was ever seen to change late. Null: there is no room. */
function room(registry: Registry): [string, null][] | null {
  const all = registry.list(PREFIX);
  if (all.length < MAX_SCOPES) return [];
  const idle = all.filter(([, { value }]) => (WindowForm.parse(value)?.lateOn ?? 0) < 0);
  const [oldest] = idle.sort(([, a], [, b]) => a.revision - b.revision);
  return oldest === undefined ? null : [[oldest[0], null]];
}

/** `fixed`: `report.restatementDays`, nothing is learned; `observe`: learned and shown; `learned`: freshness goes by it. */
export type FinalityMode = 'fixed' | 'observe' | 'learned';

/** Fresh time of a day that is not final, of an age at which no day was ever seen to change. */
const SETTLED_MS = 6 * 3_600_000;
/** Late changes of scopes that this process remembers. */
const MAX_OWN = 5000;

export type Rules = ReturnType<typeof createRules>;

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
  let ofReports = new WeakMap<Report, FreshnessRules>();
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

  function rulesFor(report: Report): FreshnessRules {
    if (!isLearned) return base;
    const rules = ofReports.get(report) ?? rulesOf(scopeOf(report));
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
      if (own.size >= MAX_OWN) own.clear();
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
