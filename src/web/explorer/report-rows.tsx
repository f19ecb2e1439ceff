/** The chart of a report and its rows. */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Empty, Figure, Figures } from '../ui/parts.js';
import { chosenFirst, currencyOf, type ReportColumn, SAMPLE, widthOf } from './columns.js';
import { totalOf } from './compare.js';
import { rowsBy } from './group.js';
import { type Later, marksOf } from './marks.js';
import { allColumnsOf, withMeasures } from './measures.js';
import { numbers } from './numbers.js';
import type { Report } from './parse.js';
import { DATE, daysOf, type Period, type Viewed } from './question.js';
import { ReportChart } from './report-chart.js';
import { ReportTable } from './report-table.js';
import { type Span, type SpanName, spanIn, spansOf } from './spans.js';

interface RowsProps extends Viewed {
  readonly report: Report;
  /** Of an earlier time; null or absent: not known. */
  readonly later?: Later | null;
  /** Totals are shown above already. */
  readonly hasTotals?: boolean;
  /** That of the platform's rows, beside that of the table. */
  readonly csv?: ComponentChildren;
  /** The rows are as they were pinned: there is no total but their sums. */
  readonly isPinned?: boolean;
}

export function ChartAndRows(props: RowsProps) {
  const { report: loaded, hasTotals = false, csv, isPinned = false, later = null, ...viewed } = props;
  const { about, view, question } = viewed;
  const { currency } = about;
  const { columns, measures, report, spans } = useMemo(
    () => arrangedBy(loaded, spanIn(view.by), currency),
    [loaded, view.by, currency],
  );
  const [metric] = chosenFirst(measures, view.metric);
  const marks = useMemo(() => marksOf(loaded, question, later), [loaded, question.asOf, later]);
  const byStart = useMemo(() => new Map(spans.map((span) => [span.start, span])), [spans]);
  if (loaded.rows.length === 0) return <Empty>The platform has no rows for this query.</Empty>;
  return (
    <>
      {/* The comparison has those of the days that it compares. */}
      {hasTotals || (view.against !== '' && view.finals !== '') ? null : (
        <TotalFigures report={loaded} measures={measures} currency={currency} />
      )}
      {metric === undefined ? null : (
        <ReportChart {...viewed} {...{ report, measures, metric, marks, spans }} />
      )}
      <ReportTable
        {...viewed}
        {...{ report, columns, marks, later, csv, isPinned }}
        spans={spanIn(view.by) === 'day' ? NO_SPANS : byStart}
      />
    </>
  );
}

/** More would push the chart off the screen; the table has all. */
const MOST_TOTALS = 8;
const MOST_LETTERS = 10;

interface TotalsProps extends Pick<RowsProps, 'report'> {
  readonly measures: readonly ReportColumn[];
  readonly currency: string | null;
}

/** Totals of the report. Amounts of several currencies have none. */
export function TotalFigures({ report, measures, currency }: TotalsProps) {
  const one = currencyOf(report.rows, currency);
  const totals = measures.flatMap((column) => {
    const value = totalOf(report, column);
    return value === null ? [] : [{ column, value }];
  });
  if (totals.length === 0) return null;
  return (
    <Figures>
      {totals.slice(0, MOST_TOTALS).map(({ column: { name, title, unit }, value }) => (
        <Figure key={name} label={title} value={fitting(value, unit, one)} />
      ))}
    </Figures>
  );
}

/** Rounded if it is too long for a figure; the table has the whole. */
function fitting(...of: Parameters<typeof numbers.full>): string {
  const full = numbers.full(...of);
  return full.length > MOST_LETTERS ? numbers.short(...of) : full;
}

const NO_SPANS: ReadonlyMap<string, Span> = new Map();

/** The columns with those that are calculated, and the rows by day, week or month. */
function arrangedBy(loaded: Report, by: SpanName, currency: string | null) {
  const { rows, meta } = loaded;
  const { own, columns } = allColumnsOf(rows, currency);
  const period = meta.split.includes('date') ? periodOf(loaded) : null;
  const spans = period === null ? [] : spansOf(period, by);
  const shown = period === null || by === 'day' ? rows : rowsBy(rows, daysOf(period), by, meta.split, own);
  const all = withMeasures(shown, columns);
  const sized = columns.map((column) =>
    column.ratio === null ? column : { ...column, width: widthOf(column, all.slice(0, SAMPLE), currency) },
  );
  const measures = sized.filter(({ numeric }) => numeric);
  return { columns: sized, measures, spans, report: { ...loaded, rows: all } };
}

/** That of the answer, else from the first to the last day of its rows. */
function periodOf({ rows, meta }: Report): Period | null {
  const { from = null, to = null } = meta.period ?? {};
  const known = rows.map(({ date }) => String(date)).filter((date) => DATE.test(date));
  known.sort();
  const [first, last] = [from ?? known[0], to ?? known.at(-1)];
  return first === undefined || last === undefined ? null : { from: first, to: last };
}
