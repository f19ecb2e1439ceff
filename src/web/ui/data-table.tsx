/** A table that sorts; on a phone each row is a card with the column's name before each value. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { compact, fromNow } from './format.js';
import { ScrollFrame } from './parts.js';
import { sortedBy } from './sort.js';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** What it sorts by; without it the column does not sort. null comes last either way. */
  readonly by?: (row: Row) => string | number | null;
  /** Numbers stand to the right. */
  readonly numeric?: boolean;
}

/** A column of numbers; a dash where there is none. */
export const numberColumn = <Row,>(
  title: string,
  of: (row: Row) => number | null,
  shown: (value: number) => string = compact,
): Column<Row> => ({
  ...{ title, numeric: true, by: of },
  cell: (row) => {
    const value = of(row);
    return value === null ? '–' : shown(value);
  },
});

/** A column of times, told from now. @param none where there is no time */
export const timeColumn = <Row,>(
  title: string,
  of: (row: Row) => string | null,
  none: string,
): Column<Row> => ({
  ...{ title, by: of },
  cell: (row) => {
    const at = of(row);
    return at === null ? none : fromNow(at, Date.now());
  },
});

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

interface SortHeadProps {
  readonly title: string;
  readonly numeric: boolean;
  readonly sort: 'none' | 'ascending' | 'descending';
  /** Left out where the column does not sort. */
  readonly toggle?: (() => void) | undefined;
}

export function SortHead({ title, numeric, sort, toggle }: SortHeadProps) {
  const style = numeric ? 'number' : '';
  if (toggle === undefined)
    return (
      <th scope="col" class={style}>
        {title}
      </th>
    );
  return (
    <th scope="col" class={style} aria-sort={sort}>
      <button type="button" class="plain sort" onClick={toggle}>
        <bdi>{title}</bdi>
        <span aria-hidden="true">{{ none: '', ascending: '↑', descending: '↓' }[sort]}</span>
      </button>
    </th>
  );
}
