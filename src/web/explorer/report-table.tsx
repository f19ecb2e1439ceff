/** The rows: sorted, filtered, with sums where there are any and the true total where there are none. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Field } from '../ui/fields.js';
import { count, counted } from '../ui/format.js';
import { Card, Empty, Tag } from '../ui/parts.js';
import { filterRows, sortRows } from './arrange.js';
import { isConstant, type ReportColumn, shown, sumOf, totalsOf } from './columns.js';
import { type Foot, Grid, MOST_ROWS } from './grid.js';
import type { Row } from './parse.js';
import type { ViewState } from './question.js';
import type { SetView } from './report.js';
import type { Shown } from './use-report.js';

interface TableProps {
  readonly report: Shown;
  readonly columns: readonly ReportColumn[];
  readonly view: ViewState;
  readonly setView: SetView;
}

export function ReportTable({ report, columns, view, setView }: TableProps) {
  const { rows, meta } = report;
  const sorted = useMemo(() => sortRows(rows, view.sort), [rows, view.sort]);
  const found = useMemo(() => filterRows(sorted, view.filter), [sorted, view.filter]);
  const feet = useMemo(() => feetOf(report, found), [report, found]);
  const first = meta.firstProvisionalDate;
  const mark = (row: Row, column: string) =>
    column === 'date' && first !== undefined && String(row.date) >= first ? (
      <Tag tone="warn">provisional</Tag>
    ) : null;
  const constant = columns.filter((column) => isConstant(column, rows));
  const varied = columns.filter((column) => !constant.includes(column));
  const roomy = varied.map((column) => ({ ...column, width: roomOf(column, report) }));
  return (
    <Card title="Rows">
      <Constants columns={constant} row={rows[0]} />
      <div class="toolbar">
        <Filter value={view.filter} change={(filter) => setView({ filter }, true)} />
        <p class="small quiet" role="status">
          {found.length === rows.length
            ? counted(rows.length, 'row')
            : `${count(found.length)} of ${counted(rows.length, 'row')}`}
          {found.length > MOST_ROWS ? `; the first ${count(MOST_ROWS)} are shown, CSV has all` : ''}
        </p>
      </div>
      {found.length === 0 ? (
        <Empty>No row has all of these words. Empty the filter to see all.</Empty>
      ) : (
        <Grid
          label="Rows of the report"
          columns={roomy}
          rows={found}
          sort={view.sort}
          setSort={(sort) => setView({ sort }, true)}
          mark={mark}
          feet={feet}
        />
      )}
      <WhyNoSum columns={columns} />
    </Card>
  );
}

/** For its cells, the tag of a provisional day, and what stands below them in bold. @returns characters, about */
function roomOf({ name, numeric, width }: ReportColumn, { rows, meta }: Shown): number {
  if (name === 'date') return meta.firstProvisionalDate === undefined ? 13 : 23;
  if (!numeric) return width;
  const below = totalsOf(meta)?.[name] ?? sumOf(rows, name);
  return Math.max(width, Math.ceil(shown(below, true).length * 1.1) + 3);
}

/** What is the same in every row, told once. */
function Constants({
  columns,
  row,
}: {
  readonly columns: readonly ReportColumn[];
  readonly row: Row | undefined;
}) {
  if (columns.length === 0 || row === undefined) return null;
  return (
    <dl class="constants small">
      {columns.map(({ name, title, numeric }) => (
        <div key={name}>
          <dt>{title}</dt>
          <dd>
            <bdi>{shown(row[name], numeric) || '–'}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Waits until somebody has stopped typing for a moment. */
function Filter({ value, change }: { readonly value: string; readonly change: (filter: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => change(text), 200);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <Field label="Filter" help="Words, or a condition as clicks>10.">
      <input
        type="search"
        value={text}
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </Field>
  );
}

/** The whole report's totals, and the sums of what a filter has left. */
function feetOf({ rows, meta }: Shown, found: readonly Row[]): Foot[] {
  const totals = totalsOf(meta);
  const all: Foot[] =
    totals === null
      ? []
      : [
          {
            title: 'Total',
            cell: ({ name, numeric, noSum }) =>
              numeric ? <TrueTotal text={shown(totals[name], true)} noSum={noSum} /> : '',
          },
        ];
  if (totals !== null && found.length === rows.length) return all;
  const title = found.length === rows.length ? 'Sum of rows' : `Sum of ${count(found.length)}`;
  return [
    {
      title,
      cell: ({ name, numeric, noSum }) =>
        !numeric ? (
          ''
        ) : noSum === null ? (
          shown(sumOf(found, name), true)
        ) : (
          <span class="quiet" title={noSum}>
            no sum
          </span>
        ),
    },
    ...all,
  ];
}

function TrueTotal({ text, noSum }: { readonly text: string; readonly noSum: string | null }) {
  if (noSum === null) return <>{text}</>;
  return <span title={noSum}>{text}*</span>;
}

function WhyNoSum({ columns }: { readonly columns: readonly ReportColumn[] }) {
  const reasons = columns.flatMap(({ name, noSum }) => (noSum === null ? [] : [{ name, noSum }]));
  if (reasons.length === 0) return null;
  return (
    <div class="small quiet">
      {reasons.map(({ name, noSum }) => (
        <p key={name}>* {noSum}</p>
      ))}
    </div>
  );
}
