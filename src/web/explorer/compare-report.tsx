/** The report compared with another period, by group and measure. */
import { useMemo } from 'preact/hooks';
import { Chart } from '../ui/chart.js';
import { type Column, DataTable } from '../ui/data-table.js';
import { compact, count, counted } from '../ui/format.js';
import { Card, Empty, Name, Tag, Wait } from '../ui/parts.js';
import { inWords, otherPeriod, periodsInWords } from './against.js';
import { columnsOf, type ReportColumn, shown } from './columns.js';
import { type Change, type ComparedGroup, compareGroups, compareTotals, dayValues } from './compare.js';
import type { Report } from './parse.js';
import { advertisersOf, daysOf, type Period, type Viewed } from './question.js';
import { combine, type Part } from './several.js';
import { Progress } from './several-progress.js';
import { useReport } from './use-report.js';
import { isOpen, useSeveral } from './use-several.js';

interface CompareProps extends Viewed {
  /** Of all advertisers of the question. */
  readonly report: Report;
}

export function CompareReport(props: CompareProps) {
  const { report, view } = props;
  const { from = null, to = null } = report.meta.period ?? {};
  if (view.against === '') return null;
  const now = from === null || to === null ? null : { from, to };
  const before = now === null ? null : otherPeriod(view, now);
  if (now === null || before === null) return <p class="note info">{faultOf(props, now)}</p>;
  const question = { ...props.question, period: '', dateFrom: before.from, dateTo: before.to };
  const Other = question.others.length === 0 ? OfOne : OfSeveral;
  return (
    <Card title={`Compared with ${inWords(before)}`}>
      <p class="small quiet">{periodsInWords(view, now, before)}</p>
      <Other {...props} question={question} now={now} before={before} />
    </Card>
  );
}

function faultOf({ view: { against, otherFrom, otherTo } }: CompareProps, now: Period | null): string {
  if (now === null) return 'The platform chose the period of this report, so there is none to compare with.';
  if (against !== 'custom') return 'There is no such period to compare with: select another one above.';
  if (otherFrom === '') return 'Enter the first day to compare with.';
  return otherFrom > otherTo
    ? 'The last day to compare with is before the first one.'
    : 'Enter days to compare with.';
}

type PeriodsProps = CompareProps & Readonly<Record<'now' | 'before', Period>>;

function OfOne(props: PeriodsProps) {
  const loaded = useReport(props.question);
  return (
    <Wait of={loaded} looking="Loading the other period …">
      {(other) => <Both {...props} other={other} />}
    </Wait>
  );
}

/** Of the advertisers that both periods have. */
function OfSeveral(props: PeriodsProps) {
  const { question, report } = props;
  const several = useSeveral(question);
  const parts = useMemo(
    () =>
      several.loads.flatMap((load): Part[] =>
        load.is === 'loaded' ? [{ id: load.id, name: null, report: load.report }] : [],
      ),
    [several.loads],
  );
  const both = useMemo(() => {
    if (parts.length === 0) return null;
    const ids = new Set(parts.map(({ id }) => id));
    const rows = report.rows.filter(({ advertiserId }) => ids.has(String(advertiserId)));
    return { now: { ...report, rows }, other: combine(parts) };
  }, [parts, report]);
  const missing = advertisersOf(question).length - parts.length;
  return (
    <>
      <Progress several={several} nameOf={(id) => nameIn(report, id)} />
      {several.loads.some(isOpen) || both === null ? null : (
        <>
          {missing === 0 ? null : (
            <p class="note warn">
              Without {counted(missing, 'advertiser')} whose other period is not loaded, in both periods.
            </p>
          )}
          <Both {...props} report={both.now} other={both.other} />
        </>
      )}
    </>
  );
}

const nameIn = ({ rows }: Report, id: string): string => {
  const name = rows.find(({ advertiserId }) => String(advertiserId) === id)?.advertiserName;
  return typeof name === 'string' ? name : id;
};

interface BothProps extends PeriodsProps {
  readonly other: Report;
}

function Both({ view, ...both }: BothProps) {
  const { report, other } = both;
  const { measures, groups } = useMemo(() => {
    const all = columnsOf([...report.rows, ...other.rows]).filter(({ numeric }) => numeric);
    const names = all.map(({ name }) => name);
    return { measures: all, groups: compareGroups(report.rows, other.rows, report.meta.split, names) };
  }, [report, other]);
  const chosen = measures.find(({ name }) => name === view.metric) ?? measures[0];
  if (chosen === undefined) return <Empty>Neither period has rows.</Empty>;
  const total = compareTotals(report, other, measures);
  // The chosen one is next to the groups.
  const ordered = [chosen, ...measures.filter((one) => one !== chosen)];
  return (
    <>
      <Totals {...both} column={chosen} change={total.changes[chosen.name]} />
      {report.meta.split.includes('date') ? <Overlay {...both} column={chosen} /> : null}
      <ChangesTable groups={groups} total={total} measures={ordered} />
    </>
  );
}

type OfColumn = Omit<BothProps, 'view'> & { readonly column: ReportColumn };

/** The measure, its unit, both totals and their difference in a sentence. */
function Totals({ report, column, now, before, change }: OfColumn & { readonly change: Change | undefined }) {
  const { now: here = null, before: there = null, diff = null, percent = null } = change ?? {};
  const measure = <strong>{nameOf(column, report)}</strong>;
  if (here === null || there === null)
    return (
      <p>
        {measure}: {whyNoTotal(column, here, there, inWords(before))}
      </p>
    );
  return (
    <p>
      {measure}: {written(here)} from {inWords(now)}; {written(there)} from {inWords(before)};{' '}
      {diff === 0 ? 'no difference' : `${written(Math.abs(diff ?? 0))} ${(diff ?? 0) < 0 ? 'less' : 'more'}`}
      {percent === null || diff === 0 ? '' : ` (${share.format(percent)} %)`}.
    </p>
  );
}

function whyNoTotal(column: ReportColumn, here: number | null, there: number | null, other: string): string {
  if (column.noSum !== null) return `no total for both periods. ${column.noSum}`;
  if (here === null && there === null) return 'neither period has rows.';
  return here === null
    ? `${written(there)} from ${other}; this period has no rows.`
    : `${written(here)} in this period; no rows from ${other}.`;
}

/** With the currency of money. */
function nameOf({ title }: ReportColumn, _report: Report): string {
  return title;
}

function Overlay({ report, other, column, now, before }: OfColumn) {
  const { times, lines } = useMemo(() => {
    const days = daysOf(now);
    const earlier = dayValues(other.rows, daysOf(before), column);
    return {
      times: days.map((day) => Date.parse(day) / 1000),
      lines: [
        { title: inWords(now), color: '--c1', values: dayValues(report.rows, days, column) },
        {
          title: inWords(before),
          color: '--c3',
          dashed: true,
          values: days.map((_, index) => earlier[index] ?? null),
        },
      ],
    };
  }, [report, other, column, now.from, now.to, before.from, before.to]);
  if (lines.every(({ values }) => values.every((value) => value === null)))
    return <Empty>{`${column.title} cannot be shown for all rows. ${column.noSum ?? ''}`}</Empty>;
  return (
    <>
      <h3>{nameOf(column, report)}, by day</h3>
      <Chart
        label={`${nameOf(column, report)} by day in both periods, side by side from their first days`}
        times={times}
        lines={lines}
        height={220}
        format={compact}
      />
    </>
  );
}

const MOST_GROUPS = 200;

interface ChangesTableProps {
  readonly groups: readonly ComparedGroup[];
  /** Includes groups that are not shown. */
  readonly total: ComparedGroup;
  readonly measures: readonly ReportColumn[];
}

function ChangesTable({ groups, total, measures }: ChangesTableProps) {
  const columns = measures.map(
    ({ name, title }): Column<ComparedGroup> => ({
      title,
      numeric: true,
      cell: ({ changes }) => <ChangeCell change={changes[name]} />,
      by: ({ changes }) => changes[name]?.diff ?? null,
    }),
  );
  return (
    <>
      <DataTable
        caption="Changes by group"
        rows={groups.slice(0, MOST_GROUPS)}
        keyOf={({ key }) => `group ${key}`}
        columns={[{ title: 'Group', cell: titled, by: ({ title }) => title }, ...columns]}
        feet={[total]}
      />
      <p class="small quiet">
        A dash means no row, or no sum. Totals are the platform’s own for each period, else the sum of the
        rows, if there is one.
        {groups.length > MOST_GROUPS
          ? ` The first ${count(MOST_GROUPS)} of ${count(groups.length)} groups.`
          : ''}
      </p>
    </>
  );
}

const titled = ({ title, in: where }: ComparedGroup) => (
  <>
    <Name>{title || 'all'}</Name>{' '}
    {where === 'both' ? null : <Tag tone="info">{where === 'now' ? 'new' : 'gone'}</Tag>}
  </>
);

const signed = (maximumFractionDigits: number) =>
  new Intl.NumberFormat('en-US', { maximumFractionDigits, signDisplay: 'exceptZero' });
const [change, share] = [signed(2), signed(1)];

const written = (value: number | null) => shown(value, true) || '–';

function ChangeCell({ change: known }: { readonly change: Change | undefined }) {
  const { now = null, before = null, diff = null, percent = null } = known ?? {};
  if (now === null && before === null) return <>–</>;
  const was = `before: ${written(before)}`;
  return (
    <span title={was}>
      {written(now)}
      <br />
      <span class="small quiet">
        {diff === null ? was : change.format(diff)}
        {percent === null ? '' : ` (${share.format(percent)} %)`}
      </span>
    </span>
  );
}
