/** The reports of several advertisers together: how far they are, each one's totals, then chart and rows of all. */
import { useMemo } from 'preact/hooks';
import { wordsOf } from '../ui/api.js';
import { type Column, DataTable } from '../ui/data-table.js';
import { counted } from '../ui/format.js';
import { Card, Empty, Name } from '../ui/parts.js';
import { hrefOf } from '../ui/route.js';
import { inWords } from './against.js';
import { AgainstLine } from './against-line.js';
import { columnsOf, MIXED, type ReportColumn, shown, sumOf } from './columns.js';
import { CompareReport } from './compare-report.js';
import { CopyLink } from './copy-link.js';
import { useIsForbidden } from './forbidden.js';
import type { Report } from './parse.js';
import { addressOf, eachOf, type Viewed } from './question.js';
import { ChartAndRows } from './report-answer.js';
import { combine, currenciesIn, type Part, partTotal } from './several.js';
import { SeveralCsv } from './several-csv.js';
import { Progress } from './several-progress.js';
import { type AdvertiserNames, useNames } from './team.js';
import { isOpen, type Load, type Several, useSeveral } from './use-several.js';

export function SeveralAnswer(props: Viewed) {
  const { question } = props;
  const several = useSeveral(question);
  const names = useNames();
  const parts = useMemo(
    () =>
      several.loads.flatMap((load): Part[] =>
        load.is === 'loaded' ? [{ id: load.id, name: nameOf(load, names), report: load.report }] : [],
      ),
    [several.loads, names],
  );
  const report = useMemo(() => (parts.length === 0 ? null : combine(parts)), [parts]);
  const [first, ...others] = parts.map(({ id }) => id);
  const isDone = !several.loads.some(isOpen);
  return (
    <>
      <Card>
        <div class="toolbar">
          <div>
            <h2>{report === null ? 'Several advertisers' : titleOf(report)}</h2>
            <p class="small quiet">
              {counted(parts.length, 'advertiser')}
              {report === null ? '' : `, ${counted(report.meta.rowCount, 'row')}`}
            </p>
          </div>
          <div class="tools">
            <CopyLink />
            {isDone && parts.length > 0 ? <SeveralCsv question={question} parts={parts} /> : null}
          </div>
        </div>
        <Progress several={several} nameOf={(id) => names.get(id) ?? id} />
        <AdvertisersTable {...props} several={several} parts={parts} names={names} />
        <p class="small quiet">
          What changed, code, pins and the state of the cache are of one advertiser: open one by its name.
        </p>
        <AgainstLine {...props} />
      </Card>
      {report === null || first === undefined ? null : (
        <>
          {isDone ? (
            <CompareReport
              {...props}
              question={{ ...question, advertiserId: first, others }}
              report={report}
            />
          ) : null}
          {report.rows.length === 0 ? (
            <Empty>The platform has no rows for this query.</Empty>
          ) : (
            <ChartAndRows {...props} report={report} />
          )}
        </>
      )}
    </>
  );
}

function titleOf({ meta: { period } }: Report): string {
  const { from = null, to = null } = period ?? {};
  return from === null || to === null ? 'Period chosen by the platform' : inWords({ from, to });
}

/** The name in the rows, else the one that the gateway has seen. */
function nameOf(load: Load, names: AdvertiserNames): string | null {
  const told = load.is === 'loaded' ? load.report.rows[0]?.advertiserName : undefined;
  return typeof told === 'string' ? told : (names.get(load.id) ?? null);
}

/** A line of the table: an advertiser, or the sum of one currency. */
interface TableRow {
  readonly key: string;
  readonly load: Load | null;
  readonly title: string;
  readonly values: Readonly<Record<string, number | null>>;
}

interface TableProps extends Pick<Viewed, 'question' | 'view'> {
  readonly several: Several;
  readonly names: AdvertiserNames;
  readonly parts: readonly Part[];
}

function AdvertisersTable({ question, view, several, names, parts }: TableProps) {
  const isForbidden = useIsForbidden();
  const measures = useMemo(
    () => columnsOf(parts.flatMap(({ report }) => report.rows)).filter(({ numeric }) => numeric),
    [parts],
  );
  const valuesOf = (of: (column: ReportColumn) => number | null) =>
    Object.fromEntries(measures.map((column) => [column.name, of(column)]));
  const rows = several.loads.map((load): TableRow => {
    const part = parts.find(({ id }) => id === load.id);
    return {
      key: load.id,
      load,
      title: nameOf(load, names) ?? `Advertiser ${load.id}`,
      values: valuesOf((column) => (part === undefined ? null : partTotal(part, column))),
    };
  });
  const alone = (id: string) => {
    const one = eachOf(question).find(({ advertiserId }) => advertiserId === id) ?? question;
    return hrefOf(['report'], addressOf(one, view));
  };
  const why = (load: Load | null) => {
    if (load === null || load.is === 'loaded') return null;
    if (load.is !== 'failed') return WORDS[load.is];
    return isForbidden(load.error, load.id) ? 'Your team may not see it.' : wordsOf(load.error);
  };
  const columns: Column<TableRow>[] = [
    {
      title: 'Advertiser',
      by: ({ title }) => title,
      cell: ({ load, title }) => (
        <span>
          {load === null ? (
            title
          ) : (
            <a href={alone(load.id)}>
              <Name>{title}</Name>
            </a>
          )}{' '}
          <span class={`small ${load?.is === 'failed' ? 'fault' : 'quiet'}`}>
            {load?.is === 'loaded' ? load.id : why(load)}
          </span>
        </span>
      ),
    },
    ...measures.map(
      ({ name, title, noSum }): Column<TableRow> => ({
        title,
        numeric: true,
        by: ({ values }) => values[name] ?? null,
        cell: ({ load, values }) => {
          const value = values[name] ?? null;
          if (value !== null) return shown(value, true);
          return load === null ? <span title={noSum ?? undefined}>no sum</span> : '–';
        },
      }),
    ),
  ];
  const noSums = measures.filter(({ noSum }) => noSum !== null && noSum !== MIXED);
  return (
    <>
      <DataTable
        caption="Advertisers"
        rows={rows}
        keyOf={({ key }) => key}
        columns={columns}
        feet={sumsOf(parts, measures)}
      />
      {noSums.length === 0 ? null : (
        <p class="small quiet">
          {noSums.map(({ title }) => title).join(', ')}: each advertiser has the platform’s own total. There
          is none for several: one person may be reached by several advertisers, and rates do not add up.
        </p>
      )}
    </>
  );
}

const WORDS = { waiting: 'waits', loading: 'is asked …', stopped: 'not asked' } as const;

/** One line, or one for each currency. */
function sumsOf(parts: readonly Part[], measures: readonly ReportColumn[]): TableRow[] {
  const rows = parts.flatMap(({ report }) => report.rows);
  if (parts.length < 2 || rows.length === 0) return [];
  const currencies = currenciesIn(rows);
  const sum = (key: string, title: string, of: typeof rows): TableRow => ({
    key,
    load: null,
    title,
    values: Object.fromEntries(
      measures.map(({ name, noSum }) => [name, noSum === null || noSum === MIXED ? sumOf(of, name) : null]),
    ),
  });
  if (currencies.length < 2) return [sum('sum', ['Sum', ...currencies].join(', '), rows)];
  return currencies.map((one) =>
    sum(
      `sum ${one}`,
      `Sum, ${one}`,
      rows.filter(({ currency }) => currency === one),
    ),
  );
}
