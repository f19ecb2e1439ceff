/** The rows, sorted and filtered, with sums or the platform's totals. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Fields } from '../ui/fields.js';
import type { FieldSpec } from '../ui/form-values.js';
import { count, counted } from '../ui/format.js';
import { Card, Empty, Tag } from '../ui/parts.js';
import { filterRows, sortRows } from './arrange.js';
import { isConstant, type ReportColumn, shown, sumOf, totalsOf } from './columns.js';
import { type Foot, Grid, MOST_ROWS } from './grid.js';
import type { Row } from './parse.js';
import type { Viewed } from './question.js';
import type { Shown } from './use-report.js';

interface TableProps extends Omit<Viewed, 'question'> {
  readonly report: Shown;
  readonly columns: readonly ReportColumn[];
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
  const all = counted(rows.length, 'row');
  return (
    <Card title="Rows">
      <Constants columns={constant} row={rows[0]} />
      <div class="toolbar">
        <Filter value={view.filter} change={(filter) => setView({ filter }, true)} />
        <p class="small quiet" role="status">
          {found.length === rows.length ? all : `${count(found.length)} of ${all}`}
          {found.length > MOST_ROWS ? `; the first ${count(MOST_ROWS)} are shown, CSV has all` : ''}
        </p>
      </div>
      {found.length === 0 ? (
        <Empty>No row matches the filter.</Empty>
      ) : (
        <Grid
          label="Rows of the report"
          columns={varied.map((column) => ({ ...column, width: roomOf(column, report) }))}
          rows={found}
          sort={view.sort}
          setSort={(sort) => setView({ sort }, true)}
          mark={mark}
          feet={feet}
        />
      )}
      <div class="small quiet">
        {columns.map(({ name, noSum }) => (noSum === null ? null : <p key={name}>* {noSum}</p>))}
      </div>
    </Card>
  );
}

/** Width of a column including the tag of provisional days and the bold total. @returns approximate characters */
function roomOf({ name, numeric, width }: ReportColumn, { rows, meta }: Shown): number {
  if (name === 'date') return meta.firstProvisionalDate === undefined ? 13 : 23;
  if (!numeric) return width;
  const below = totalsOf(meta)?.[name] ?? sumOf(rows, name);
  return Math.max(width, Math.ceil(shown(below, true).length * 1.1) + 3);
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
            <bdi>{shown(row[name], numeric) || '–'}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  );
}

const FILTER: readonly FieldSpec[] = [
  { name: 'filter', label: 'Filter', is: 'search', help: 'Text, or a condition such as clicks>10.' },
];

/** Applied after a pause in typing. */
function Filter({ value, change }: { readonly value: string; readonly change: (filter: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => change(text), 200);
    return () => clearTimeout(timer);
  }, [text]);
  return <Fields fields={FILTER} values={{ filter: text }} set={({ filter }) => setText(String(filter))} />;
}

/** Totals of the whole report, and sums of the filtered rows. */
function feetOf({ rows, meta }: Shown, found: readonly Row[]): Foot[] {
  const totals = totalsOf(meta);
  const isAll = found.length === rows.length;
  const sums: Foot = {
    title: isAll ? 'Sum of rows' : `Sum of ${count(found.length)}`,
    cell: ({ name, numeric, noSum }) => {
      if (!numeric) return '';
      if (noSum === null) return shown(sumOf(found, name), true);
      return (
        <span class="quiet" title={noSum}>
          no sum
        </span>
      );
    },
  };
  if (totals === null) return [sums];
  const total: Foot = {
    title: 'Total',
    cell: ({ name, numeric, noSum }) => {
      const text = numeric ? shown(totals[name], true) : '';
      return numeric && noSum !== null ? <span title={noSum}>{text}*</span> : text;
    },
  };
  return isAll ? [total] : [sums, total];
}
