/** A sortable table; on a phone each row is a card with the column's name before each value. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { compact, fromNow } from './format.js';
import { Empty } from './parts.js';
import { ScrollFrame } from './scroll-frame.js';
import { sortedBy } from './sort.js';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Sort key; null comes last in both directions. Absent: the column does not sort. */
  readonly by?: (row: Row) => string | number | null;
  readonly numeric?: boolean;
}

/** A column of numbers; null is a dash. */
export const numberColumn = <Row,>(
  title: string,
  of: (row: Row) => number | null,
  shown: (value: number) => string = compact,
): Column<Row> => ({
  title,
  numeric: true,
  by: of,
  cell: (row) => {
    const value = of(row);
    return value === null ? '–' : shown(value);
  },
});

/** A column of times relative to now. @param none text for null */
export const timeColumn = <Row,>(
  title: string,
  of: (row: Row) => string | null,
  none: string,
): Column<Row> => ({
  title,
  by: of,
  cell: (row) => {
    const at = of(row);
    return at === null ? none : <span class="nowrap">{fromNow(at, Date.now())}</span>;
  },
});

interface DataTableProps<Row> {
  /** For screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Initial order; default: the order of the rows. */
  readonly sorted?: { readonly index: number; readonly down: boolean };
  /** Totals, below all rows. */
  readonly feet?: readonly Row[];
  /** Shown in place of a table without rows. */
  readonly empty?: string;
  /** As high as a chart. */
  readonly short?: boolean;
}

export function DataTable<Row>({ caption, short, rows, sorted, empty, ...rest }: DataTableProps<Row>) {
  const { columns, keyOf, feet = [] } = rest;
  const [order, setOrder] = useState(sorted ?? null);
  if (rows.length === 0 && empty !== undefined) return <Empty>{empty}</Empty>;
  const by = order === null ? undefined : columns[order.index]?.by;
  const shown = order === null || by === undefined ? rows : sortedBy(rows, by, order.down);
  return (
    <ScrollFrame label={caption} class={short === true ? 'short' : ''}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title, numeric = false, by: sorts }, index) => (
              <SortHead
                key={title}
                title={title}
                numeric={numeric}
                sort={order?.index !== index ? 'none' : order.down ? 'descending' : 'ascending'}
                toggle={
                  sorts && (() => setOrder({ index, down: order?.index === index ? !order.down : numeric }))
                }
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <BodyRow key={keyOf(row)} columns={columns} row={row} />
          ))}
        </tbody>
        {feet.length === 0 ? null : (
          <tfoot>
            {feet.map((row) => (
              <BodyRow key={keyOf(row)} columns={columns} row={row} />
            ))}
          </tfoot>
        )}
      </table>
    </ScrollFrame>
  );
}

function BodyRow<Row>({ columns, row }: Pick<DataTableProps<Row>, 'columns'> & { readonly row: Row }) {
  return (
    <tr>
      {columns.map(({ title, cell, numeric }) => (
        <td key={title} data-title={title} class={numeric === true ? 'number' : ''}>
          {cell(row)}
        </td>
      ))}
    </tr>
  );
}

interface SortHeadProps {
  readonly title: string;
  readonly numeric: boolean;
  readonly sort: 'none' | 'ascending' | 'descending';
  /** Absent: the column does not sort. */
  readonly toggle?: (() => void) | undefined;
}

export const SortHead = ({ title, numeric, sort, toggle }: SortHeadProps) => (
  <th scope="col" class={numeric ? 'number' : ''} aria-sort={toggle && sort}>
    {toggle === undefined ? (
      title
    ) : (
      <button type="button" class="plain sort" onClick={toggle}>
        <bdi>{title}</bdi>
        <span aria-hidden="true">{{ none: '', ascending: '↑', descending: '↓' }[sort]}</span>
      </button>
    )}
  </th>
);
