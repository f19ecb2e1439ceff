/**
 * Whether a report of some campaigns is that of all campaigns, with the rows of others left out: learned as divisibility is,
 * from answers that hold both, never assumed, and checked once a day for as long as it is used. One record of the registry
 * for each kind of report, so that replicas share it.
 */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { createRecordBook } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import type { Report } from '../query/canonicalize.js';
import { divisibilityId } from './state.js';

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

export type Selectable = ReturnType<typeof createSelectable>;

export function createSelectable({
  registry,
  accountFields,
  now,
}: {
  readonly registry: Registry;
  readonly accountFields: readonly string[];
  readonly now: () => number;
}) {
  const book = createRecordBook<Known>(registry, { prefix: 'selectable/', max: MAX_KINDS, read: Known.read });
  const idOf = (report: Report) => divisibilityId(report, accountFields);
  const change = (report: Report, step: (before: Known) => Known) =>
    book.change(idOf(report), (before) => {
      const after = step(before ?? UNKNOWN);
      return after === UNKNOWN ? null : after;
    });

  return {
    /** due: proven, and to be checked by the next question. */
    stateOf: (report: Report): SelectableState => stateOf(book.get(idOf(report)) ?? UNKNOWN, now()),
    /** @param question its identity, with its period. @throws StoreUnavailable */
    agreed: (report: Report, question: string): Promise<void> =>
      change(report, (before) => {
        const state = stateOf(before, now());
        if (state === 'refuted' || state === 'proven') return before;
        if (state === 'due') return { ...before, checkedAt: now() };
        const { agreements } = before;
        const all = agreements.includes(question) ? agreements : [...agreements, question];
        return { ...before, agreements: all, checkedAt: now(), refutedUntil: null };
      }),
    /** @throws StoreUnavailable */
    refuted: (report: Report): Promise<void> =>
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
