/** A report as it was at an earlier time, of the days that were known then: each run of days is asked for itself. */
import { useMemo } from 'preact/hooks';
import { useLoad } from '../ui/load.js';
import { Button, Wait } from '../ui/parts.js';
import { AnswerHead } from './answer-head.js';
import { toldRuns } from './not-known-then.js';
import { counted } from './numbers.js';
import { DiffPanel } from './panel-diff.js';
import { daysOf, openerOf, type Period, type Viewed } from './question.js';
import { ChartAndRows } from './report-rows.js';
import { combineDays } from './several.js';
import { useTeam } from './team.js';
import { useLater } from './use-later.js';
import { loadReport, type Shown, shownPath } from './use-report.js';

interface KnownDaysProps extends Viewed {
  /** Runs of days in order, at least one. */
  readonly known: readonly Period[];
  readonly gaps: readonly Period[];
}

export function KnownDays({ known, gaps, ...viewed }: KnownDaysProps) {
  const { question, about, view } = viewed;
  const { api } = useTeam();
  const paths = known.map(({ from, to }) =>
    shownPath({ ...question, period: '', dateFrom: from, dateTo: to }),
  );
  const loaded = useLoad(paths.join(' '), async (signal) => {
    const reports: Shown[] = [];
    for (const path of paths) reports.push(await loadReport(api, path, signal));
    return reports;
  });
  const all = [...known, ...gaps];
  const from = all.map((days) => days.from).sort()[0] ?? '';
  const to =
    all
      .map((days) => days.to)
      .sort()
      .at(-1) ?? '';
  const report = useMemo(
    () => (loaded.value === null ? null : combineDays(loaded.value, { from, to })),
    [loaded.value, from, to],
  );
  const later = useLater(question, report);
  return (
    <Wait of={{ ...loaded, value: report }} looking="Loading the days that were known …">
      {(report) => (
        <>
          <AnswerHead
            {...viewed}
            subject={<bdi>{about.advertiser ?? `advertiser ${question.advertiserId}`}</bdi>}
            report={report}
            later={later}
            tools={<Button {...openerOf(viewed, 'diff')} label="What changed" />}
          >
            <p class="note warn" role="status">
              <strong>
                {counted(gaps.flatMap(daysOf).length, 'day is', 'days are')} missing, as not known then:
              </strong>{' '}
              {toldRuns(gaps)}. Sums are of the other days.
            </p>
          </AnswerHead>
          {view.panel === 'diff' ? <DiffPanel {...viewed} report={report} /> : null}
          <ChartAndRows {...viewed} {...{ report, later }} />
        </>
      )}
    </Wait>
  );
}
