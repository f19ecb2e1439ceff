/** A table that sorts; on a phone each row is a card with the column's name before each value. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ScrollFrame } from './scroll-frame.js';
import { sortedBy } from './sort.js';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** What it sorts by; without it the column does not sort. null comes last either way. */
  readonly by?: (row: Row) => string | number | null;
  /** Numbers stand to the right. */
  readonly numeric?: boolean;
}

interface Sorted {
  readonly index: number;
  readonly down: boolean;
}

interface DataTableProps<Row> {
  /** Read out before the table. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Sorted by at first; in the order of the rows when left out. */
  readonly sorted?: Sorted;
  /** Stays below all others, however they are sorted: their total. */
  readonly foot?: Row;
}

export function DataTable<Row>({ caption, columns, rows, keyOf, sorted, foot }: DataTableProps<Row>) {
  const [order, setOrder] = useState<Sorted | null>(sorted ?? null);
  const by = order === null ? undefined : columns[order.index]?.by;
  const shown = order === null || by === undefined ? rows : sortedBy(rows, by, order.down);
  return (
    <ScrollFrame label={caption}>
      <table>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <Head
                key={column.title}
                column={column}
                sort={order?.index === index ? (order.down ? 'descending' : 'ascending') : 'none'}
                toggle={() =>
                  setOrder({ index, down: order?.index === index ? !order.down : column.numeric === true })
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
        {foot === undefined ? null : (
          <tfoot>
            <BodyRow columns={columns} row={foot} />
          </tfoot>
        )}
      </table>
    </ScrollFrame>
  );
}

interface BodyRowProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly row: Row;
}

function BodyRow<Row>({ columns, row }: BodyRowProps<Row>) {
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

interface HeadProps<Row> {
  readonly column: Column<Row>;
  readonly sort: 'none' | 'ascending' | 'descending';
  readonly toggle: () => void;
}

function Head<Row>({ column: { title, by, numeric }, sort, toggle }: HeadProps<Row>) {
  const style = numeric === true ? 'number' : '';
  if (by === undefined)
    return (
      <th scope="col" class={style}>
        {title}
      </th>
    );
  return (
    <th scope="col" class={style} aria-sort={sort}>
      <button type="button" class="plain sort" onClick={toggle}>
        {title}
        <span aria-hidden="true">{sort === 'none' ? '' : sort === 'ascending' ? '↑' : '↓'}</span>
      </button>
    </th>
  );
}
