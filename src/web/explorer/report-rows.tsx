/** Warnings about the numbers of a report, its chart and its rows. */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { moment } from '../ui/format.js';
import { Button, Empty, Figure, Figures } from '../ui/parts.js';
import { chosenFirst, currencyOf, type ReportColumn, SAMPLE, widthOf } from './columns.js';
import { totalOf } from './compare.js';
import { rowsBy } from './group.js';
import { type Later, marksOf, marksThen } from './marks.js';
import { allColumnsOf, withMeasures } from './measures.js';
import { counted, numbers } from './numbers.js';
import type { Meta, Report } from './parse.js';
import { DATE, daysOf, type Period, type Viewed } from './question.js';
import { ReportChart } from './report-chart.js';
import { ReportTable } from './report-table.js';
import { type Span, type SpanName, spanIn, spansOf } from './spans.js';
import { TOTALS_LATER } from './use-report.js';

interface RowsProps extends Viewed {
  readonly report: Report;
  /** Of an earlier time; null or absent: not known. */
  readonly later?: Later | null;
  /** Totals are shown above already. */
  readonly hasTotals?: boolean;
  /** That of the platform's rows, beside that of the table. */
  readonly csv?: ComponentChildren;
  /** The rows are as they were pinned: there is no form to ask for others, and no total but their sums. */
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
      {hasTotals ? null : <Totals report={loaded} measures={measures} currency={currency} />}
      {metric === undefined || (isPinned && spans.length === 0) ? null : (
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

/** Totals of the whole report. Amounts of several currencies have none. */
function Totals({ report, measures, currency }: TotalsProps) {
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

interface KnownProps {
  readonly meta: Meta;
  /** Whether the numbers are those of an earlier time. */
  readonly isPast?: boolean;
  /** Of an earlier time; null or absent: not known. */
  readonly later?: Later | null;
  /** Of an older answer: why it is older; null: not known. */
  readonly why?: StaleWhy;
  /** Asks for the same report again. */
  readonly again?: (() => void) | undefined;
}

export type StaleWhy = 'away' | 'refreshed' | null;

const STALE_WORDS = {
  away: 'the platform does not answer. Newer ones are shown when it does.',
  refreshed: 'they are being refreshed. Reload the page in a moment.',
} as const;

/** Warnings about the numbers. */
export function Known({ meta, isPast = false, later = null, why = null, again }: KnownProps) {
  const { firstProvisionalDate, warnings = [], stale = false } = meta;
  const first = later === null ? firstProvisionalDate : undefined;
  // Only a report by date says from which day on.
  const isOpen =
    firstProvisionalDate === undefined && !meta.final && meta.period !== null && !meta.split.includes('date');
  if (first === undefined && later === null && !isOpen && warnings.length === 0 && !stale) return null;
  return (
    <ul class="notes">
      {later === null ? null : <LaterNote meta={meta} later={later} />}
      {first === undefined ? null : (
        <li class="note warn">
          From <strong>{first}</strong> on{' '}
          {isPast
            ? 'some of these numbers were fetched while the platform was still completing the day. “What changed” tells what it changed later.'
            : 'the numbers are provisional: the platform is still completing those days.'}
        </li>
      )}
      {isOpen ? (
        <li class="note warn">Some of these days are provisional: the platform is still completing them.</li>
      ) : null}
      {stale ? (
        <li class="note warn">
          The oldest of these numbers are of {moment(meta.asOf)}
          {why === null ? ', and no longer fresh.' : `: ${STALE_WORDS[why]}`}
        </li>
      ) : null}
      {warnings.map(({ code, message }) => (
        <li key={code + message} class="note info">
          <bdi>{message}</bdi>
          {code === TOTALS_LATER && again ? <Button label="Ask again" class="plain" act={again} /> : null}
        </li>
      ))}
    </ul>
  );
}

/** How many days of an earlier time have other numbers now. */
function LaterNote({ meta, later }: Pick<KnownProps, 'meta'> & { readonly later: Later }) {
  const marks = [...later.keys()].map(marksThen(meta, later));
  const count = (mark: string) => marks.filter((one) => one === mark).length;
  const days = counted(later.size, 'day');
  const [changed, unknown] = [count('changed later'), count('may have changed later')];
  return (
    <li class={`note ${changed + unknown > 0 ? 'warn' : 'info'}`}>
      {changed === 0 ? '' : `${numbers.whole(changed)} of ${days} changed later; “What changed” tells how. `}
      {unknown === 0
        ? ''
        : `${numbers.whole(unknown)} of ${days} ${unknown === 1 ? 'was' : 'were'} not complete then, and not fetched again since: ${unknown === 1 ? 'it' : 'they'} may have changed later.`}
      {changed + unknown === 0 ? `None of ${days} changed later.` : ''}
    </li>
  );
}
