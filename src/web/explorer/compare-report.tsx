/** The report compared with another period, by group and measure. */
import { useMemo } from 'preact/hooks';
import { Chart } from '../ui/chart.js';
import { type Column, DataTable } from '../ui/data-table.js';
import { Card, Empty, Name, Tag, Wait } from '../ui/parts.js';
import { otherPeriod, periodsInWords } from './against.js';
import { chosenFirst, currencyOf, exactly, type ReportColumn, titleOf, written } from './columns.js';
import { type Change, type ComparedGroup, compareGroups, compareTotals, spanValues } from './compare.js';
import { allColumnsOf } from './measures.js';
import { counted, numbers } from './numbers.js';
import type { Report } from './parse.js';
import { advertisersOf, type Period, type Viewed } from './question.js';
import { combine } from './several.js';
import { Progress } from './several-progress.js';
import { besideSpans, periodWords, spanIn, spansOf, toldDays } from './spans.js';
import { useReport } from './use-report.js';
import { isOpen, partsOf, useSeveral } from './use-several.js';

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
    <Card title={`Compared with ${periodWords(before)}`}>
      <p class="small quiet">{periodsInWords(view, now, before)}</p>
      <Other {...props} question={question} now={now} before={before} />
    </Card>
  );
}

function faultOf({ view: { against, otherFrom, otherTo } }: CompareProps, now: Period | null): string {
  if (now === null) return 'The platform chose the period of this report, so there is none to compare with.';
  if (against !== 'custom') return 'There is no such period to compare with: select another one above.';
  if (otherFrom === '') return 'Enter the first day to compare with.';
  return otherTo !== '' && otherFrom > otherTo
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
  const { question, report, about } = props;
  const several = useSeveral(question);
  const parts = useMemo(() => partsOf(several.loads, about.nameOf), [several.loads, about.nameOf]);
  const both = useMemo(() => {
    if (parts.length === 0) return null;
    const ids = new Set(parts.map(({ id }) => id));
    const rows = report.rows.filter(({ advertiserId }) => ids.has(String(advertiserId)));
    return { now: { ...report, rows }, other: combine(parts) };
  }, [parts, report]);
  const missing = advertisersOf(question).length - parts.length;
  return (
    <>
      <Progress several={several} nameOf={about.nameOf} mayCome />
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

interface BothProps extends PeriodsProps {
  readonly other: Report;
}

function Both(both: BothProps) {
  const { report, other, view } = both;
  const { measures, groups, currency } = useMemo(() => {
    const rows = [...report.rows, ...other.rows];
    const { measures } = allColumnsOf(rows);
    return {
      measures,
      currency: currencyOf(rows, both.about.currency),
      groups: compareGroups(report.rows, other.rows, report.meta.split, measures),
    };
  }, [report, other, both.about.currency]);
  // The chosen one is next to the groups.
  const ordered = chosenFirst(measures, view.metric);
  const [chosen] = ordered;
  if (chosen === undefined) return <Empty>Neither period has rows.</Empty>;
  const total = compareTotals(report, other, measures);
  return (
    <>
      <Totals {...both} column={chosen} currency={currency} change={total.changes.get(chosen.name)} />
      {report.meta.split.includes('date') ? <Overlay {...both} column={chosen} currency={currency} /> : null}
      <ChangesTable groups={groups} total={total} measures={ordered} currency={currency} />
    </>
  );
}

interface OfColumn extends BothProps {
  readonly column: ReportColumn;
  /** Of all rows; null: unknown, or they have several. */
  readonly currency: string | null;
}

/** The measure, its unit, both totals and their difference in a sentence. */
function Totals(props: OfColumn & { readonly change: Change | undefined }) {
  const { column, currency, now, before, change } = props;
  const { now: here = null, before: there = null, diff = null, percent = null } = change ?? {};
  const text = (value: number | null) => written(value, column, currency);
  const both = `${text(here)} from ${periodWords(now)}; ${text(there)} from ${periodWords(before)}`;
  return (
    <p>
      <strong>{unitWords(column, currency)}</strong>:{' '}
      {diff === null
        ? whyNoTotal(column, here, there, text)
        : `${both}; ${differenceIn(diff, percent, column, text)}.`}
    </p>
  );
}

/** `Spent, USD` */
function unitWords({ title, unit }: ReportColumn, currency: string | null): string {
  if (unit === 'money') return currency === null ? title : `${title}, ${currency}`;
  return unit === 'share' ? `${title}, %` : title;
}

function differenceIn(
  diff: number,
  percent: number | null,
  { unit }: ReportColumn,
  text: (value: number) => string,
): string {
  if (diff === 0) return 'no difference';
  const size = Math.abs(diff);
  const words = unit === 'share' ? `${numbers.full(size, unit, null)} points` : text(size);
  return `${words} ${diff < 0 ? 'less' : 'more'}${percent === null ? '' : ` (${signedShare(percent)})`}`;
}

const signedShare = (percent: number): string => `${numbers.signed(percent, 1)} %`;

function whyNoTotal(
  { noSum }: ReportColumn,
  here: number | null,
  there: number | null,
  text: (value: number) => string,
): string {
  if (noSum !== null) return `no total of both periods. ${noSum}`;
  const now = here === null ? 'none' : text(here);
  return `${now} in this period; ${there === null ? 'none' : text(there)} in the other.`;
}

/** By day, week or month of this period; beside each stand the days of the other period at the same places. */
function Overlay({ report, other, column, currency, now, before, view }: OfColumn) {
  const by = spanIn(view.by);
  const { times, steps, lines } = useMemo(() => {
    const spans = spansOf(now, by);
    const there = besideSpans(spans, before);
    return {
      times: spans.map(({ start }) => Date.parse(start) / 1000),
      steps: {
        title: titleOf(by),
        of: spans.map(({ title, short, part }, index) => ({
          title: `${title}${part === null ? '' : ` (${part})`}, compared with ${toldDays(there[index])}`,
          short,
        })),
      },
      lines: [
        {
          title: periodWords(now),
          color: '--c1',
          values: spanValues(
            report.rows,
            spans.map(({ days }) => days),
            column,
          ),
        },
        {
          title: periodWords(before),
          color: '--c3',
          dashed: true,
          values: spanValues(other.rows, there, column),
        },
      ],
    };
  }, [report, other, column, by, now.from, now.to, before.from, before.to]);
  if (lines.every(({ values }) => values.every((value) => value === null)))
    return (
      <Empty>
        {column.title} cannot be shown for all rows. {column.noSum}
        {by === 'day' || column.noSum === null
          ? ''
          : ` So there is none by ${by}; choose Day in the chart below.`}
      </Empty>
    );
  const { unit, ratio } = column;
  const words = unitWords(column, currency);
  return (
    <>
      <h3>
        {words}, by {by}
      </h3>
      <Chart
        label={`${words} by ${by} in both periods`}
        times={times}
        steps={steps}
        lines={lines}
        height={220}
        format={(value) => numbers.short(value, unit, currency)}
        exact={(value) => numbers.full(value, unit, currency)}
        absent={ratio === null ? 'no row' : 'no value'}
        whole={unit === 'number' && ratio === null}
      />
      {by === 'day' ? null : (
        <p class="small quiet">
          Each {by} stands beside as many days of the other period, from the same place in it.
        </p>
      )}
    </>
  );
}

const MOST_GROUPS = 200;

interface ChangesTableProps {
  readonly groups: readonly ComparedGroup[];
  /** Includes groups that are not shown. */
  readonly total: ComparedGroup;
  readonly measures: readonly ReportColumn[];
  readonly currency: string | null;
}

function ChangesTable({ groups, total, measures, currency }: ChangesTableProps) {
  const columns = measures.map(
    (column): Column<ComparedGroup> => ({
      title: column.title,
      numeric: true,
      cell: ({ changes }) => (
        <ChangeCell change={changes.get(column.name)} column={column} currency={currency} />
      ),
      by: ({ changes }) => changes.get(column.name)?.diff ?? null,
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
          ? ` The first ${numbers.whole(MOST_GROUPS)} of ${numbers.whole(groups.length)} groups.`
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

interface ChangeCellProps extends Pick<OfColumn, 'column' | 'currency'> {
  readonly change: Change | undefined;
}

function ChangeCell({ change, column, currency }: ChangeCellProps) {
  const { now = null, before = null, diff = null, percent = null } = change ?? {};
  if (now === null && before === null) return <>–</>;
  const text = (value: number | null) => written(value, column, currency) || '–';
  const full = (value: number | null) => exactly(value, column, currency) ?? text(value);
  return (
    <span title={`${full(now)}, before: ${full(before)}`}>
      {text(now)}
      <br />
      <span class="small quiet">
        {diff === null ? `before: ${text(before)}` : numbers.signed(diff, 2)}
        {percent === null ? '' : ` (${signedShare(percent)})`}
      </span>
    </span>
  );
}
