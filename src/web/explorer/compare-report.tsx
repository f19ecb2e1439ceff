/** The report beside itself in another period: what each group and measure has gained or lost. */
import { useMemo } from 'preact/hooks';
import { Chart } from '../ui/chart.js';
import { compact, count } from '../ui/format.js';
import { Card, Empty } from '../ui/parts.js';
import { columnsOf, type ReportColumn } from './columns.js';
import { AGAINST, compareGroups, compareTotals, dayValues, periodAgainst } from './compare.js';
import { ChangesTable } from './compare-table.js';
import { daysOf, type Period, type Question, type ViewState } from './question.js';
import type { SetView } from './report.js';
import { Trouble } from './trouble.js';
import { type Shown, useReport } from './use-report.js';

interface CompareWithProps {
  readonly against: string;
  readonly setView: SetView;
}

export const CompareWith = ({ against, setView }: CompareWithProps) => (
  <label class="row">
    <span class="small quiet">Compare with</span>
    <select value={against} onChange={(event) => setView({ against: event.currentTarget.value })}>
      <option value="">nothing</option>
      {AGAINST.map(({ value, title }) => (
        <option key={value} value={value}>
          {title}
        </option>
      ))}
    </select>
  </label>
);

interface CompareProps {
  readonly question: Question;
  readonly report: Shown;
  readonly view: ViewState;
}

export function CompareReport(props: CompareProps) {
  const { report, view } = props;
  const { from = null, to = null } = report.meta.period ?? {};
  if (view.against === '') return null;
  const other = from === null || to === null ? null : periodAgainst(view.against, { from, to });
  if (other === null || from === null || to === null)
    return <p class="note warn">There is no such period to compare with: choose another one above.</p>;
  return <Compared {...props} now={{ from, to }} before={other} />;
}

interface ComparedProps extends CompareProps {
  readonly now: Period;
  readonly before: Period;
}

function Compared({ question, report, view, now, before }: ComparedProps) {
  const { value, error, loading, reload } = useReport({
    ...question,
    ...{ period: '', dateFrom: before.from, dateTo: before.to },
  });
  return (
    <Card title={`Compared with ${before.from} to ${before.to}`}>
      {loading ? (
        <p class="looking" role="status">
          Asking for the other period …
        </p>
      ) : null}
      {error === null ? null : <Trouble error={error} again={reload} />}
      {value === null ? null : (
        <Both report={report} other={value} metric={view.metric} now={now} before={before} />
      )}
    </Card>
  );
}

interface BothProps {
  readonly report: Shown;
  readonly other: Shown;
  readonly metric: string;
  readonly now: Period;
  readonly before: Period;
}

function Both({ report, other, metric, now, before }: BothProps) {
  const measures = useMemo(
    () => columnsOf([...report.rows, ...other.rows]).filter(({ measure }) => measure),
    [report, other],
  );
  const groups = useMemo(
    () =>
      compareGroups(
        report.rows,
        other.rows,
        report.meta.split,
        measures.map(({ name }) => name),
      ),
    [report, other, measures],
  );
  const chosen = measures.find(({ name }) => name === metric) ?? measures[0];
  if (chosen === undefined) return <Empty>Neither period has rows.</Empty>;
  return (
    <>
      {daysOf(now).length === daysOf(before).length ? null : (
        <p class="note info">
          The periods have {count(daysOf(now).length)} and {count(daysOf(before).length)} days.
        </p>
      )}
      {report.meta.split.includes('date') ? (
        <Overlay report={report} other={other} column={chosen} now={now} before={before} />
      ) : null}
      <ChangesTable groups={groups} total={compareTotals(report, other, measures)} measures={measures} />
    </>
  );
}

function Overlay({
  report,
  other,
  column,
  now,
  before,
}: Omit<BothProps, 'metric'> & { column: ReportColumn }) {
  const [days, daysBefore] = [daysOf(now), daysOf(before)];
  const lines = useMemo(() => {
    const earlier = dayValues(other.rows, daysBefore, column);
    return [
      { title: 'this period', color: '--c1', values: dayValues(report.rows, days, column) },
      {
        title: `${before.from} to ${before.to}`,
        color: '--c3',
        dashed: true,
        values: days.map((_, index) => earlier[index] ?? null),
      },
    ];
  }, [report, other, column, before.from, before.to]);
  const times = useMemo(() => days.map((day) => Date.parse(day) / 1000), [now.from, now.to]);
  if (lines.every(({ values }) => values.every((value) => value === null)))
    return <Empty>{`${column.title} has no line for all rows. ${column.noSum ?? ''}`}</Empty>;
  return (
    <Chart
      label={`${column.title} by day in both periods, first day beside first day`}
      times={times}
      lines={lines}
      height={220}
      format={compact}
    />
  );
}
