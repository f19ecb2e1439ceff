/** Loads what is known since then of the days of an earlier time, without a platform call. */
import { useMemo } from 'preact/hooks';
import { useGet } from '../ui/session.js';
import type { Revisions } from './changed.js';
import { type Later, laterOf } from './marks.js';
import type { Report } from './parse.js';
import { aboutPath, type Question } from './question.js';

/** @returns null: nothing is known yet, or the numbers are those of now */
export function useLater(question: Question, report: Report | null): Later | null {
  const isPast = question.asOf !== '' && report !== null;
  const { value } = useGet<Revisions>(isPast ? aboutPath('revisions', question) : null);
  return useMemo(
    () => (report === null || value === null ? null : laterOf(value, report.meta)),
    [value, report],
  );
}
