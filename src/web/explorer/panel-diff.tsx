/** What changed of the report, from history, without a platform call: by day and measure; below that row by row, between two moments. */
import { useMemo, useState } from 'preact/hooks';
import type { AnswerTo } from '../../api/operations/table.js';
import { type Column, DataTable } from '../ui/data-table.js';
import type { FieldSpec } from '../ui/form-values.js';
import { between, fromNow, moment } from '../ui/format.js';
import { Card, Empty, Name, Tag, type Tone, Wait } from '../ui/parts.js';
import { SchemaForm } from '../ui/schema-form.js';
import { useGet } from '../ui/session.js';
import { type ChangedLine, changedLines, isKnown, type Names, namesIn, type Revisions } from './changed.js';
import { shown, titleOf } from './columns.js';
import { counted, numbers } from './numbers.js';
import type { Report } from './parse.js';
import { aboutPath, instantOf, keptOf, reportHref, type Viewed } from './question.js';

type Diff = AnswerTo<'GET /gateway/v1/diff'>;
type DiffRow = Diff['data'][number];
type DiffLine = ReturnType<typeof linesOf>[number];

const NO_SUBJECT = new Set(['date', 'kind', 'changed']);

function linesOf(rows: readonly DiffRow[], names: Names) {
  return rows.flatMap((row, index) =>
    Object.entries(row.changed).map(([column, cell]) => ({
      ...cell,
      key: `${index} ${column}`,
      date: row.date,
      subject: subjectOf(row, names),
      kind: row.kind,
      column,
    })),
  );
}

/** The name leads, where the report has one of an id. */
function subjectOf(row: DiffRow, names: Names): string {
  return Object.entries(row)
    .filter(([column, value]) => !NO_SUBJECT.has(column) && value !== null && value !== '')
    .map(([column, value]) => {
      const name = names.get(`${column} ${String(value)}`);
      return { name, text: `${column} ${String(value)}` };
    })
    .sort((a, b) => Number(a.name === undefined) - Number(b.name === undefined))
    .map(({ name, text }) => (name === undefined ? text : `${name} (${text})`))
    .join(', ');
}

export function DiffPanel({ report, ...props }: Viewed & { readonly report: Report }) {
  const { question, view } = props;
  const names = useMemo(() => namesIn(report.rows), [report]);
  const isByDay = question.splits.includes('byDate');
  const revisions = useGet<Revisions>(isByDay ? aboutPath('revisions', { ...question, asOf: '' }) : null);
  return (
    <Card title="What changed">
      {isByDay ? (
        <Wait of={revisions}>
          {(value) => (
            <>
              {isKnown(value) ? <Changed {...props} lines={changedLines(value)} /> : null}
              <BetweenMoments
                {...props}
                names={names}
                key={view.between}
                opens={view.between !== '' || !isKnown(value)}
              />
            </>
          )}
        </Wait>
      ) : (
        <Empty>History is kept by day: choose one row per date above to see it.</Empty>
      )}
    </Card>
  );
}

type ChangedProps = Pick<Viewed, 'question' | 'view'> & { readonly lines: readonly ChangedLine[] };

function Changed({ lines, ...props }: ChangedProps) {
  if (lines.length === 0) return <Unchanged {...props} />;
  const days = new Set(lines.map(({ date }) => date)).size;
  const cut = lines.length > MOST_LINES ? `; the newest ${numbers.whole(MOST_LINES)} are shown` : '';
  return (
    <>
      <p role="status">
        {counted(lines.length, 'change')} of {counted(days, 'day')} since first known{cut}.
      </p>
      <DataTable
        caption="What changed, by day and measure"
        short
        rows={lines.slice(0, MOST_LINES)}
        keyOf={({ key }) => key}
        columns={CHANGED}
      />
    </>
  );
}

/** A report with more splits was perhaps first fetched a moment ago; the one by date only has the longest history. */
function Unchanged({ question, view }: Omit<ChangedProps, 'lines'>) {
  const byDate = { ...question, splits: ['byDate'], asOf: '' };
  return (
    <Empty>
      No day of this report has changed since the gateway first fetched it.
      {question.splits.length < 2 ? null : (
        <>
          {' '}
          Changes are kept for each split apart.{' '}
          <a href={reportHref(byDate, { ...keptOf(view), panel: 'diff' })}>Look at the report by date only</a>
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

const CHANGED: readonly Column<ChangedLine>[] = [
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
      measure === null ? '–' : `${shown(before, true) || '–'} → ${shown(now, true) || '–'}`,
  },
  {
    title: 'Difference',
    numeric: true,
    cell: ({ diff, percent }) => (
      <span>
        {written(diff)}
        {percent === null ? null : <span class="small quiet"> ({written(percent)} %)</span>}
      </span>
    ),
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

interface BetweenProps extends Viewed {
  readonly names: Names;
  /** At once: moments are given, or the refusal of the comparison says why nothing is known. */
  readonly opens: boolean;
}

/** Row by row. */
function BetweenMoments({ question, view, setView, names, opens }: BetweenProps) {
  const [from = '', to = ''] = view.between.split(',');
  const pin = /^(first|\d{4}-\d\d-\d\dT.*|)$/.test(from) ? null : from;
  const [isOpen, setIsOpen] = useState(opens);
  const asked = { from: instantOf(from || 'first'), to: instantOf(to || 'latest') };
  const path = aboutPath('diff', { ...question, asOf: '' }, asked);
  const diff = useGet<Diff>(isOpen ? path : null);
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>
        <strong>Row by row, between two moments</strong>
      </summary>
      <SchemaForm
        key={view.between}
        label="Moments"
        fields={pin === null ? MOMENTS : SINCE_PIN}
        start={{ from: from === 'first' || pin !== null ? '' : from, to: to === 'latest' ? '' : to }}
        submit="Compare"
        look=""
        send={async (typed) =>
          setView({ between: `${typed.from || (pin ?? 'first')},${typed.to || 'latest'}` })
        }
      />
      <Wait of={diff}>{(value) => <Differences diff={value} names={names} />}</Wait>
      {diff.value === null ? null : (
        <a href={`${path}&_format=csv`} download>
          CSV of changes
        </a>
      )}
    </details>
  );
}

const momentsWith = (help: string): readonly FieldSpec[] => [
  { name: 'from', label: 'From (UTC)', is: 'datetime-local', help },
  { name: 'to', label: 'To (UTC)', is: 'datetime-local', help: 'Default: now.' },
];
const MOMENTS = momentsWith('Default: the first revision of each day.');
const SINCE_PIN = momentsWith('Default: the pin that you came from.');

const MOST_LINES = 500;

function Differences({ diff: { data, meta }, names }: { readonly diff: Diff; readonly names: Names }) {
  const { methodDays = [], inexactDays = [] } = meta;
  const lines = linesOf(data, names);
  const found = `${counted(lines.length, 'value')} in ${counted(data.length, 'row')} differ`;
  const cut =
    lines.length > MOST_LINES ? `; the first ${numbers.whole(MOST_LINES)} are shown, CSV has all` : '';
  return (
    <>
      <p role="status">{lines.length === 0 ? 'No differences between these moments.' : `${found}${cut}.`}</p>
      {methodDays.length === 0 ? null : (
        <p class="note info">
          {counted(methodDays.length, 'day')} had other columns or another token, so the platform may not have
          changed the numbers.
        </p>
      )}
      {inexactDays.length === 0 ? null : (
        <p class="note info">
          {counted(inexactDays.length, 'day')} had revisions in between that are no longer kept; the nearest
          kept revision is shown.
        </p>
      )}
      {lines.length === 0 ? null : (
        <DataTable
          caption="Differences"
          short
          rows={lines.slice(0, MOST_LINES)}
          keyOf={({ key }) => key}
          columns={COLUMNS}
        />
      )}
    </>
  );
}

const TONES: Readonly<Record<DiffRow['kind'], Tone>> = {
  changed: 'info',
  added: 'good',
  removed: 'bad',
  method: 'warn',
};

const written = (value: number | null): string =>
  value === null ? '–' : numbers.signed(value, 'number', null);

/** @param of a number, or its text */
function signed(title: string, of: (line: DiffLine) => unknown, unit = ''): Column<DiffLine> {
  const numberOf = (line: DiffLine) => {
    const value = of(line) ?? null;
    return value === null ? null : Number(value);
  };
  return {
    title,
    numeric: true,
    cell: (line) => {
      const number = numberOf(line);
      return number === null ? '–' : `${written(number)}${unit}`;
    },
    by: (line) => {
      const number = numberOf(line);
      return number === null ? null : Math.abs(number);
    },
  };
}

const COLUMNS: readonly Column<DiffLine>[] = [
  { title: 'Day', cell: ({ date }) => date, by: ({ date }) => date },
  { title: 'Row', cell: ({ subject }) => <Name>{subject || 'all'}</Name>, by: ({ subject }) => subject },
  { title: 'Kind', cell: ({ kind }) => <Tag tone={TONES[kind]}>{kind}</Tag>, by: ({ kind }) => kind },
  { title: 'Column', cell: ({ column }) => titleOf(column), by: ({ column }) => column },
  { title: 'Old', numeric: true, cell: (line) => shown(line.old, true) || '–' },
  { title: 'New', numeric: true, cell: (line) => shown(line.new, true) || '–' },
  signed('Change', ({ diff }) => diff),
  signed('%', ({ percent }) => percent, ' %'),
];
