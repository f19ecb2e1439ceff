/** A question that was understood before, and where its finished answer would be. */
import type { CanonicalReport } from '../report/canonicalize.js';
import type { Format } from '../report/output-options.js';
import type { KnownQuestions, Sent } from './known-questions.js';
import type { ReadQuestion } from './read-question.js';
import { l1KeyOf } from './understand.js';

export interface Recalled {
  readonly asked: ReadQuestion;
  readonly l1Key: string;
}

/** @param defaultFormat of the team that asks. @returns null where the question has to be read */
export type Recall = (sent: Sent, defaultFormat: Format) => Recalled | null;

export interface RecallOptions {
  readonly known: KnownQuestions;
  readonly stampOf: (report: CanonicalReport) => string;
  readonly now: () => number;
}

export function createRecall({ known, stampOf, now }: RecallOptions): Recall {
  return (sent, defaultFormat) => {
    const asked = known.find(sent, defaultFormat, now());
    // What was probably meant is told in the log, by the long way.
    if (asked === undefined || asked.meant.length > 0) return null;
    return { asked, l1Key: l1KeyOf(asked, stampOf(asked.question.report)) };
  };
}
