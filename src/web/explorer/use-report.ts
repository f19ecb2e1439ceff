/** A report, asked for and read without the page standing still. */
import { type Loaded, useLoad } from '../ui/load.js';
import { type Answered, answeredBy } from './answered.js';
import { breathe, parseReport, type Report } from './parse.js';
import { BESIDE, pathOf, type Question } from './question.js';
import { useTeam } from './team.js';

export interface Shown extends Report {
  readonly answered: Answered;
}

/** @param question null asks nothing */
export function useReport(question: Question | null): Loaded<Shown> {
  const { api } = useTeam();
  const path = question === null ? null : pathOf(question, { _format: 'json', ...BESIDE });
  return useLoad(path, async (signal) => {
    const { headers, text } = await api.raw(path ?? '', signal);
    return { ...(await parseReport(text, breathe)), answered: answeredBy(headers) };
  });
}
