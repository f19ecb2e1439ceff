/** What changed of a report since a moment: totals, and each change by day and measure. */
import { type Column, DataTable } from '../ui/data-table.js';
import { SelectLine } from '../ui/fields.js';
import { between, fromNow, moment } from '../ui/format.js';
import { Empty } from '../ui/parts.js';
import {
  type ChangedLine,
  changedLines,
  instantFrom,
  isNamed,
  knownSince,
  type Moments,
  momentsOf,
  NAMED,
  type Revisions,
  sumsBetween,
} from './changed.js';
import { shown, titleOf, unitOf, written } from './columns.js';
import type { Change } from './compare.js';
import { counted, numbers } from './numbers.js';
import { instantOf, keptOf, reportHref, type Viewed } from './question.js';

export const MOST_LINES = 500;

/** The text of a value of a measure. @param value a number, or its text. @param currency of money; null: unknown, or there are several */
export function valueText(value: unknown, measure: string, currency: string | null): string {
  const unit = unitOf(measure);
  const told = unit === 'money' && value !== null && value !== '' && Number.isFinite(Number(value));
  return (told ? written(Number(value), { numeric: true, unit }, currency) : shown(value, true)) || '–';
}

export const changeText = (diff: number | null, measure: string, currency: string | null): string =>
  diff === null ? '–' : numbers.signed(diff, unitOf(measure), currency);

interface SinceProps extends Viewed {
  /** When the pin of the address was made, ISO; null: there is none. */
  readonly pinnedAt: string | null;
}

export function Since({ view, setView, pinnedAt }: SinceProps) {
  const { from } = momentsOf(view.between);
  const own = pinnedAt === null ? 'chosen moments' : `pinned, ${moment(pinnedAt)}`;
  const isOwn = !isNamed(view.between);
  return (
    <SelectLine
      label="Changed since"
      options={isOwn ? [...NAMED, [view.between, own]] : NAMED}
      value={isOwn ? view.between : from}
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
}

export function Changed(props: ChangedProps) {
  const { revisions, view, pinnedAt, currency, isMixed } = props;
  const { from, to } = momentsOf(view.between);
  const timeOf = (iso: string) => (Number.isNaN(Date.parse(iso)) ? null : Date.parse(iso));
  const moments = { from: timeOf(pinnedAt ?? instantFrom(from, Date.now())), to: timeOf(instantOf(to)) };
  const lines = changedLines(revisions, moments);
  if (lines.length === 0) return <Unchanged {...props} moments={moments} />;
  const days = new Set(lines.map(({ date }) => date)).size;
  const cut = lines.length > MOST_LINES ? `; the newest ${numbers.whole(MOST_LINES)} are shown` : '';
  return (
    <>
      <p role="status">
        {counted(lines.length, 'change')} of {counted(days, 'day')} {sinceWords(moments)}
        {cut}.
      </p>
      <Sums {...{ revisions, moments, currency, isMixed }} />
      <DataTable
        caption="What changed, by day and measure"
        short
        rows={lines.slice(0, MOST_LINES)}
        keyOf={({ key }) => key}
        columns={changedWith(currency)}
      />
    </>
  );
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

function sinceWords({ from, to }: Moments): string {
  const since = from === null ? 'since first known' : `since ${moment(isoOf(from))}`;
  return to === null ? since : `${since} until ${moment(isoOf(to))}`;
}

type SumsProps = Pick<ChangedProps, 'revisions' | 'currency' | 'isMixed'> & { readonly moments: Moments };

/** Of all days together. */
function Sums({ revisions, moments, currency, isMixed }: SumsProps) {
  const { days, left, sums: all } = sumsBetween(revisions, moments);
  const sums = isMixed ? all.filter(({ measure }) => unitOf(measure) !== 'money') : all;
  if (sums.length === 0) return null;
  const numeric = (title: string, of: (sum: (typeof sums)[number]) => string) => ({
    title,
    numeric: true,
    cell: of,
  });
  return (
    <>
      <DataTable
        caption="Totals before and now"
        rows={sums}
        keyOf={({ measure }) => measure}
        columns={[
          { title: 'Total', cell: ({ measure }) => <strong>{titleOf(measure)}</strong> },
          numeric('Before', ({ before, measure }) => valueText(before, measure, currency)),
          numeric('Now', ({ now, measure }) => valueText(now, measure, currency)),
          numeric('Difference', ({ measure, ...change }) => differenceText(change, measure, currency)),
        ]}
      />
      <p class="small quiet">
        Totals of {counted(days, 'day')}.
        {left === 0
          ? ''
          : ` Without ${counted(left, 'day')} first fetched later, or whose numbers are no longer kept.`}
      </p>
    </>
  );
}

const differenceText = ({ diff, percent }: Change, measure: string, currency: string | null): string =>
  `${changeText(diff, measure, currency)}${percent === null ? '' : ` (${numbers.percent(percent)})`}`;

/** A report with more splits was perhaps first fetched a moment ago; the one by date only has the longest history. */
function Unchanged({ question, view, revisions, moments }: ChangedProps & Pick<SumsProps, 'moments'>) {
  const byDate = { ...question, splits: ['byDate'], asOf: '' };
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

const WHY: Readonly<Record<ChangedLine['why'], string>> = {
  corrected: 'corrected by the platform',
  method: 'fetched with another token or other columns; differences may come from that',
  rows: 'other rows with the same sums',
  'not kept': 'the numbers are no longer kept',
};

const changedWith = (currency: string | null): readonly Column<ChangedLine>[] => [
  {
    title: 'Measure',
    cell: ({ measure }) => (measure === null ? '–' : <strong>{titleOf(measure)}</strong>),
    by: ({ measure }) => measure,
  },
  { title: 'Day', cell: ({ date }) => <span class="nowrap">{date}</span>, by: ({ date }) => date },
  {
    title: 'Old → new',
    numeric: true,
    cell: ({ before, now, measure }) =>
      measure === null
        ? '–'
        : `${valueText(before, measure, currency)} → ${valueText(now, measure, currency)}`,
  },
  {
    title: 'Difference',
    numeric: true,
    cell: ({ measure, ...change }) => (measure === null ? '–' : differenceText(change, measure, currency)),
    by: ({ diff }) => diff && Math.abs(diff),
  },
  {
    title: 'When and why',
    cell: ({ seenAt, after, why }) => (
      <span title={moment(seenAt)}>
        seen {fromNow(seenAt, Date.now())}
        {after === null ? '' : `, made ${between(after, seenAt)}`} <span class="small quiet">{WHY[why]}</span>
      </span>
    ),
    by: ({ seenAt }) => seenAt,
  },
];
