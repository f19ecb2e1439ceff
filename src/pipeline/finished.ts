/** Finished bodies of this process: an answer from here is sent as it is. */
import type { L1 } from '../cache/l1.js';
import type { Purges } from '../cache/purges.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import type { BodyPieces } from '../report/entry.js';
import { nextTurn } from '../time.js';
import { type Answer, FROM_L1 } from './answer.js';
import { type HeldAnswer, pack, ready, unpack } from './held-answer.js';
import type { ReportQuestion } from './question.js';
import { compressAnew, type Finished, isServable } from './render.js';
import type { Understood } from './understand.js';

export interface FinishedAnswers {
  /** @returns an answer that may be sent now */
  look(asked: Understood): Answer | null;
  /** @returns a body that may be sent now; whoever sends it says so by {@link given} */
  find(l1Key: string, report: CanonicalReport): Finished | null;
  given(question: ReportQuestion, finished: Finished): void;
  /** Keeps what may be kept. @param pieces its body as it is deflated already; null where it is not */
  keep(asked: Understood, finished: Finished, pieces: BodyPieces | null): void;
}

export interface FinishedOptions {
  readonly l1: L1<HeldAnswer>;
  readonly purges: Purges;
  readonly now: () => number;
  /** Told of every answer from here that is from days and worth a check. Must cost nearly nothing. */
  readonly onJoinedHit: (question: ReportQuestion) => void;
  readonly background: (work: Promise<unknown>) => void;
}

export function createFinishedAnswers(options: FinishedOptions): FinishedAnswers {
  const { l1, purges, now, onJoinedHit } = options;
  const compressAside = createCompressAside(options);

  /** @returns a body that may be sent now; from then on it lies ready to be sent, and soon as small as it may be */
  function usable(l1Key: string, report: CanonicalReport, maxAgeMs: number | null, nowMs: number) {
    const held = l1.get(l1Key);
    if (held === undefined || !isServable(held.finished, report, purges, maxAgeMs, nowMs)) return null;
    const finished = held.kind === 'ready' ? held.finished : unpack(held);
    if (held.kind === 'packed') l1.set(l1Key, ready(finished));
    if (finished.isPieced) compressAside(l1Key, finished);
    return finished;
  }

  function given(question: ReportQuestion, { checkFromMs }: Finished): void {
    if (checkFromMs !== null && now() >= checkFromMs) onJoinedHit(question);
  }

  return {
    look({ l1Key, question, context }) {
      const finished = usable(l1Key, question.report, context.directives.maxAgeMs, now());
      if (finished === null) return null;
      given(question, finished);
      return { shown: finished, source: FROM_L1, body: () => finished };
    },
    find: (l1Key, report) => usable(l1Key, report, null, now()),
    given,
    keep({ l1Key }, finished, pieces) {
      if (finished.status !== 200 || finished.stale) return;
      const held = ready(finished);
      l1.set(l1Key, held);
      // Behind the answer.
      nextTurn(() => {
        if (l1.get(l1Key) === held) l1.set(l1Key, pack(held, pieces));
      });
    },
  };
}

/** Bodies that are asked for again are made smaller behind an answer, one at a time. */
function createCompressAside({ l1, background }: Pick<FinishedOptions, 'l1' | 'background'>) {
  let isBusy = false;
  return (l1Key: string, finished: Finished): void => {
    if (isBusy) return;
    isBusy = true;
    const work = compressAnew(finished)
      .then((smaller) => {
        // Not in the place of what came meanwhile.
        const held = l1.get(l1Key);
        if (held?.kind === 'ready' && held.finished === finished) l1.set(l1Key, ready(smaller));
      })
      .finally(() => {
        isBusy = false;
      });
    background(work);
  };
}
