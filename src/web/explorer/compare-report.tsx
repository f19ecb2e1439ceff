/** The report beside itself in another period: what each group and measure has gained or lost. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Chart } from '../ui/chart.js';
import { type Column, DataTable } from '../ui/data-table.js';
import { compact, count } from '../ui/format.js';
import { Card, Empty, Field, Name, Tag } from '../ui/parts.js';
import { columnsOf, type ReportColumn, shown } from './columns.js';
import { type Change, type ComparedGroup, compareGroups, dayValues, periodAgainst } from './compare.js';
import { daysOf, type Period, type Question, type ViewState } from './question.js';
import type { SetView } from './report.js';
import { Trouble } from './trouble.js';
import { type Shown, useReport } from './use-report.js';

interface CompareProps {
  readonly question: Question;
  readonly report: Shown;
  readonly view: ViewState;
  readonly setView: SetView;
}

/** Chooses what the report is held against; the address has it. */
export function CompareWith({ report, view: { against }, setView }: Omit<CompareProps, 'question'>) {
  const { from = null, to = null } = report.meta.period ?? {};
  const own = against.includes(',');
  const start = from === null || to === null ? null : periodAgainst('previous', { from, to });
  return (
    <div class="row">
      <label class="row">
        <span class="small quiet">Compare with</span>
        <select
          value={own ? 'own' : against}
          onChange={({ currentTarget: { value } }) =>
            setView({ against: value === 'own' && start !== null ? `${start.from},${start.to}` : value })
          }
        >
          <option value="">nothing</option>
          <option value="previous">the days before</option>
          <option value="year">a year before</option>
          <option value="own">own days …</option>
        </select>
      </label>
      {own ? <OwnDays against={against} choose={(next) => setView({ against: next })} /> : null}
    </div>
  );
}

interface OwnDaysProps {
  readonly against: string;
  readonly choose: (against: string) => void;
}

function OwnDays({ against, choose }: OwnDaysProps) {
  const [days, setDays] = useState(against.split(','));
  useEffect(() => setDays(against.split(',')), [against]);
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        choose(days.join(','));
      }}
    >
      {['First day before', 'Last day before'].map((label, index) => (
        <Field key={label} label={label}>
          <input
            type="date"
            required
            value={days[index] ?? ''}
            onInput={({ currentTarget: { value } }) =>
              setDays(days.map((day, place) => (place === index ? value : day)))
            }
          />
        </Field>
      ))}
      <button type="submit">Compare</button>
    </form>
  );
}

export function CompareReport(props: CompareProps) {
  const { report, view } = props;
  const { from = null, to = null } = report.meta.period ?? {};
  if (view.against === '') return null;
  const other = from === null || to === null ? null : periodAgainst(view.against, { from, to });
  if (other === null || from === null || to === null)
    return <p class="note warn">There is no such period to compare with: choose another one above.</p>;
  return <Compared {...props} now={{ from, to }} before={other} />;
}

interface ComparedProps extends CompareProps {
  readonly now: Period;
  readonly before: Period;
}

function Compared({ question, report, view, now, before }: ComparedProps) {
  const { value, error, loading, reload } = useReport({
    ...question,
    ...{ period: '', dateFrom: before.from, dateTo: before.to },
  });
  return (
    <Card title={`Compared with ${before.from} to ${before.to}`}>
      {loading ? (
        <p class="looking" role="status">
          Asking for the other period …
        </p>
      ) : null}
      {error === null ? null : <Trouble error={error} again={reload} />}
      {value === null ? null : (
        <Both report={report} other={value} metric={view.metric} now={now} before={before} />
      )}
    </Card>
  );
}

interface BothProps {
  readonly report: Shown;
  readonly other: Shown;
  readonly metric: string;
  readonly now: Period;
  readonly before: Period;
}

function Both({ report, other, metric, now, before }: BothProps) {
  const measures = useMemo(
    () => columnsOf([...report.rows, ...other.rows]).filter(({ measure }) => measure),
    [report, other],
  );
  const groups = useMemo(
    () =>
      compareGroups(
        report.rows,
        other.rows,
        report.meta.split,
        measures.map(({ name }) => name),
      ),
    [report, other, measures],
  );
  const chosen = measures.find(({ name }) => name === metric) ?? measures[0];
  if (chosen === undefined) return <Empty>Neither period has rows.</Empty>;
  return (
    <>
      {daysOf(now).length === daysOf(before).length ? null : (
        <p class="note info">
          The periods have {count(daysOf(now).length)} and {count(daysOf(before).length)} days.
        </p>
      )}
      {report.meta.split.includes('date') ? (
        <Overlay report={report} other={other} column={chosen} now={now} before={before} />
      ) : null}
      <GroupTable groups={groups} measures={measures} />
    </>
  );
}

function Overlay({
  report,
  other,
  column,
  now,
  before,
}: Omit<BothProps, 'metric'> & { column: ReportColumn }) {
  const [days, daysBefore] = [daysOf(now), daysOf(before)];
  const lines = useMemo(() => {
    const earlier = dayValues(other.rows, daysBefore, column);
    return [
      { title: 'this period', color: '--c1', values: dayValues(report.rows, days, column) },
      {
        title: `${before.from} to ${before.to}`,
        color: '--c3',
        dashed: true,
        values: days.map((_, index) => earlier[index] ?? null),
      },
    ];
  }, [report, other, column, before.from, before.to]);
  const times = useMemo(() => days.map((day) => Date.parse(day) / 1000), [now.from, now.to]);
  if (lines.every(({ values }) => values.every((value) => value === null)))
    return <Empty>{`${column.title} has no line for all rows. ${column.noSum ?? ''}`}</Empty>;
  return (
    <Chart
      label={`${column.title} by day in both periods, first day beside first day`}
      times={times}
      lines={lines}
      height={220}
      format={compact}
    />
  );
}

/** As many as anybody reads. */
const MOST_GROUPS = 200;

function GroupTable({
  groups,
  measures,
}: {
  readonly groups: readonly ComparedGroup[];
  readonly measures: readonly ReportColumn[];
}) {
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
        keyOf={({ key }) => key}
        columns={[{ title: 'Group', cell: titled, by: ({ title }) => title }, ...columns]}
      />
      <p class="small quiet">
        A dash stands for what has no row, or no sum of its rows.
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

const change = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2, signDisplay: 'exceptZero' });
const share = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1, signDisplay: 'exceptZero' });

function ChangeCell({ change: known }: { readonly change: Change | undefined }) {
  if (known === undefined) return <>–</>;
  const { now, before, diff, percent } = known;
  if (now === null && before === null) return <>–</>;
  return (
    <span title={`before: ${shown(before, true) || '–'}`}>
      {shown(now, true) || '–'}
      <br />
      <span class="small quiet">
        {diff === null ? `before: ${shown(before, true) || '–'}` : change.format(diff)}
        {percent === null ? '' : ` (${share.format(percent)} %)`}
      </span>
    </span>
  );
}
