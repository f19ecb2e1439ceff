/** One measure by day, by the largest groups and all others together. */
import { useMemo } from 'preact/hooks';
import { Chart } from '../ui/chart.js';
import { SelectLine } from '../ui/fields.js';
import { count, counted } from '../ui/format.js';
import { Card, Empty } from '../ui/parts.js';
import type { ReportColumn } from './columns.js';
import { groupRows } from './group.js';
import { daysOf, type Viewed } from './question.js';
import type { Shown } from './use-report.js';

const COLORS = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c7', '--c8', '--c9', '--c10', '--c6'] as const;

interface ReportChartProps extends Pick<Viewed, 'setView'> {
  readonly report: Shown;
  readonly measures: readonly ReportColumn[];
  readonly metric: ReportColumn;
}

export function ReportChart({ report, measures, metric, setView }: ReportChartProps) {
  const choose = (
    <SelectLine
      label="Measure"
      options={measures.map(({ name, title }) => [name, title] as const)}
      value={metric.name}
      choose={(name) => setView({ metric: name }, true)}
    />
  );
  return (
    <Card title="By day" tools={choose}>
      {report.meta.split.includes('date') ? (
        <ByDay report={report} metric={metric} />
      ) : (
        <Empty>Split by date to see a chart by day.</Empty>
      )}
    </Card>
  );
}

function ByDay({ report: { rows, meta }, metric }: Pick<ReportChartProps, 'report' | 'metric'>) {
  const { from = null, to = null } = meta.period ?? {};
  const { days, times, lines, stacked, left, outside } = useMemo(() => {
    const known = rows.map(({ date }) => String(date)).filter((date) => /^\d{4}-\d\d-\d\d$/.test(date));
    known.sort();
    const [first, last] = [from ?? known[0], to ?? known.at(-1)];
    const all = first === undefined || last === undefined ? [] : daysOf({ from: first, to: last });
    const grouped = groupRows(rows, all, meta.split, metric.name);
    return {
      ...grouped,
      days: all,
      times: all.map((day) => Date.parse(day) / 1000),
      lines: grouped.lines.map((line, index) => ({
        ...line,
        color: COLORS[index % COLORS.length] ?? '--c1',
      })),
    };
  }, [rows, meta, metric.name]);
  const provisional = meta.firstProvisionalDate;
  return (
    <>
      {outside === 0 ? null : (
        <p class="note warn" role="status">
          {counted(outside, 'row has', 'rows have')} no date from {days[0]} to {days.at(-1)} and are not in
          this chart, but in the table below.
        </p>
      )}
      <Chart
        label={`${metric.title} by day${lines.length > 1 ? ', stacked by the largest groups' : ''}`}
        times={times}
        lines={lines}
        kind={stacked ? 'stacked' : 'lines'}
        height={260}
        provisionalFrom={provisional === undefined ? null : Date.parse(provisional) / 1000}
        {...(metric.noSum === null && Number.isInteger(lines[0]?.values[0] ?? 0) ? {} : { format: written })}
      />
      {stacked || lines.length === 1 ? null : (
        <p class="small quiet">
          {metric.noSum} So lines stand side by side here, and are not stacked.
          {left > 0 ? ` ${count(left)} smaller ones are only in the table.` : ''}
        </p>
      )}
      {provisional === undefined ? null : (
        <p class="small quiet">Shaded: provisional days, from {provisional} on.</p>
      )}
    </>
  );
}

const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 2 });
const written = (value: number): string => short.format(value);
