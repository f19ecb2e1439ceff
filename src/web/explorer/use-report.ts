/** Loads a report without freezing the page. */
import { type Loaded, useLoad } from '../ui/load.js';
import type { Api } from '../ui/session.js';
import { type Answered, answeredBy } from './answered.js';
import { breathe, type Meta, parseReport, type Report } from './parse.js';
import { besideOf, pathOf, type Question } from './question.js';
import { useTeam } from './team.js';

export interface Shown extends Report {
  readonly answered: Answered;
}

/** The call whose answer the page shows. By date it says of each day when it was fetched, and whether it was complete. */
export const shownPath = (question: Question): string =>
  pathOf(question, {
    _format: 'json',
    ...besideOf(question),
    ...(question.splits.includes('byDate') ? { _days: '1' } : {}),
  });

/** @param path of {@link shownPath}. @throws Refused, Unreachable */
export async function loadReport(api: Api, path: string, signal: AbortSignal): Promise<Shown> {
  const { headers, text } = await api.raw(path, signal);
  const report = await parseReport(text, breathe);
  const meta = { ...report.meta, warnings: report.meta.warnings?.map(inWords) ?? [] };
  return { ...report, meta, answered: answeredBy(headers, meta, Date.now()) };
}

type Warning = NonNullable<Meta['warnings']>[number];

/** The gateway's words for this warning are for programs; they have the reason. */
function inWords(warning: Warning): Warning {
  if (warning.code !== 'totals_unavailable') return warning;
  const [, reason] = / could not be fetched \(\w+: (.*?)\)/.exec(warning.message) ?? [];
  if (reason !== undefined)
    return {
      code: TOTALS_LATER,
      message: `Totals of the platform could not be fetched (${reason}): ask again later. ${SUMS}`,
    };
  const why = / was refused by /.test(warning.message)
    ? 'The platform refused to give totals of this report.'
    : 'Totals of the platform do not fit these rows.';
  return { ...warning, message: `${why} ${SUMS}` };
}

/** The page's own code of a warning: asking again may help. */
export const TOTALS_LATER = 'totals_later';

const SUMS = 'Sums of the rows are shown instead; what does not add up, such as reach, has none.';

export function useReport(question: Question): Loaded<Shown> {
  const { api } = useTeam();
  const path = shownPath(question);
  return useLoad(path, (signal) => loadReport(api, path, signal));
}
