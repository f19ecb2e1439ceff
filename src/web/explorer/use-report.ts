/** Loads a report without freezing the page. */
import { type Loaded, useLoad } from '../ui/load.js';
import { type Answered, answeredBy } from './answered.js';
import { breathe, parseReport, type Report } from './parse.js';
import { BESIDE, pathOf, type Question } from './question.js';
import { useTeam } from './team.js';

export interface Shown extends Report {
  readonly answered: Answered;
}

export function useReport(question: Question): Loaded<Shown> {
  const { api } = useTeam();
  const path = pathOf(question, { _format: 'json', ...BESIDE });
  return useLoad(path, async (signal) => {
    const { headers, text } = await api.raw(path, signal);
    return { ...(await parseReport(text, breathe)), answered: answeredBy(headers) };
  });
}
