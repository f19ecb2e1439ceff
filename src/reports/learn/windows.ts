/**
 * The windows that were learned, as records of the registry: every process has them at hand, for they decide what is fresh.
 * They change seldom; what they were learned from lies elsewhere, see `learn.ts`.
 */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { Registry } from '../../store/registry/replica.js';
import { updateRecord } from '../../store/registry/update-record.js';
import { type Scope, scopeId } from './scope.js';
import type { Window } from './window.js';

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
export type KnownWindow = RecordOf<typeof WindowForm>;

export interface Windows {
  get(scope: Scope): KnownWindow | null;
  list(): readonly KnownWindow[];
  /** @returns the window before; null where there was none, or there is no room for another */
  put(scope: Scope, since: number, window: Window): Promise<KnownWindow | null>;
  onChange(listener: () => void): void;
}

export function createWindows(registry: Registry): Windows {
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
    get: (scope) => all().get(PREFIX + scopeId(scope)) ?? null,
    list: () => [...all().values()],
    async put(scope, since, window) {
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
    onChange: (listener) => registry.onChange(PREFIX, listener),
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
