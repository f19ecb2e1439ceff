/** The rows, sorted and filtered, with sums or the platform's totals. */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { NARROW, useMedia } from '../ui/media.js';
import { Button, Card, Empty } from '../ui/parts.js';
import { inOrder, sortRows } from './arrange.js';
import {
  chosenFirst,
  currencyOf,
  exactly,
  isConstant,
  type ReportColumn,
  shown,
  totalsOf,
  written,
} from './columns.js';
import { totalOf } from './compare.js';
import { dates } from './dates.js';
import { briefly, DayMarks, type MarkedProps, SIGN } from './day-marks.js';
import { filterRows } from './filter.js';
import { Filter } from './filter-field.js';
import { type CellText, type Foot, Grid, MOST_ROWS } from './grid.js';
import { laterWords } from './marks.js';
import { valueOver, wordsOf } from './measures.js';
import { counted, differsRounded, numbers, ROUNDED, ROUNDED_SIGN } from './numbers.js';
import { cellOf, type Report, type Row } from './parse.js';
import { advertisersOf, type Viewed } from './question.js';
import { csvName, saveCsv } from './save-csv.js';
import { SPANS, type Span, spanIn } from './spans.js';
import { tableCsv } from './table-csv.js';

interface TableProps extends Viewed, MarkedProps {
  readonly report: Report;
  readonly columns: readonly ReportColumn[];
  /** That of the platform's rows, beside that of the table. */
  readonly csv?: ComponentChildren;
  readonly isPinned: boolean;
}

export function ReportTable(props: TableProps) {
  const { report, columns, view, setView, spans } = props;
  const { currency } = props.about;
  const { rows, meta } = report;
  const { metric } = view;
  const [largest] = chosenFirst(
    columns.filter(({ numeric }) => numeric),
    metric,
  );
  // Without days the largest lead.
  const isByDay = meta.split.includes('date') || largest === undefined;
  const sort = view.sort || (isByDay ? '' : `-${largest.name}`);
  const sorted = useMemo(() => sortRows(rows, sort), [rows, sort]);
  const {
    rows: found,
    fault,
    understood,
    compared,
  } = useMemo(
    () => filterRows(view.filter, { rows: sorted, columns, currency, numbers }),
    [sorted, view.filter, columns, currency],
  );
  const constant = columns.filter((column) => isConstant(column, rows));
  // By week or month nobody knows how many people there were: unless it is charted, no column says so in every row.
  const unknown =
    spans.size === 0 ? [] : columns.filter((column) => column.name !== metric && hasNoSums(column, rows));
  const others = columns.filter((column) => !constant.includes(column) && !unknown.includes(column));
  const narrow = useMedia(NARROW);
  const all = counted(rows.length, 'row');
  const by = spanIn(view.by);
  const partly = [...spans.values()].find(({ part }) => part !== null)?.part ?? undefined;
  return (
    <Card title="Rows" tools={<Download {...props} rows={found} />}>
      <Constants columns={constant} row={rows[0]} />
      <div class="toolbar">
        <Filter {...{ columns, fault }} value={view.filter} change={(filter) => setView({ filter }, true)} />
        <p class="small quiet" role="status">
          {found.length === rows.length ? all : `${numbers.whole(found.length)} of ${all}`}
          {spans.size === 0 ? '' : ` by ${by}, of ${numbers.whole(meta.rowCount)} by day`}
          {found.length > MOST_ROWS ? `; the first ${numbers.whole(MOST_ROWS)} are shown, CSV has all` : ''}
        </p>
      </div>
      {understood === null ? null : (
        <p class="small quiet">
          Understood: <bdi>{understood}</bdi>.
          {spans.size > 0 && compared.includes('date') ? ` A ${by} counts by its first day.` : ''} Only this
          table is filtered: totals and charts above are of all rows.
        </p>
      )}
      {found.length === 0 ? (
        <Empty>
          {fault === null
            ? 'No row matches the filter.'
            : 'The filter is not understood, so no rows are shown. Correct it above.'}
        </Empty>
      ) : (
        <FoundRows {...props} {...{ found, sort, others, narrow, compared, largest }} />
      )}
      <div class="small quiet">
        {found.length > 0 && columns.some((column) => isRounded(found, column)) ? <p>{ROUNDED}</p> : null}
        {props.marks.words === null ? null : <p>{`${SIGN} marks ${props.marks.words}.`}</p>}
        {narrow || partly === undefined ? null : (
          <p>{briefly(partly)} after a date: so many of its days are in the report.</p>
        )}
      </div>
      <HowCalculated {...props} {...{ unknown, meta, by }} />
    </Card>
  );
}

interface FoundProps extends TableProps {
  readonly found: readonly Row[];
  readonly sort: string;
  /** Columns with values of their own in each row. */
  readonly others: readonly ReportColumn[];
  readonly narrow: boolean;
  /** Columns that the filter compares. */
  readonly compared: readonly string[];
  /** The measure that leads. */
  readonly largest: ReportColumn | undefined;
}

/** The rows that the filter leaves, in columns of which each has its room. */
function FoundRows({ found, sort, others, narrow, compared, largest, ...props }: FoundProps) {
  const { report, columns, spans, marks, later, view, setView } = props;
  const { currency } = props.about;
  const { rows, meta } = report;
  const feet = useMemo(() => feetOf(report, found, currency), [report, found, currency]);
  const ids = useMemo(() => idsBehind(others, rows), [columns, rows]);
  const behind = [...ids.values()];
  const writeDay = useMemo(() => dayWriterOf(rows), [rows]);
  // Before they are put in order: on a phone the first of the shown texts leads.
  const inColumns = others.filter((column) => !behind.includes(column));
  const ordered = inOrder(inColumns, view.metric, narrow, compared);
  // On a phone what a row is about stands in the column that stays in view.
  const under = narrow ? ordered.slice(1).filter(({ numeric }) => !numeric) : [];
  const varied = ordered.map((column, index) => {
    const own = roomOf(column, props, feet, narrow, writeDay) + (ids.has(column.name) ? ID_ROOM : 0);
    const room = index === 0 && narrow ? HELD_ROOM : own;
    return {
      ...column,
      width: index === 0 ? Math.max(room, ...feet.map(({ title }) => boldRoom(title))) : room,
    };
  });
  const isDays = spans.size === 0;
  // Of a day as a whole the numbers of now are known, too.
  const isOfDays = isDays && meta.split.join() === 'date';
  const write = (row: Row, column: ReportColumn) => {
    const cell =
      isDays && column.name === 'date'
        ? { text: writeDay(String(row.date)) }
        : textOf(row, column, spans, currency);
    const since = isOfDays
      ? laterWords(later?.get(String(row.date)), column, currencyOf([row], currency))
      : null;
    return since === null ? cell : { ...cell, exact: since };
  };
  const signs = (row: Row) => <DayMarks {...{ row, marks, later, spans, narrow, largest, currency }} />;
  return (
    <Grid
      label="Rows of the report"
      columns={varied}
      rows={found}
      sort={sort}
      setSort={(sort) => setView({ sort }, true)}
      write={write}
      mark={(row, { name }) => {
        const id = ids.get(name)?.name;
        return (
          <>
            {id === undefined ? null : <span class="quiet id">{String(cellOf(row, id))}</span>}
            {name === 'date' ? signs(row) : null}
            {name === varied[0]?.name
              ? under.map((column) => (
                  <span key={column.name} class="under small quiet" title={write(row, column).text}>
                    <bdi>{write(row, column).text}</bdi>
                    {column.name === 'date' ? signs(row) : null}
                  </span>
                ))
              : null}
          </>
        );
      }}
      feet={feet}
      held={narrow ? 2 : 1}
    />
  );
}

function Download({
  csv,
  marks,
  question,
  about,
  view,
  report,
  columns,
  spans,
  rows,
}: TableProps & Pick<Report, 'rows'>) {
  const { meta } = report;
  const save = () => {
    const by = SPANS.find(({ value }) => value === view.by)?.title ?? '';
    const ordered = inOrder(columns, view.metric, false);
    const text = tableCsv({ rows, columns: ordered, marks, spans, by, currency: about.currency });
    saveCsv(
      text,
      csvName(
        question,
        advertisersOf(question),
        meta.period,
        'table',
        view.by,
        view.filter && `filtered ${view.filter}`,
      ),
    );
  };
  return (
    <>
      <Button
        label={`CSV: this table as shown${view.filter === '' ? '' : `, ${numbers.whole(rows.length)} of ${counted(report.rows.length, 'row')}`}`}
        act={save}
      />
      {csv}
    </>
  );
}

/** The year is told where there are several. */
const dayWriterOf = ([first, ...others]: readonly Row[]) =>
  others.every(({ date }) => String(date).slice(0, 4) === String(first?.date).slice(0, 4))
    ? dates.brief
    : dates.full;

const hasNoSums = ({ name, noSum }: ReportColumn, rows: readonly Row[]): boolean =>
  noSum !== null && rows.every((row) => (cellOf(row, name) ?? null) === null);

/** Approximate characters. */
const ID_ROOM = 4;
/** Beside it two measures are in view on a phone. */
const HELD_ROOM = 14;

/** Names lead: the columns of ids, by the column of names that each is shown behind. */
function idsBehind(
  columns: readonly ReportColumn[],
  rows: readonly Row[],
): ReadonlyMap<string, ReportColumn> {
  const pairs = columns.flatMap((column) => {
    const name = column.name.replace(/Id$/, 'Name');
    const isNamed = name !== column.name && columns.some((other) => other.name === name);
    return isNamed && rows.every((row) => (cellOf(row, name) ?? '') !== '') ? [[name, column] as const] : [];
  });
  return new Map(pairs);
}

function textOf(
  row: Row,
  column: ReportColumn,
  spans: ReadonlyMap<string, Span>,
  currency: string | null,
): CellText {
  const value = cellOf(row, column.name);
  if (column.name === 'date') return { text: spans.get(String(value))?.title ?? shown(value, false) };
  // People do not add up over the days of a week or month.
  if (spans.size > 0 && column.noSum !== null && (value ?? null) === null) return { text: 'no sum' };
  const its = currencyOf([row], currency);
  return { text: written(value, column, its), exact: exactly(value, column, its) };
}

/** Width of a column including the signs of days and the bold totals. @returns approximate characters */
function roomOf(
  column: ReportColumn,
  { marks, spans }: TableProps,
  feet: readonly Foot[],
  narrow: boolean,
  writeDay: (day: string) => string,
): number {
  const { name, title, numeric, width } = column;
  if (name === 'date') {
    const sign = marks.words === null ? 0 : 2;
    const rooms = [...spans.values()].map(
      ({ title: told, part }) =>
        0.85 * told.length + (narrow || part === null ? 2 : briefly(part).length + 1),
    );
    return Math.ceil(
      sign + (rooms.length > 0 ? Math.max(...rooms) : Math.max(8, 0.85 * writeDay('2026-12-30').length + 2)),
    );
  }
  if (!numeric) return width;
  const texts = feet.map(({ text }) => text(column) ?? 'no sum');
  return Math.max(width, narrow ? title.length + 3 : 0, ...texts.map(boldRoom));
}

const boldRoom = (text: string): number => Math.ceil(text.length * 1.05) + 2;

interface HowProps extends Pick<TableProps, 'columns' | 'isPinned'>, Pick<Report, 'meta'> {
  /** Columns that are left out. */
  readonly unknown: readonly ReportColumn[];
  readonly by: string;
}

/** Says once, also for chart and comparison, which columns have no sum and why, and which the page calculates. */
function HowCalculated({ columns, isPinned, unknown, meta, by }: HowProps) {
  const noSums = columns.filter(({ noSum }) => noSum !== null);
  const calculated = columns.filter(({ ratio }) => ratio !== null);
  if (noSums.length + calculated.length === 0) return null;
  const ofTotal =
    totalsOf(meta) !== null
      ? ' The total is the platform’s own, for the whole period.'
      : isPinned
        ? ' Its total is not kept in a pin.'
        : '';
  return (
    <details class="small quiet">
      <summary>How is this calculated?</summary>
      {noSums.map((column) => (
        <p key={column.name}>
          * {column.noSum}
          {unknown.includes(column) ? ` So it has no column by ${by}.` : ofTotal}
        </p>
      ))}
      {calculated.length === 0 ? null : (
        <p>Calculated on this page from sums: {calculated.map(wordsOf).join(', ')}.</p>
      )}
    </details>
  );
}

/** Values that are equal in every row. */
function Constants({ columns, row = {} }: Pick<TableProps, 'columns'> & { readonly row: Row | undefined }) {
  if (columns.length === 0) return null;
  return (
    <dl class="constants small">
      {columns.map(({ name, title, numeric }) => (
        <div key={name}>
          <dt>{title}</dt>
          <dd>
            <bdi>{shown(cellOf(row, name), numeric) || '–'}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  );
}

const isRounded = (rows: readonly Row[], column: ReportColumn): boolean =>
  column.numeric &&
  column.ratio === null &&
  column.noSum === null &&
  differsRounded(
    rows.map((row) => valueOver([row], column)),
    valueOver(rows, column),
    column.unit,
  );

/** Totals of the whole report, and sums of the filtered rows. */
function feetOf(report: Report, found: readonly Row[], currency: string | null): Foot[] {
  const totals = totalsOf(report.meta);
  const isAll = found.length === report.rows.length;
  const inAll = currencyOf(found, currency);
  const sums: Foot = {
    title: isAll ? 'Sum of rows' : `Sum of ${numbers.whole(found.length)}`,
    text: (column) =>
      column.noSum === null
        ? `${written(valueOver(found, column), column, inAll)}${isRounded(found, column) ? ROUNDED_SIGN : ''}`
        : null,
  };
  if (totals === null) return [sums];
  const total: Foot = {
    title: 'Total',
    text: (column) => {
      const { name, ratio, noSum } = column;
      const value = ratio === null ? cellOf(totals, name) : totalOf(report, column);
      const sign = noSum !== null ? '*' : isAll && isRounded(found, column) ? ROUNDED_SIGN : '';
      return written(value, column, currencyOf([totals], currency)) + sign;
    },
  };
  return isAll ? [total] : [sums, total];
}
