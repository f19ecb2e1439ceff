/** The report compared with another period, by group and measure. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Button, Card, Empty, Wait } from '../ui/parts.js';
import {
  type Compared,
  finalDays,
  monthsApart,
  openInWords,
  otherPeriod,
  pairsInWords,
  periodsInWords,
} from './against.js';
import { ageWords, openWords } from './answered.js';
import { ChangesTable } from './changes-table.js';
import {
  chosenFirst,
  currencyOf,
  inOneCurrency,
  type ReportColumn,
  titleWithUnit,
  written,
} from './columns.js';
import {
  type Change,
  type ComparedGroup,
  changeOf,
  compareGroups,
  compareTotals,
  meanPerDay,
  spanValues,
} from './compare.js';
import { MeasureChart } from './measure-chart.js';
import { allColumnsOf } from './measures.js';
import { counted, numbers } from './numbers.js';
import type { Report } from './parse.js';
import { AwayWords, isAway, PlatformAway } from './platform-away.js';
import {
  advertisersOf,
  daysOf,
  type Period,
  type Question,
  reportHref,
  thenWords,
  type Viewed,
} from './question.js';
import { TotalFigures } from './report-rows.js';
import { csvName } from './save-csv.js';
import { combine, type Part } from './several.js';
import { Progress } from './several-progress.js';
import { besideSpans, closedPeriod, periodWords, spanIn, spansOf, toldDays } from './spans.js';
import { useReport } from './use-report.js';
import { isOpen, partsOf, useSeveral } from './use-several.js';

interface CompareProps extends Viewed {
  /** Of all advertisers of the question. */
  readonly report: Report;
  /** Of several the report of each. */
  readonly parts?: readonly Part[];
}

export function CompareReport(props: CompareProps) {
  const { report, view } = props;
  const [final, tellFinal] = useState<Period | null>(null);
  if (view.against === '') return null;
  const now = closedPeriod(report.meta.period);
  const before = now === null ? null : otherPeriod(view, now);
  if (now === null || before === null) return <p class="note info">{faultOf(props, now)}</p>;
  const question = { ...props.question, period: '', dateFrom: before.from, dateTo: before.to };
  const Other = question.others.length === 0 ? OfOne : OfSeveral;
  return (
    <Card title={`Compared with ${periodWords(final ?? before)}${final === null ? '' : ', final days only'}`}>
      <Other
        {...props}
        asked={props.question}
        question={question}
        {...{ now, before, tellFinal }}
        months={monthsApart(view, now)}
      />
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

/** Its question is that of the other period; `asked`: that of the report. */
type PeriodsProps = CompareProps &
  Compared & {
    readonly asked: Question;
    /** Called with the days of the other period that are compared, if it is not all; null: it is. */
    readonly tellFinal: (before: Period | null) => void;
  };

function OfOne(props: PeriodsProps) {
  const { question, view } = props;
  const loaded = useReport(question);
  if (loaded.value === null && isAway(loaded.error, question))
    return (
      <PlatformAway
        {...{ question, view }}
        error={loaded.error}
        again={loaded.reload}
        hrefOf={({ from, to }) =>
          reportHref(props.asked, { ...view, against: 'custom', otherFrom: from, otherTo: to })
        }
      />
    );
  return (
    <Wait of={loaded} looking="Loading the other period …">
      {(other) => <AllOrFinal {...props} other={other} />}
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
    const each = parts.flatMap(({ id, name, report: other }) => {
      const here = props.parts?.find((part) => part.id === id);
      return here === undefined ? [] : { id, title: name ?? `Advertiser ${id}`, report: here.report, other };
    });
    return { now: { ...report, rows }, other: combine(parts), each };
  }, [parts, props.parts, report]);
  const [away] = several.loads.flatMap((load) =>
    load.is === 'failed' && isAway(load.error, question) ? load.error : [],
  );
  const missing = advertisersOf(question).length - parts.length;
  return (
    <>
      <Progress several={several} nameOf={about.nameOf} mayCome />
      {away === undefined ? null : (
        <div class="note bad" role="alert">
          <AwayWords error={away} />
        </div>
      )}
      {several.loads.some(isOpen) || both === null ? null : (
        <>
          {missing === 0 ? null : (
            <p class="note warn">
              Without {counted(missing, 'advertiser')} whose other period is not loaded, in both periods.
            </p>
          )}
          <AllOrFinal {...props} report={both.now} other={both.other} each={both.each} />
        </>
      )}
    </>
  );
}

interface Pair {
  readonly report: Report;
  readonly other: Report;
}

interface BothProps extends PeriodsProps, Pair {
  /** Of several advertisers both reports of each. */
  readonly each?: readonly (Pair & { readonly id: string; readonly title: string })[];
}

/** Says which days are still being completed, and leaves them out if that is chosen. */
function AllOrFinal(both: BothProps) {
  const { report, other, view, setView, question } = both;
  const { now, before, months } = both;
  const first = { now: report.meta.firstProvisionalDate, before: other.meta.firstProvisionalDate };
  const isPast = question.asOf !== '';
  const open = openInWords(both, first, isPast);
  const final = useMemo(() => {
    const days = open === null ? null : finalDays({ now, before, months }, first);
    const cut = <P extends Pair>(pair: P, { now, before }: Compared): P => ({
      ...pair,
      report: until(pair.report, now),
      other: until(pair.other, before),
    });
    return (
      days && {
        ...days,
        ...cut({ report, other }, days),
        each: both.each?.map((pair) => cut(pair, days)) ?? [],
      }
    );
  }, [report, other, now.from, now.to, before.from, before.to, months]);
  const shown = view.finals !== '' && final !== null ? { ...both, ...final } : both;
  const told = shown === both ? null : shown.before;
  useEffect(() => {
    both.tellFinal(told);
    return () => both.tellFinal(null);
  }, [told?.from, told?.to]);
  const left = daysOf(now).length - daysOf(shown.now).length;
  // Only reports by date say which days.
  const isUnsaid = [report, other].some(({ meta }) => !meta.final && !meta.split.includes('date'));
  const words = isUnsaid ? `Some days ${isPast ? 'were' : 'are'}` : open;
  const then = isPast ? ' when they were fetched' : '';
  return (
    <>
      <p class="small quiet">
        {periodsInWords(shown)} {agesInWords(shown)}
      </p>
      {words === null ? null : (
        <div class="note warn row">
          <p role="status">
            {shown === both
              ? `${words} still being completed${then}, so the difference may only be that.`
              : `Final days only: without the last ${counted(left, 'day')} of this period and those beside them.`}
            {isUnsaid ? ' With one row per date, final days can be compared alone.' : ''}
          </p>
          {final === null ? null : (
            <Button
              label={shown === both ? 'Compare final days only' : 'Compare all days'}
              act={() => setView({ finals: shown === both ? '1' : '' }, true)}
            />
          )}
        </div>
      )}
      <Both {...shown} />
    </>
  );
}

/** How old the numbers of both periods are. */
function agesInWords({ question: { asOf }, report, other }: BothProps): string {
  if (asOf !== '') return `Numbers of both are as last read before ${thenWords(asOf)}.`;
  const [here, there] = [report, other].map(({ meta, answered }) =>
    openWords(meta) === null || answered === undefined ? 'final' : ageWords(answered, Date.now()),
  );
  return here === there
    ? `Numbers of both periods are ${here}.`
    : `Numbers of this period are ${here}, those of the other ${there}.`;
}

/** The rows of the days, which are completed. The platform's totals are of all days. */
function until({ rows, meta: { totals: _, ...meta }, ...rest }: Report, period: Period): Report {
  return {
    ...rest,
    rows: rows.filter(({ date }) => String(date) <= period.to),
    meta: { ...meta, period, final: true },
  };
}

function Both(both: BothProps) {
  const { report, other, view } = both;
  const { measures, groups, currency } = useMemo(() => {
    const rows = [...report.rows, ...other.rows];
    // The chosen one is next to the groups, and the largest of it lead.
    const measures = chosenFirst(allColumnsOf(rows).measures, view.metric);
    return {
      measures,
      currency: currencyOf(rows, both.about.currency),
      groups: compareGroups(report.rows, other.rows, report.meta.split, measures),
    };
  }, [report, other, both.about.currency, view.metric]);
  const [chosen] = measures;
  if (chosen === undefined) return <Empty>Neither period has rows.</Empty>;
  const total = compareTotals(report, other, measures);
  const days = { now: daysOf(both.now).length, before: daysOf(both.before).length };
  const mean = days.now === days.before ? null : meanPerDay(total, measures, days);
  const each = (both.each ?? []).map(({ id, title, report, other }): ComparedGroup => {
    const its = currencyOf([...report.rows, ...other.rows], both.about.currency);
    const named = currency === null && its !== null ? `${title} · ${its}` : title;
    return { ...compareTotals(report, other, measures.map(inOneCurrency)), key: id, title: named };
  });
  return (
    <>
      {view.finals === '' ? null : <TotalFigures {...{ report, measures, currency }} />}
      <Totals {...both} column={chosen} currency={currency} total={total} mean={mean} />
      {report.meta.split.includes('date') ? <Overlay {...both} column={chosen} currency={currency} /> : null}
      <ChangesTable
        each={each}
        groups={report.meta.split.some((one) => one !== 'date' && one !== 'advertiser') ? groups : each}
        feet={mean === null ? [total] : [total, mean]}
        measures={measures}
        currency={currency}
        days={both}
        name={csvName(
          both.question,
          advertisersOf(both.question),
          both.now,
          ...['compared', both.before.from, both.before.to],
        )}
      />
    </>
  );
}

interface OfColumn extends BothProps {
  readonly column: ReportColumn;
  /** Of all rows; null: unknown, or they have several. */
  readonly currency: string | null;
}

interface TotalsProps extends OfColumn {
  readonly total: ComparedGroup;
  /** Null: both periods have as many days. */
  readonly mean: ComparedGroup | null;
}

/** The measure, its unit, both totals and their difference in a sentence; of periods of other lengths the means per day, too. */
function Totals({ column, currency, total, mean }: TotalsProps) {
  const changeIn = (group: ComparedGroup | null) => group?.changes.get(column.name) ?? changeOf(null, null);
  const text = (value: number | null) => written(value, column, currency) || 'none';
  const told = ({ now, before }: Change) => {
    const diff = now === null || before === null ? [] : numbers.compared(now, before, column.unit, currency);
    return `${[`${text(now)} in this period`, `${text(before)} in the other`, diff].flat().join('; ')}.`;
  };
  const [sums, means] = [changeIn(total), changeIn(mean)];
  return (
    <p>
      <strong>{titleWithUnit(column, currency)}</strong>:{' '}
      {sums.diff === null && column.noSum !== null ? 'no total of both periods.*' : told(sums)}
      {means.diff === null ? null : ` Mean per day: ${told(means)}`}
    </p>
  );
}

/** By day, week or month of this period; beside each stand the days of the other period at the same places. */
function Overlay({ report, other, column, currency, view, ...periods }: OfColumn) {
  const { now, before, months } = periods;
  const by = spanIn(view.by);
  const { steps, lines } = useMemo(() => {
    const spans = spansOf(now, by);
    const here = spans.map(({ days }) => days);
    const there = besideSpans(spans, before, months);
    return {
      steps: spans.map(({ start, title, short, part }, index) => ({
        start,
        title: `${title}${part === null ? '' : ` (${part})`}, compared with ${toldDays(there[index])}`,
        short,
      })),
      lines: [
        { title: periodWords(now), color: '--c1', values: spanValues(report.rows, here, column) },
        {
          title: periodWords(before),
          color: '--c3',
          dashed: true,
          values: spanValues(other.rows, there, column),
        },
      ],
    };
  }, [report, other, column, by, months, now.from, now.to, before.from, before.to]);
  if (lines.every(({ values }) => values.every((value) => value === null)))
    return (
      <Empty>
        {column.title} cannot be shown for all rows.{column.noSum === null ? '' : '*'}
        {by === 'day' || column.noSum === null
          ? ''
          : ` It has no sum, so there is none by ${by}; choose Day in the chart below.`}
      </Empty>
    );
  const words = titleWithUnit(column, currency);
  const paired = pairsInWords(periods, by);
  return (
    <>
      <h3>
        {words}, by {by}
      </h3>
      <MeasureChart
        label={`${words} by ${by} in both periods`}
        {...{ column, currency, by, steps, lines }}
        height={220}
      />
      {paired === null ? null : <p class="small quiet">{paired}</p>}
    </>
  );
}
