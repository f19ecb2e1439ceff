/** A table of any length: only the rows that are seen are in the page. Its head and its sums stay in sight. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type ReportColumn, shown } from './columns.js';
import './grid.css';
import type { Row } from './parse.js';

/** In pixels, as in grid.css; each row has one line, so that its place is known without looking. */
const ROW = 36;
const MARGIN = 12;
/** Browsers end a page at about 17 million pixels. */
export const MOST_ROWS = 400_000;

interface GridProps {
  readonly label: string;
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly Row[];
  readonly sort: string;
  readonly setSort: (sort: string) => void;
  /** What stands behind a value, a tag. */
  readonly mark?: (row: Row, column: string) => ComponentChildren;
  /** Rows at the end that stay in sight. */
  readonly feet: readonly Foot[];
}

export interface Foot {
  readonly title: string;
  /** A text, or something with its reason. */
  readonly cell: (column: ReportColumn) => ComponentChildren;
}

export function Grid({ label, columns, rows, sort, setSort, mark, feet }: GridProps) {
  const frame = useRef<HTMLElement>(null);
  const { from, to } = useSeen(frame, Math.min(rows.length, MOST_ROWS), rows);
  const total = Math.min(rows.length, MOST_ROWS);
  const width = columns.reduce((sum, column) => sum + column.width, 0);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the arrow keys would not scroll it
    <section ref={frame} class="table-frame grid-frame" aria-label={label} tabIndex={0}>
      <table
        class="grid-table"
        aria-rowcount={total + 1 + feet.length}
        aria-colcount={columns.length}
        style={{ minWidth: `${width}ch` }}
      >
        <colgroup>
          {columns.map(({ name, width: one }) => (
            <col key={name} style={{ width: `${(one / width) * 100}%` }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <Head key={column.name} column={column} sort={sort} setSort={setSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          <Space rows={from} columns={columns.length} />
          {rows.slice(from, to).map((row, index) => (
            <tr key={from + index} aria-rowindex={from + index + 2} class="line">
              {columns.map(({ name, numeric }) => {
                const text = shown(row[name], numeric);
                return (
                  <td key={name} class={numeric ? 'number' : ''} title={text.length > 20 ? text : undefined}>
                    <bdi>{text}</bdi>
                    {mark?.(row, name)}
                  </td>
                );
              })}
            </tr>
          ))}
          <Space rows={total - to} columns={columns.length} />
        </tbody>
        <Feet feet={feet} columns={columns} first={total + 2} />
      </table>
    </section>
  );
}

/** The rows that are in sight, with some before and after them. */
function useSeen(frame: { readonly current: HTMLElement | null }, total: number, rows: readonly Row[]) {
  const [range, setRange] = useState({ from: 0, to: Math.min(total, 40) });
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const look = () => {
      const first = Math.floor(element.scrollTop / ROW);
      const seen = Math.ceil(element.clientHeight / ROW);
      // In steps, so that a pixel of scrolling changes nothing.
      const from = Math.max(0, Math.floor((first - MARGIN) / 6) * 6);
      const to = Math.min(total, first + seen + 2 * MARGIN);
      setRange((was) => (was.from === from && was.to === to ? was : { from: Math.min(from, total), to }));
    };
    look();
    const watcher = new ResizeObserver(look);
    watcher.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      watcher.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [frame, total]);
  // Other rows, or in another order, are looked at from their beginning.
  useLayoutEffect(() => {
    if (frame.current !== null) frame.current.scrollTop = 0;
  }, [frame, rows]);
  return { from: Math.min(range.from, total), to: Math.min(range.to, total) };
}

function Space({ rows, columns }: { readonly rows: number; readonly columns: number }) {
  if (rows <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus; rows count themselves by aria-rowindex
    <tr class="space" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${rows * ROW}px` }} />
    </tr>
  );
}

function Feet({
  feet,
  columns,
  first,
}: {
  readonly feet: readonly Foot[];
  readonly columns: readonly ReportColumn[];
  readonly first: number;
}) {
  if (feet.length === 0) return null;
  return (
    <tfoot>
      {feet.map(({ title, cell }, index) => (
        <tr key={title} aria-rowindex={first + index}>
          {columns.map((column, place) =>
            place === 0 ? (
              <th key={column.name} scope="row">
                {title}
              </th>
            ) : (
              <td key={column.name} class={column.numeric ? 'number' : ''}>
                {cell(column)}
              </td>
            ),
          )}
        </tr>
      ))}
    </tfoot>
  );
}

interface HeadProps {
  readonly column: ReportColumn;
  readonly sort: string;
  readonly setSort: (sort: string) => void;
}

/** Once: the largest of numbers, the first of texts; again: the other way; then as the rows came. */
function Head({ column: { name, title, numeric }, sort, setSort }: HeadProps) {
  const [first, second] = numeric ? [`-${name}`, name] : [name, `-${name}`];
  const next = sort === first ? second : sort === second ? '' : first;
  const state = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : 'none';
  return (
    <th scope="col" class={numeric ? 'number' : ''} aria-sort={state}>
      <button type="button" class="plain sort" onClick={() => setSort(next)}>
        <bdi>{title}</bdi>
        <span aria-hidden="true">{state === 'none' ? '' : state === 'ascending' ? '↑' : '↓'}</span>
      </button>
    </th>
  );
}
