/**
 * Learns whether a report of some campaigns equals the report of all campaigns without the other rows. Like divisibility it is
 * proven from answers, and checked daily while in use. One registry record per kind of report.
 */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { createRecordBook } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import type { Base } from '../base.js';
import type { Report } from '../query/canonicalize.js';
import { divisibilityId } from './state.js';

/** Limit; the oldest are dropped. */
const MAX_KINDS = 200;
/** Required agreeing answers, each with selected and left-out rows. */
export const NEEDED_AGREEMENTS = 3;
const CHECKED_MS = 86_400_000;
const REFUTED_MS = 30 * 86_400_000;

const Known = recordForm(
  Type.Object({
    /** Questions that agreed, until there are enough. */
    agreements: Type.Array(Type.String()),
    /** When an answer agreed last, epoch milliseconds; null: never. */
    checkedAt: Type.Union([Type.Number(), Type.Null()]),
    /** Not relearned until then. */
    refutedUntil: Type.Union([Type.Number(), Type.Null()]),
  }),
);
type Known = RecordOf<typeof Known>;

const UNKNOWN: Known = { agreements: [], checkedAt: null, refutedUntil: null };

export type SelectableState = 'learning' | 'proven' | 'due' | 'refuted';

export function createSelectable(registry: Registry, { policy, now }: Pick<Base, 'policy' | 'now'>) {
  const book = createRecordBook<Known>(registry, { prefix: 'selectable/', max: MAX_KINDS, read: Known.read });
  const idOf = (report: Report) => divisibilityId(report, policy.accountFields);
  const change = (report: Report, step: (before: Known) => Known) =>
    book.change(idOf(report), (before) => {
      const after = step(before ?? UNKNOWN);
      return after === UNKNOWN ? null : after;
    });

  return {
    /** due: proven, to be checked by the next question. */
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

/** A clock set back must not prolong a state. */
function stateOf({ agreements, checkedAt, refutedUntil }: Known, nowMs: number): SelectableState {
  if (refutedUntil !== null && nowMs < refutedUntil && nowMs >= refutedUntil - REFUTED_MS) return 'refuted';
  if (agreements.length < NEEDED_AGREEMENTS) return 'learning';
  const ageMs = nowMs - (checkedAt ?? 0);
  return ageMs >= 0 && ageMs < CHECKED_MS ? 'proven' : 'due';
}
