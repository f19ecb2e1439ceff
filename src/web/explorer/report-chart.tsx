/** One measure by day, week or month, by the largest groups and all others together. */
import { useMemo } from 'preact/hooks';
import { SelectLine } from '../ui/fields.js';
import { Card, Choice, Empty } from '../ui/parts.js';
import { currencyOf, MIXED, type ReportColumn, titleWithUnit } from './columns.js';
import { gapsInWords, groupRows } from './group.js';
import type { Marks } from './marks.js';
import { isFew, MeasureChart, secondsOf } from './measure-chart.js';
import { counted, numbers } from './numbers.js';
import type { Report } from './parse.js';
import type { Viewed } from './question.js';
import { SPANS, type Span, spanIn } from './spans.js';

const COLORS = ['--c1', '--c2', '--c3', '--c4', '--c5'] as const;
const SHAPES = [
  { value: 'stacked', title: 'Stacked' },
  { value: 'lines', title: 'Lines' },
] as const;

const OF_ADVERTISERS: readonly string[] = ['date', 'advertiser'];
const LINES = [
  { value: '', title: 'Advertisers' },
  { value: 'split', title: 'As in the table' },
] as const;

interface ReportChartProps extends Viewed {
  readonly report: Report;
  readonly measures: readonly ReportColumn[];
  readonly metric: ReportColumn;
  readonly marks: Marks;
  /** Days, weeks or months, by whose first days the rows are. */
  readonly spans: readonly Span[];
}

export function ReportChart(props: ReportChartProps) {
  const { report, about, measures, metric, spans, view, setView } = props;
  const { rows, meta } = report;
  const by = spanIn(view.by);
  const hasMore =
    meta.split.includes('advertiser') && meta.split.some((one) => !OF_ADVERTISERS.includes(one));
  const isByAdvertiser = hasMore && view.lines !== 'split';
  const grouped = useMemo(() => {
    const whole = about.advertiser ?? metric.title;
    return groupRows(
      rows,
      spans.map(({ start }) => start),
      isByAdvertiser ? OF_ADVERTISERS : meta.split,
      metric,
      whole,
    );
  }, [rows, spans, meta, metric.name, about.advertiser, isByAdvertiser]);
  const currency = useMemo(() => currencyOf(rows, about.currency), [rows, about.currency]);
  const isByDate = meta.split.includes('date');
  const optionsOf = (calculated: boolean) =>
    measures
      .filter(({ ratio }) => (ratio !== null) === calculated)
      .map(({ name, title }) => [name, title] as const);
  const tools = (
    <>
      <SelectLine
        label="Measure"
        options={optionsOf(false)}
        more={{ title: 'Calculated on this page', options: optionsOf(true) }}
        value={metric.name}
        choose={(name) => setView({ metric: name }, true)}
      />
      {isByDate ? (
        <Choice label="By" options={SPANS} value={by} choose={(one) => setView({ by: one }, true)} />
      ) : null}
      {isByDate && hasMore ? (
        <Choice
          label="Lines of"
          options={LINES}
          value={isByAdvertiser ? '' : 'split'}
          choose={(lines) => setView({ lines }, true)}
        />
      ) : null}
      {isByDate && grouped.stackable && grouped.lines.length > 1 && !isFew(spans) ? (
        <Choice
          label="Shape"
          options={SHAPES}
          value={view.shape === 'lines' ? 'lines' : 'stacked'}
          choose={(shape) => setView({ shape }, true)}
        />
      ) : null}
    </>
  );
  if (!isByDate)
    return (
      <Card>
        <div class="toolbar">
          <p class="quiet">
            A chart needs days: tick Date above. The measure chosen here is the first column of the table
            below, and sorts it.
          </p>
          {tools}
        </div>
      </Card>
    );
  return (
    <Card title={`${titleWithUnit(metric, currency)} by ${by}`} tools={tools}>
      {metric.noSum !== null && metric.noSum !== MIXED && by !== 'day' ? (
        <Empty>{`${metric.title} has no sum*, so there is none by ${by}; choose Day.`}</Empty>
      ) : grouped.lines.every(({ values }) => values.every((value) => value === null)) ? (
        <Empty>{`There is no ${metric.title} of these lines. ${metric.noSum ?? ''}`}</Empty>
      ) : (
        <Lines {...props} grouped={grouped} currency={currency} />
      )}
    </Card>
  );
}

function Lines({ question, report, metric, marks, spans, view, grouped, currency }: LinesProps) {
  const { lines, stackable, left, outside } = grouped;
  const by = spanIn(view.by);
  const { noSum, title } = metric;
  const isStacked = stackable && view.shape !== 'lines';
  const colored = useMemo(
    () => lines.map((line, index) => ({ ...line, color: line.isRest ? '--c6' : (COLORS[index] ?? '--c1') })),
    [lines],
  );
  const shaded = useMemo(() => spans.map(({ days }) => marks.of(days) !== null), [spans, marks]);
  const isNow = question.asOf === '';
  const parts = spans.filter(({ part }) => part !== null);
  const partial = useMemo(
    () => new Map(spans.flatMap(({ start, part }) => (part === null ? [] : [[secondsOf(start), part]]))),
    [spans],
  );
  const gaps = isFew(spans) ? null : gapsInWords(metric, lines, isStacked, by);
  return (
    <>
      {outside === 0 ? null : (
        <p class="note warn" role="status">
          {counted(outside, 'row has', 'rows have')} no date from {spans[0]?.start} to {spans.at(-1)?.end} and
          are not in this chart, but in the table below.
        </p>
      )}
      <MeasureChart
        label={`${title} by ${by}${isStacked && lines.length > 1 ? ', stacked by the largest groups' : ''}`}
        column={metric}
        currency={currency}
        by={by}
        steps={spans}
        lines={colored}
        kind={isStacked ? (by === 'day' ? 'stacked' : 'stacked bars') : 'lines'}
        height={260}
        shaded={shaded}
        partial={partial}
      />
      <div class="small quiet">
        {noSum === null || lines.length === 1 ? null : (
          <p>
            {title} has no sum*, so lines stand side by side here, and are not stacked.
            {left > 0 ? ` ${numbers.whole(left)} smaller ones are only in the table.` : ''}
          </p>
        )}
        {gaps === null ? null : <p>{gaps}</p>}
        {parts.length === 0 ? null : (
          <p>
            * Incomplete: {parts.map((span) => `${span.title} (${span.part} are in the report)`).join('; ')}.
          </p>
        )}
        {!shaded.includes(true) ? null : (
          <p>
            {!isFew(spans) ? 'Shaded' : isNow ? 'Not complete yet' : 'Not complete then'}:{' '}
            {by === 'day'
              ? ''
              : isNow
                ? `from ${spans[shaded.indexOf(true)]?.title} on, with `
                : `each ${by} with `}
            {marks.words}
            {isNow ? `, from ${report.meta.firstProvisionalDate} on` : ''}.
          </p>
        )}
      </div>
    </>
  );
}

interface LinesProps extends Omit<ReportChartProps, 'measures' | 'setView'> {
  readonly grouped: ReturnType<typeof groupRows>;
  /** Of money; null: unknown, or there are several. */
  readonly currency: string | null;
}
