/**
 * Whether a report of some campaigns is that of all campaigns, with the rows of others left out: learned as divisibility is,
 * from answers that hold both, never assumed, and checked once a day for as long as it is used. One record of the registry
 * for each kind of report, so that replicas share it.
 */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../record.js';
import type { Registry } from '../registry/replica.js';
import { updateRecord } from '../registry/update-record.js';
import type { Report } from '../report/canonicalize.js';
import { divisibilityId } from './state.js';

const PREFIX = 'selectable/';
/** Kinds that are remembered; those learned first go first. */
const MAX_KINDS = 200;
/** Questions whose answers have to agree, each with rows that were selected and rows that were left out. */
export const NEEDED_AGREEMENTS = 3;
const CHECKED_MS = 86_400_000;
const REFUTED_MS = 30 * 86_400_000;

const Known = recordForm(
  Type.Object({
    /** Identities of the questions that agreed, as long as there are too few. */
    agreements: Type.Array(Type.String()),
    /** When an answer agreed last, epoch milliseconds; null: never. */
    checkedAt: Type.Union([Type.Number(), Type.Null()]),
    /** Until then it is not learned anew. */
    refutedUntil: Type.Union([Type.Number(), Type.Null()]),
  }),
);
type Known = RecordOf<typeof Known>;

const UNKNOWN: Known = { agreements: [], checkedAt: null, refutedUntil: null };

export type SelectableState = 'learning' | 'proven' | 'due' | 'refuted';

export interface Selectable {
  /** due: proven, and to be checked by the next question. */
  stateOf(report: Report): SelectableState;
  /** @param question its identity, with its period. @throws StoreUnavailable */
  agreed(report: Report, question: string): Promise<void>;
  /** @throws StoreUnavailable */
  refuted(report: Report): Promise<void>;
}

export interface SelectableOptions {
  readonly registry: Registry;
  readonly accountFields: readonly string[];
  readonly now: () => number;
}

export function createSelectable({ registry, accountFields, now }: SelectableOptions): Selectable {
  const idOf = (report: Report) => PREFIX + divisibilityId(report, accountFields);

  function known(id: string): Known {
    const text = registry.get(id)?.value;
    return text === undefined ? UNKNOWN : Known.read(text, id);
  }

  function change(report: Report, step: (before: Known) => Known): Promise<void> {
    const id = idOf(report);
    return updateRecord(registry, id, (text) => {
      const before = text === null ? UNKNOWN : Known.read(text, id);
      const after = step(before);
      return after === before ? null : { text: JSON.stringify(after), also: surplus(id) };
    });
  }

  function surplus(id: string): [string, null][] {
    const others = registry.list(PREFIX).filter(([other]) => other !== id);
    return others
      .sort(([, a], [, b]) => a.revision - b.revision)
      .slice(0, Math.max(0, others.length + 1 - MAX_KINDS))
      .map(([other]) => [other, null]);
  }

  return {
    stateOf: (report) => stateOf(known(idOf(report)), now()),
    agreed: (report, question) =>
      change(report, (before) => {
        const state = stateOf(before, now());
        if (state === 'refuted' || state === 'proven') return before;
        if (state === 'due') return { ...before, checkedAt: now() };
        const { agreements } = before;
        const all = agreements.includes(question) ? agreements : [...agreements, question];
        return { ...before, agreements: all, checkedAt: now(), refutedUntil: null };
      }),
    refuted: (report) =>
      change(report, (before) => ({ ...before, agreements: [], refutedUntil: now() + REFUTED_MS })),
  };
}

/** A clock that was set back must make nothing last longer. */
function stateOf({ agreements, checkedAt, refutedUntil }: Known, nowMs: number): SelectableState {
  if (refutedUntil !== null && nowMs < refutedUntil && nowMs >= refutedUntil - REFUTED_MS) return 'refuted';
  if (agreements.length < NEEDED_AGREEMENTS) return 'learning';
  const ageMs = nowMs - (checkedAt ?? 0);
  return ageMs >= 0 && ageMs < CHECKED_MS ? 'proven' : 'due';
}
