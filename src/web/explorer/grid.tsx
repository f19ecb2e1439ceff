/** The rows of a report; head and sums stay visible. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { SortHead } from '../ui/data-table.js';
import { ScrollFrame } from '../ui/scroll-frame.js';
import type { ReportColumn } from './columns.js';
import type { Row } from './parse.js';

/** More rows would freeze the page; a filter finds others, and CSV has all. */
export const MOST_ROWS = 5_000;

/** Above this number, invisible rows are not laid out. */
const LONG = 300;

/** Room for a name on a wide page, approximate characters. */
const LEAST_NAME = 16;

interface GridProps {
  readonly label: string;
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly Row[];
  readonly sort: string;
  readonly setSort: (sort: string) => void;
  readonly write: (row: Row, column: ReportColumn) => CellText;
  /** A tag after a value. */
  readonly mark: (row: Row, column: ReportColumn) => ComponentChildren;
  /** Sticky rows at the end. */
  readonly feet: readonly Foot[];
  /** Columns at the start that stay in view. */
  readonly held: 1 | 2;
}

export interface CellText {
  readonly text: string;
  /** What the text leaves out. */
  readonly exact?: string | undefined;
}

export interface Foot {
  readonly title: string;
  /** Null: there is no sum. */
  readonly text: (column: ReportColumn) => string | null;
}

const styleOf = ({ numeric }: ReportColumn) => (numeric ? 'number' : '');

export function Grid({ label, columns, rows, sort, setSort, write, mark, feet, held }: GridProps) {
  const frame = useRef<HTMLElement>(null);
  // Other rows, or another order, start at the top.
  useLayoutEffect(() => frame.current?.scrollTo(0, 0), [rows]);
  // Long names are cut before a measure is out of view; their titles have the whole.
  const leastOf = ({ name, numeric, width }: ReportColumn) =>
    held === 2 || numeric || name === 'date' ? width : Math.min(width, LEAST_NAME);
  const width = columns.reduce((sum, column) => sum + leastOf(column), 0);
  const tracks = columns.map((column) => `minmax(${leastOf(column)}ch, ${column.width}fr)`).join(' ');
  return (
    <ScrollFrame frame={frame} class="grid-frame" label={label}>
      <table
        class={`grid-table hold-${held} ${rows.length > LONG ? 'long' : ''}`}
        style={{ minWidth: `${width}ch`, '--tracks': tracks, '--first': `${columns[0]?.width ?? 0}ch` }}
      >
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.name} column={column} sort={sort} setSort={setSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((row, index) => (
            <tr key={index} class="line">
              {columns.map((column) => {
                const { text, exact = text.length > LEAST_NAME - 4 ? text : undefined } = write(row, column);
                return (
                  <td key={column.name} class={styleOf(column)} title={exact}>
                    <bdi>{text}</bdi>
                    {mark(row, column)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
        <tfoot>
          {feet.map(({ title, text }) => (
            <tr key={title}>
              <th scope="row">{title}</th>
              {columns.slice(1).map((column) => (
                <td key={column.name} class={styleOf(column)}>
                  {column.numeric ? <FootCell column={column} text={text(column)} /> : null}
                </td>
              ))}
            </tr>
          ))}
        </tfoot>
      </table>
    </ScrollFrame>
  );
}

function FootCell({
  column: { noSum },
  text,
}: {
  readonly column: ReportColumn;
  readonly text: string | null;
}) {
  if (noSum === null) return text || '–';
  return (
    <span class={text === null ? 'quiet' : undefined} title={noSum}>
      {text ?? 'no sum'}
    </span>
  );
}

interface HeadProps extends Pick<GridProps, 'sort' | 'setSort'> {
  readonly column: ReportColumn;
}

/** Clicks cycle: numbers descending or texts ascending, reversed, unsorted. */
function Head({ column: { name, title, numeric }, sort, setSort }: HeadProps) {
  const [first, second] = numeric ? [`-${name}`, name] : [name, `-${name}`];
  const next = sort === first ? second : sort === second ? '' : first;
  const state = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : 'none';
  return <SortHead title={title} numeric={numeric} sort={state} toggle={() => setSort(next)} />;
}
