/** One measure by day, week or month, else of the whole period, by the largest groups and all others together. */
import { useMemo } from 'preact/hooks';
import { SelectLine } from '../ui/fields.js';
import { Card, Choice, Empty } from '../ui/parts.js';
import { currencyOf, MIXED, type ReportColumn, titleWithUnit } from './columns.js';
import { dates } from './dates.js';
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

/** The one step of a report that is not by date. */
const WHOLE = [{ start: '', title: '', short: '' }];

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
  /** Days, weeks or months, by whose first days the rows are; none: they are of the whole period. */
  readonly spans: readonly Span[];
}

export function ReportChart(props: ReportChartProps) {
  const { report, about, measures, metric, spans, view, setView } = props;
  const { rows, meta } = report;
  const by = spanIn(view.by);
  const hasMore =
    meta.split.includes('advertiser') && meta.split.some((one) => !OF_ADVERTISERS.includes(one));
  const isByAdvertiser = hasMore && view.lines !== 'split';
  const isByDate = meta.split.includes('date');
  const grouped = useMemo(() => {
    const whole = about.advertiser ?? metric.title;
    return groupRows(
      rows,
      isByDate ? spans.map(({ start }) => start) : null,
      isByAdvertiser ? OF_ADVERTISERS : meta.split,
      metric,
      whole,
    );
  }, [rows, spans, meta, metric.name, about.advertiser, isByAdvertiser]);
  const currency = useMemo(() => currencyOf(rows, about.currency), [rows, about.currency]);
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
      {hasMore ? (
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
  return (
    <Card title={titleWithUnit(metric, currency) + (isByDate ? ` by ${by}` : '')} tools={tools}>
      {metric.noSum !== null && metric.noSum !== MIXED && isByDate && by !== 'day' ? (
        <Empty>{`${metric.title} has no sum*, so there is none by ${by}; choose Day.`}</Empty>
      ) : grouped.lines.every(({ values }) => values.every((value) => value === null)) ? (
        <Empty>{`There is no ${metric.title} of these lines. ${metric.noSum ?? ''}`}</Empty>
      ) : (
        <Lines {...props} grouped={grouped} currency={currency} />
      )}
    </Card>
  );
}

function Lines({ metric, marks, spans, view, grouped, currency }: LinesProps) {
  const { lines, stackable, left, outside } = grouped;
  const by = spanIn(view.by);
  const isWhole = spans.length === 0;
  const { noSum, title } = metric;
  const isStacked = stackable && view.shape !== 'lines';
  const colored = useMemo(
    () => lines.map((line, index) => ({ ...line, color: line.isRest ? '--c6' : (COLORS[index] ?? '--c1') })),
    [lines],
  );
  const shaded = useMemo(() => spans.map(({ days }) => marks.of(days) !== null), [spans, marks]);
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
          {counted(outside, 'row has', 'rows have')} no date in{' '}
          {dates.full(spans[0]?.start ?? '', spans.at(-1)?.end)} and are not in this chart, but in the table
          below.
        </p>
      )}
      <MeasureChart
        label={`${title}${isWhole ? ' of the largest groups' : ` by ${by}`}${isStacked && lines.length > 1 ? ', stacked by the largest groups' : ''}`}
        column={metric}
        currency={currency}
        by={by}
        steps={isWhole ? WHOLE : spans}
        lines={colored}
        kind={isStacked ? 'stacked bars' : 'lines'}
        height={260}
        shaded={shaded}
        partial={partial}
      />
      <div class="small quiet">
        {noSum === null || lines.length === 1 || isWhole ? null : (
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
            {isFew(spans) ? 'Not complete' : 'Shaded'}: {by === 'day' ? '' : `each ${by} with `}
            {marks.words}.
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
