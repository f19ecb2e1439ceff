/** The comparison of a report row by row between two moments: its calls, and its rows as a file. */
import { useNotices } from '../ui/notices.js';
import { Button } from '../ui/parts.js';
import type { Api } from '../ui/session.js';
import { comparedRuns, type DayStates, isComparable, type Moments } from './changed.js';
import { type Diff, type DiffRow, diffCsv, type Names } from './diff-rows.js';
import { toldRuns } from './not-known-then.js';
import { aboutPath, type Period, type Question, runsOf } from './question.js';
import { csvName, saveCsv } from './save-csv.js';
import { useTeam } from './team.js';

/** The comparisons of all rows between the moments; of days first fetched later, since then, as none takes days that are not known at both. */
export function diffPaths(question: Question, states: readonly DayStates[], { from, to }: Moments): string[] {
  const moments = {
    from: from === null ? 'first' : new Date(from).toISOString(),
    to: to === null ? 'latest' : new Date(to).toISOString(),
  };
  return [moments, { ...moments, from: 'first' }].flatMap((between, at) =>
    comparedRuns(states, at === 1).map((days) => aboutPath('diff', daysIn(question, days), between)),
  );
}

/** @param paths of {@link diffPaths}, which are asked one after another */
export async function loadDiff(
  api: Api,
  paths: readonly string[],
  signal?: AbortSignal,
): Promise<readonly DiffRow[]> {
  const answers: Diff[] = [];
  for (const path of paths) answers.push(await api.get<Diff>(path, signal));
  return answers.flatMap(({ data }) => data);
}

interface DiffCsvProps {
  readonly question: Question;
  readonly names: Names;
  /** That changed, newest first. */
  readonly days: readonly DayStates[];
  readonly paths: readonly string[];
  /** Of money; null: unknown, or there are several. */
  readonly currency: string | null;
}

/** Saves the rows of the shown days, and names those that it cannot have. */
export function DiffCsv({ question, names, days, paths, currency }: DiffCsvProps) {
  const { api } = useTeam();
  const { act } = useNotices();
  const compared = days.filter(isComparable);
  const [first, last] = [compared.at(-1)?.date ?? '', compared[0]?.date ?? ''];
  const left = runsOf(days.flatMap((day) => (isComparable(day) ? [] : day.date)).reverse());
  const save = async () =>
    saveCsv(
      diffCsv(await loadDiff(api, paths), names, currency),
      csvName(question, [question.advertiserId], { from: first, to: last }, 'changes'),
    );
  return (
    <p class="row">
      {paths.length === 0 ? null : (
        <Button
          label="CSV of every row and column that differs"
          act={() => act(save, 'CSV of the changes made.')}
        />
      )}
      {left.length === 0 ? null : (
        <span class="small quiet">
          {paths.length === 0 ? 'There is no CSV of' : 'The CSV is without'} {toldRuns(left)}, not over yet.
        </span>
      )}
    </p>
  );
}

/** The report of other days. */
export const daysIn = (question: Question, { from, to }: Period): Question => ({
  ...question,
  period: '',
  dateFrom: from,
  dateTo: to,
});
