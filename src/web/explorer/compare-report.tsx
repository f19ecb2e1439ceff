/** The report compared with another period, by group and measure. */
import { useMemo } from 'preact/hooks';
import { Chart } from '../ui/chart.js';
import { type Column, DataTable } from '../ui/data-table.js';
import { compact, count } from '../ui/format.js';
import { Card, Empty, Name, Tag, Wait } from '../ui/parts.js';
import { columnsOf, type ReportColumn, shown } from './columns.js';
import {
  type Change,
  type ComparedGroup,
  compareGroups,
  compareTotals,
  dayValues,
  periodAgainst,
} from './compare.js';
import { daysOf, type Period, type Viewed } from './question.js';
import { type Shown, useReport } from './use-report.js';

interface CompareProps extends Viewed {
  readonly report: Shown;
}

export function CompareReport(props: CompareProps) {
  const { report, view } = props;
  const { from = null, to = null } = report.meta.period ?? {};
  if (view.against === '') return null;
  const now = from === null || to === null ? null : { from, to };
  const before = now === null ? null : periodAgainst(view.against, now);
  if (now === null || before === null)
    return <p class="note warn">There is no such period to compare with: select another one above.</p>;
  return <Compared {...props} now={now} before={before} />;
}

type Periods = Readonly<Record<'now' | 'before', Period>>;

function Compared({ question, report, view, now, before }: CompareProps & Periods) {
  const loaded = useReport({ ...question, period: '', dateFrom: before.from, dateTo: before.to });
  return (
    <Card title={`Compared with ${before.from} to ${before.to}`}>
      <Wait of={loaded} looking="Loading the other period …">
        {(other) => <Both report={report} other={other} metric={view.metric} now={now} before={before} />}
      </Wait>
    </Card>
  );
}

interface BothProps extends Periods {
  readonly report: Shown;
  readonly other: Shown;
}

function Both({ metric, ...both }: BothProps & { readonly metric: string }) {
  const { report, other, now, before } = both;
  const { measures, groups } = useMemo(() => {
    const all = columnsOf([...report.rows, ...other.rows]).filter(({ numeric }) => numeric);
    const names = all.map(({ name }) => name);
    return { measures: all, groups: compareGroups(report.rows, other.rows, report.meta.split, names) };
  }, [report, other]);
  const chosen = measures.find(({ name }) => name === metric) ?? measures[0];
  const [days, daysBefore] = [daysOf(now).length, daysOf(before).length];
  if (chosen === undefined) return <Empty>Neither period has rows.</Empty>;
  return (
    <>
      {days === daysBefore ? null : (
        <p class="note info">
          The periods have {count(days)} and {count(daysBefore)} days.
        </p>
      )}
      {report.meta.split.includes('date') ? <Overlay {...both} column={chosen} /> : null}
      <ChangesTable groups={groups} total={compareTotals(report, other, measures)} measures={measures} />
    </>
  );
}

function Overlay({ report, other, column, now, before }: BothProps & { readonly column: ReportColumn }) {
  const { times, lines } = useMemo(() => {
    const days = daysOf(now);
    const earlier = dayValues(other.rows, daysOf(before), column);
    const [title, color] = [`${before.from} to ${before.to}`, '--c3'];
    return {
      times: days.map((day) => Date.parse(day) / 1000),
      lines: [
        { title: 'this period', color: '--c1', values: dayValues(report.rows, days, column) },
        { title, color, dashed: true, values: days.map((_, index) => earlier[index] ?? null) },
      ],
    };
  }, [report, other, column, now.from, now.to, before.from, before.to]);
  if (lines.every(({ values }) => values.every((value) => value === null)))
    return <Empty>{`${column.title} cannot be shown for all rows. ${column.noSum ?? ''}`}</Empty>;
  return (
    <Chart
      label={`${column.title} by day in both periods, aligned by their first day`}
      times={times}
      lines={lines}
      height={220}
      format={compact}
    />
  );
}

const MOST_GROUPS = 200;

interface ChangesTableProps {
  readonly groups: readonly ComparedGroup[];
  /** Includes groups that are not shown. */
  readonly total: ComparedGroup;
  readonly measures: readonly ReportColumn[];
}

function ChangesTable({ groups, total, measures }: ChangesTableProps) {
  const columns = measures.map(
    ({ name, title }): Column<ComparedGroup> => ({
      title,
      numeric: true,
      cell: ({ changes }) => <ChangeCell change={changes[name]} />,
      by: ({ changes }) => changes[name]?.diff ?? null,
    }),
  );
  return (
    <>
      <DataTable
        caption="Changes by group"
        rows={groups.slice(0, MOST_GROUPS)}
        keyOf={({ key }) => key}
        columns={[{ title: 'Group', cell: titled, by: ({ title }) => title }, ...columns]}
        foot={total}
      />
      <p class="small quiet">
        A dash means no row, or no sum. Totals are the platform’s own for each period, else the sum of the
        rows, if there is one.
        {groups.length > MOST_GROUPS
          ? ` The first ${count(MOST_GROUPS)} of ${count(groups.length)} groups.`
          : ''}
      </p>
    </>
  );
}

const titled = ({ title, in: where }: ComparedGroup) => (
  <>
    <Name>{title || 'all'}</Name>{' '}
    {where === 'both' ? null : <Tag tone="info">{where === 'now' ? 'new' : 'gone'}</Tag>}
  </>
);

const signed = (maximumFractionDigits: number) =>
  new Intl.NumberFormat('en-US', { maximumFractionDigits, signDisplay: 'exceptZero' });
const [change, share] = [signed(2), signed(1)];

const written = (value: number | null) => shown(value, true) || '–';

function ChangeCell({ change: known }: { readonly change: Change | undefined }) {
  const { now = null, before = null, diff = null, percent = null } = known ?? {};
  if (now === null && before === null) return <>–</>;
  const was = `before: ${written(before)}`;
  return (
    <span title={was}>
      {written(now)}
      <br />
      <span class="small quiet">
        {diff === null ? was : change.format(diff)}
        {percent === null ? '' : ` (${share.format(percent)} %)`}
      </span>
    </span>
  );
}
