/** Each advertiser of a report of several: its state, and the platform's own totals; below them sums of each currency. */
import { useMemo } from 'preact/hooks';
import { wordsWithId } from '../ui/api.js';
import { type Column, DataTable } from '../ui/data-table.js';
import { Name } from '../ui/parts.js';
import {
  chosenFirst,
  currencyOf,
  exactly,
  inOneCurrency,
  MIXED,
  type ReportColumn,
  written,
} from './columns.js';
import { totalOf } from './compare.js';
import { useIsForbidden } from './forbidden.js';
import { allColumnsOf, valueOver } from './measures.js';
import { isNotKnownThen } from './not-known-then.js';
import { differsRounded, ROUNDED, ROUNDED_SIGN } from './numbers.js';
import type { Row } from './parse.js';
import { AwayWords, isAway } from './platform-away.js';
import { ofOne, reportHref, type Viewed } from './question.js';
import { currenciesIn, type Part } from './several.js';
import type { Load } from './use-several.js';

interface TableProps extends Pick<Viewed, 'question' | 'view' | 'about'> {
  readonly loads: readonly Load[];
  /** Those that are loaded. */
  readonly parts: readonly Part[];
}

/** An advertiser, or the sum of one currency. */
interface Line {
  readonly key: string;
  /** Null: a sum. */
  readonly load: Load | null;
  readonly title: string;
  readonly currency: string | null;
  readonly valueOf: (column: ReportColumn) => number | null;
}

export function AdvertisersTable(props: TableProps) {
  const { view, loads, parts } = props;
  const measures = useMemo(
    () => chosenFirst(allColumnsOf(parts.flatMap(({ report }) => report.rows)).measures, view.metric),
    [parts, view.metric],
  );
  const columns: Column<Line>[] = [
    { title: 'Advertiser', by: ({ title }) => title, cell: (line) => <Advertiser {...props} line={line} /> },
    ...measures.map(
      (column): Column<Line> => ({
        title: column.title,
        numeric: true,
        by: (line) => line.valueOf(column),
        cell: (line) => (
          <span>
            <Value line={line} column={column} />
            {line.load === null && isRounded(line, column) ? ROUNDED_SIGN : null}
          </span>
        ),
      }),
    ),
  ];
  const lines = loads.map((load) => lineOf(load, props));
  const sums = sumsOf(props);
  const ofIts = (sum: Line) => lines.filter(({ currency }) => sums.length === 1 || currency === sum.currency);
  const isRounded = (sum: Line, column: ReportColumn) =>
    column.ratio === null &&
    differsRounded(
      ofIts(sum).map((line) => line.valueOf(column)),
      sum.valueOf(column),
      column.unit,
    );
  const hasRounded = sums.some((sum) => measures.some((column) => isRounded(sum, column)));
  const noSums = measures.filter(({ noSum }) => noSum !== null && noSum !== MIXED);
  return (
    <>
      <DataTable caption="Advertisers" rows={lines} keyOf={({ key }) => key} columns={columns} feet={sums} />
      {hasRounded ? <p class="small quiet">{ROUNDED}</p> : null}
      {noSums.length === 0 ? null : (
        <p class="small quiet">
          {noSums.map(({ title }) => title).join(', ')}: the platform’s own for each advertiser, and no sum. A
          person may be reached by several of them.
        </p>
      )}
    </>
  );
}

function lineOf(load: Load, { parts, about: { nameOf, currency } }: TableProps): Line {
  const { report, name = nameOf(load.id) } = parts.find(({ id }) => id === load.id) ?? {};
  return {
    key: load.id,
    load,
    title: name ?? `Advertiser ${load.id}`,
    currency: report === undefined ? null : currencyOf(report.rows, currency),
    valueOf: (column) => (report === undefined ? null : totalOf(report, inOneCurrency(column))),
  };
}

/** One line, or one for each currency and for rows that tell none. */
function sumsOf({ parts, about: { currency } }: TableProps): Line[] {
  const rows = parts.flatMap(({ report }) => report.rows);
  if (parts.length < 2 || rows.length === 0) return [];
  const sum = (title: string, of: readonly Row[], its: string | null): Line => ({
    key: title,
    load: null,
    title,
    currency: its,
    valueOf: (column) => {
      const summable = inOneCurrency(column);
      return summable.noSum === null ? valueOver(of, summable) : null;
    },
  });
  const currencies = currenciesIn(rows);
  const untold = rows.filter(({ currency: told }) => !currencies.some((one) => one === told));
  if (currencies.length === 0 || (currencies.length === 1 && untold.length === 0))
    return [sum('Sum', rows, currencyOf(rows, currency))];
  const told = currencies.map((one) =>
    sum(
      `Sum, ${one}`,
      rows.filter((row) => row.currency === one),
      one,
    ),
  );
  return untold.length === 0 ? told : [...told, sum('Sum, no currency told', untold, currency)];
}

function Value({ line, column }: { readonly line: Line; readonly column: ReportColumn }) {
  const value = line.valueOf(column);
  if (value !== null)
    return <span title={exactly(value, column, line.currency)}>{written(value, column, line.currency)}</span>;
  if (line.load !== null || column.noSum === null) return <>–</>;
  return (
    <span class="quiet" title={column.noSum}>
      no sum
    </span>
  );
}

const WORDS = { waiting: 'waits', loading: 'is asked …', stopped: 'not asked' } as const;

/** Leads to its own report, which has what several lack. */
function Advertiser({ question, view, line: { load, title } }: TableProps & { readonly line: Line }) {
  const isForbidden = useIsForbidden();
  if (load === null) return <>{title}</>;
  const words =
    load.is === 'loaded'
      ? ''
      : load.is !== 'failed'
        ? WORDS[load.is]
        : isForbidden(load.error, load.id)
          ? 'Your team may not see it.'
          : isNotKnownThen(load.error)
            ? load.error.problem.detail
            : isAway(load.error, question)
              ? null
              : wordsWithId(load.error);
  return (
    <span>
      <a href={reportHref(ofOne(question, load.id), view)}>
        <Name>{title}</Name>
      </a>{' '}
      <span class="small quiet">{load.id}</span>{' '}
      <span class={load.is === 'failed' ? 'small fault' : 'small quiet'}>
        {load.is === 'failed' && isAway(load.error, question) ? (
          <AwayWords error={load.error} />
        ) : (
          <bdi>{words}</bdi>
        )}
      </span>
    </span>
  );
}
