/** What changed of a report since a moment: a line for each day, which opens for its changes one by one, and all days together. */
import { useMemo, useState } from 'preact/hooks';
import { wordsOf } from '../ui/api.js';
import { DataTable } from '../ui/data-table.js';
import { SelectLine } from '../ui/fields.js';
import { between, moment } from '../ui/format.js';
import { useLoad } from '../ui/load.js';
import { Empty, Name, Tag, Wait } from '../ui/parts.js';
import { useGet } from '../ui/session.js';
import {
  changeIn,
  chosenOf,
  type DayStates,
  instantFrom,
  isComparable,
  isNamed,
  knownSince,
  type Moments,
  measuresOf,
  momentsOf,
  NAMED,
  type Revisions,
  type Step,
  statesBetween,
} from './changed.js';
import { type ReportColumn, titleOf, unitOf } from './columns.js';
import { type Change, changeOf } from './compare.js';
import { dates } from './dates.js';
import { DiffCsv, daysIn, diffPaths, loadDiff } from './diff-csv.js';
import { type Diff, type DiffRow, isMoved, movedByDay, type Names, subjectOf } from './diff-rows.js';
import { counted, numbers } from './numbers.js';
import { aboutPath, instantOf, keptOf, ofNow, reportHref, thenWords, type Viewed } from './question.js';
import { useTeam } from './team.js';

interface SinceProps extends Viewed {
  /** Of the pin of the address, else of the earlier time of the report; null: there is none. */
  readonly start: Start | null;
}

/** A first moment that is not of the usual choices. */
export interface Start {
  /** ISO. */
  readonly at: string;
  readonly title: string;
}

export function Since({ question: { asOf }, view, setView, start }: SinceProps) {
  const { from } = momentsOf(view.between);
  const isOwn = !isNamed(view.between);
  const own = start?.title ?? 'chosen moments';
  const [[, firstFetched], ...ago] = NAMED;
  // Of an earlier time an empty choice is that time.
  const first = asOf === '' ? '' : 'first';
  const named = [[first, firstFetched] as const, ...ago];
  const all = asOf === '' ? named : [['', thenWords(asOf)] as const, ...named];
  return (
    <SelectLine
      label="Changed since"
      options={isOwn ? [...all, [view.between, own]] : all}
      value={isOwn || view.between === '' ? view.between : from || first}
      choose={(chosen) =>
        setView({ between: chosen === '' || chosen === view.between ? chosen : `${chosen},latest` })
      }
    />
  );
}

interface ChangedProps extends SinceProps {
  readonly revisions: Revisions;
  /** Of money; null: unknown, or there are several. */
  readonly currency: string | null;
  /** Whether money has several currencies, so that it has no totals. */
  readonly isMixed: boolean;
  readonly names: Names;
}

/** The moments of the address, unless it begins at another. */
function momentsIn(place: string, start: Start | null): Moments {
  const { from, to } = momentsOf(place);
  const timeOf = (iso: string) => (Number.isNaN(Date.parse(iso)) ? null : Date.parse(iso));
  return { from: timeOf(start?.at ?? instantFrom(from, Date.now())), to: timeOf(instantOf(to)) };
}

export function Changed(props: ChangedProps) {
  const { question, revisions, view, setView, start, currency, isMixed } = props;
  const moments = momentsIn(view.between, start);
  const states = useMemo(() => statesBetween(revisions, moments), [revisions, moments.from, moments.to]);
  const measures = useMemo(() => measuresOf(states, isMixed), [states, isMixed]);
  const days = states.filter(({ steps }) => steps.length > 0);
  const column = chosenOf(measures, view.metric);
  const { api } = useTeam();
  const paths = diffPaths(question, states, moments);
  const diff = useLoad(nounOf(question.splits) === null ? null : paths.join(' '), (signal) =>
    loadDiff(api, paths, signal),
  );
  const moved = useMemo(
    () => (diff.value === null || column === undefined ? null : movedByDay(diff.value, column)),
    [diff.value, column],
  );
  if (days.length === 0) return <Unchanged {...props} moments={moments} />;
  if (column === undefined)
    return (
      <Empty>
        {counted(days.length, 'day')} changed {sinceWords(moments)}, but the numbers are no longer kept.
      </Empty>
    );
  return (
    <>
      <div class="toolbar">
        <p role="status">
          <Headline {...{ states, column, currency, moments }} /> <Total {...{ states, column, currency }} />
        </p>
        <SelectLine
          label="Changes in"
          options={measures.map(({ name, title }) => [name, title])}
          value={column.name}
          choose={(metric) => setView({ metric }, true)}
        />
      </div>
      <Others {...{ states, measures, column, currency }} />
      {diff.error === null ? null : (
        <p class="small quiet">How many rows moved is not known. {wordsOf(diff.error)}</p>
      )}
      <ul class="plain-list changed" aria-label="Days that changed, newest first">
        {days.map((day) => (
          <li key={day.date}>
            <ChangedDay
              {...props}
              {...{ day, column }}
              moved={moved !== null && isComparable(day) ? (moved.get(day.date) ?? 0) : null}
            />
          </li>
        ))}
      </ul>
      <DiffCsv {...props} {...{ days, paths }} />
    </>
  );
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

function sinceWords({ from, to }: Moments): string {
  const since = from === null ? 'since first fetched' : `since ${moment(isoOf(from))}`;
  return to === null ? since : `${since} until ${moment(isoOf(to))}`;
}

interface OfStates {
  readonly states: readonly DayStates[];
  readonly column: ReportColumn;
  readonly currency: string | null;
}

/** Nobody knows of a change before it is read: it may have been made any time since the numbers were read before. */
function Headline({ states, column, currency, moments }: OfStates & { readonly moments: Moments }) {
  const days = states.filter(({ steps }) => steps.length > 0);
  const since = sinceWords(moments);
  const old = days.filter(({ lastRead }) => lastRead !== null);
  const sure = days.filter(({ lastRead }) => lastRead === null);
  if (moments.from === null) return <strong>{`${counted(days.length, 'day')} changed ${since}.`}</strong>;
  // Percentages are of all days alone; a ratio of some days is no part of that of all.
  const told = (some: readonly DayStates[]) => {
    const { now, before } = changeIn(column.ratio === null ? some : [], column);
    return now === null || before === null ? '' : `, ${numbers.signed(now, before, column.unit, currency)}`;
  };
  const more = old.length === days.length ? '' : 'more ';
  const were = old.length === 1 ? 'it was' : 'they were';
  return (
    <strong>
      {`Surely ${since}: ${sure.length === 0 ? 'no day' : counted(sure.length, 'day')}${told(sure)}. `}
      {old.length === 0
        ? ''
        : `${counted(old.length, `${more}day`)} changed at an unknown time since ${were} last read${told(old)}.`}
    </strong>
  );
}

/** Of all days that are known, also those that have not changed. */
function Total({ states, column, currency }: OfStates) {
  const change = changeIn(states, column);
  if (change.diff === null) return null;
  return (
    <>
      {column.title} of {states.length === 1 ? 'this day' : `all ${counted(states.length, 'day')}`}:{' '}
      <Shown {...{ change, currency }} unit={column.unit} joint=", " />.
    </>
  );
}

interface ShownProps extends Pick<OfStates, 'currency'>, Pick<ReportColumn, 'unit'> {
  readonly change: Change;
  /** Between both values and their difference. */
  readonly joint?: string;
}

/** `$457.37 → $487.86` and `$30.49 more (+6.7 %)`; exact in the title. */
function Shown({ change: { before, now, diff }, unit, currency, joint = '' }: ShownProps) {
  const text = (value: number | null) => (value === null ? '–' : numbers.full(value, unit, currency));
  if (before === null || now === null || diff === null)
    return <span>{before === now ? '–' : `${text(before)} → ${text(now)}`}</span>;
  const exact = (value: number) => numbers.exact(value, unit, currency);
  const title = `${exact(before)} → ${exact(now)}: ${numbers.exactDifference(diff, unit, currency)}`;
  return (
    <>
      <span class="nowrap" title={title}>
        {text(before)} → {text(now)}
      </span>
      {joint}
      <span title={title}>{numbers.compared(now, before, unit, currency)}</span>
    </>
  );
}

/** The totals of the other measures, and what no total has. */
function Others({
  states,
  measures,
  column,
  currency,
}: OfStates & { readonly measures: readonly ReportColumn[] }) {
  const told = measures.flatMap((one) => {
    const { now, before } = changeIn(states, one);
    if (one === column || now === null || before === null) return [];
    return `${one.title} ${numbers.compared(now, before, one.unit, currency)}`;
  });
  const lost = states.filter(({ before, now }) => before === null || now === null).length;
  const inexact = states.filter(({ isInexact }) => isInexact).length;
  const later = states.filter(({ isLater }) => isLater).length;
  return (
    <p class="small quiet">
      {told.length === 0 ? '' : `${told.join('; ')}. `}
      {inexact === 0
        ? ''
        : `The numbers of that moment are no longer kept for ${counted(inexact, 'day')}: the last kept ones before it are shown. `}
      {lost === 0
        ? ''
        : `${counted(lost, 'day is', 'days are')} left out, as the numbers are no longer kept. `}
      {later === 0
        ? ''
        : `${counted(later, 'day was', 'days were')} first fetched later: only changes after that are known.`}
    </p>
  );
}

interface DayProps extends ChangedProps {
  readonly day: DayStates;
  readonly column: ReportColumn;
  /** How many rows differ in the measure; null: unknown. */
  readonly moved: number | null;
}

function ChangedDay(props: DayProps) {
  const { day, column, currency, moved, question } = props;
  const [isOpen, setIsOpen] = useState(false);
  const noun = nounOf(question.splits);
  const isOther = day.steps.some(({ hasOtherSettings }) => hasOtherSettings);
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>
        <strong class="nowrap">{dates.full(day.date)}</strong>
        <Shown change={changeIn([day], column)} unit={column.unit} currency={currency} />
        <span class="small quiet">
          {noun === null || moved === null ? null : `${counted(moved, noun)} moved`}{' '}
          {day.lastRead === null ? null : `last read before on ${dates.full(day.lastRead)}`}{' '}
          {isOther ? (
            <span title={OTHER_METHOD}>
              <Tag tone="info">fetched differently</Tag>
            </span>
          ) : null}
        </span>
      </summary>
      {isOpen ? (
        <>
          <ol class="plain-list small">
            {day.steps.map((step) => (
              <li key={step.id}>
                <StepLine {...{ step, column, currency }} />
              </li>
            ))}
          </ol>
          {noun === null ? null : <DayRows {...props} noun={noun} />}
        </>
      ) : null}
    </details>
  );
}

const OTHER_METHOD =
  'The later numbers were fetched with another platform token, or have other columns. Part of the difference may come from that: the platform may show each token other numbers.';

/** What the rows of a day are of; null: a day has one row. */
function nounOf(splits: readonly string[]): string | null {
  const [one, ...more] = splits.filter((split) => split !== 'byDate');
  if (one === undefined) return null;
  return more.length > 0 ? 'row' : titleOf(one.slice(2)).toLowerCase();
}

function StepLine({
  step,
  column,
  currency,
}: Pick<DayProps, 'column' | 'currency'> & { readonly step: Step }) {
  const { seenAt, after, before, now, hasOtherSettings } = step;
  const change = changeIn([step], column);
  return (
    <>
      {after === null ? `Seen ${moment(seenAt)}` : `Changed ${between(after, seenAt)}`}:{' '}
      {before === null || now === null ? (
        'the numbers are no longer kept'
      ) : change.diff === 0 ? (
        `the same ${column.title}, other measures or rows`
      ) : (
        <Shown {...{ change, currency }} unit={column.unit} joint=", " />
      )}
      .{hasOtherSettings ? ` ${OTHER_METHOD}` : ''}
    </>
  );
}

/** More rows of a day scroll. */
const MANY_ROWS = 8;

/** Rows of the day that differ in the measure, or in what it is calculated from. */
function DayRows({ day, column, currency, names, question, noun }: DayProps & { readonly noun: string }) {
  const { date, from, to } = day;
  const diff = useGet<Diff>(aboutPath('diff', daysIn(question, { from: date, to: date }), { from, to }));
  const { name, ratio } = column;
  const parts = ratio === null ? [name] : [ratio.over, ratio.under];
  const movedIn = ({ data }: Diff) => data.filter((row) => isMoved(row, column));
  return (
    <Wait of={diff}>
      {(value) => (
        <DataTable
          caption={`What moved on ${dates.full(date)}`}
          short={movedIn(value).length > MANY_ROWS}
          empty={`No ${noun} has another ${column.title}.`}
          rows={movedIn(value)}
          keyOf={(row) => subjectOf(row, names)}
          columns={[
            {
              title: titleOf(noun),
              cell: (row) => <Name>{subjectOf(row, names) || 'all'}</Name>,
              by: (row) => subjectOf(row, names),
            },
            ...parts.map((part) => ({
              title: titleOf(part),
              numeric: true,
              cell: (row: DiffRow) => (
                <span>
                  <Shown change={cellChange(row, part)} unit={unitOf(part)} currency={currency} joint=", " />
                </span>
              ),
              by: (row: DiffRow) => cellChange(row, part).diff,
            })),
          ]}
        />
      )}
    </Wait>
  );
}

function cellChange({ changed }: DiffRow, column: string): Change {
  const { old = null, new: now = null } = Object.hasOwn(changed, column) ? (changed[column] ?? {}) : {};
  const numberIn = (value: unknown) => (value === null || value === '' ? null : Number(value));
  return changeOf(numberIn(now), numberIn(old));
}

/** A report with more splits was perhaps first fetched a moment ago; the one by date only has the longest history. */
function Unchanged({ question, view, revisions, moments }: ChangedProps & { readonly moments: Moments }) {
  const byDate = { ...ofNow(question), splits: ['byDate'] };
  const since = moments.from === null ? 'since the gateway first fetched it' : sinceWords(moments);
  const [first = '', last = ''] = knownSince(revisions) ?? [];
  const isLater = moments.from === null || Date.parse(last) > moments.from;
  const known =
    moment(first) === moment(last)
      ? `are known only since ${moment(first)}`
      : `were first fetched ${between(first, last)}`;
  return (
    <Empty>
      No day of this report has changed {since}.
      {isLater ? ` These days ${known}; changes before that cannot be seen.` : ''}
      {question.splits.length < 2 ? null : (
        <>
          {' '}
          Changes are kept for each split apart.{' '}
          <a href={reportHref(byDate, { ...keptOf(view, byDate), panel: 'diff' })}>
            Look at the report by date only
          </a>
        </>
      )}
    </Empty>
  );
}
