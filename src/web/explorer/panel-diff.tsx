/** Changes of the report between two moments, from history, without a platform call. */
import type { AnswerTo } from '../../api/operations/table.js';
import { type Column, DataTable } from '../ui/data-table.js';
import type { FieldSpec } from '../ui/form-values.js';
import { count, counted } from '../ui/format.js';
import { Card, Empty, Name, Tag, type Tone, Wait } from '../ui/parts.js';
import { SchemaForm } from '../ui/schema-form.js';
import { useGet } from '../ui/session.js';
import { shown, titleOf } from './columns.js';
import { aboutPath, instantOf, type Viewed } from './question.js';

type Diff = AnswerTo<'GET /gateway/v1/diff'>;
type DiffRow = Diff['data'][number];
type DiffLine = ReturnType<typeof linesOf>[number];

const NO_SUBJECT = new Set(['date', 'kind', 'changed']);

function linesOf(rows: readonly DiffRow[]) {
  return rows.flatMap((row, index) =>
    Object.entries(row.changed).map(([column, cell]) => ({
      ...cell,
      key: `${index} ${column}`,
      date: row.date,
      subject: subjectOf(row),
      kind: row.kind,
      column,
    })),
  );
}

/** Ids and names of the row. */
function subjectOf(row: DiffRow): string {
  return Object.entries(row)
    .filter(([name, value]) => !NO_SUBJECT.has(name) && value !== null && value !== '')
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ');
}

export function DiffPanel({ question, view, setView }: Viewed) {
  const isByDay = question.splits.includes('byDate');
  const [from = '', to = ''] = view.between.split(',');
  const asked = { from: instantOf(from || 'first'), to: instantOf(to || 'latest') };
  const path = aboutPath('diff', { ...question, asOf: '' }, asked);
  const diff = useGet<Diff>(isByDay ? path : null);
  if (!isByDay)
    return (
      <Card title="Changes">
        <Empty>History is kept by day: split the report by date to see it.</Empty>
      </Card>
    );
  const csv = (
    <a href={`${path}&_format=csv`} download>
      CSV of changes
    </a>
  );
  return (
    <Card title="Changes" tools={csv}>
      <SchemaForm
        key={view.between}
        label="Moments"
        fields={MOMENTS}
        start={{ from: from === 'first' ? '' : from, to: to === 'latest' ? '' : to }}
        submit="Compare"
        look=""
        send={async (typed) => setView({ between: `${typed.from || 'first'},${typed.to || 'latest'}` })}
      />
      <Wait of={diff}>{(value) => <Differences diff={value} />}</Wait>
    </Card>
  );
}

const MOMENTS: readonly FieldSpec[] = [
  {
    name: 'from',
    label: 'From (UTC)',
    is: 'datetime-local',
    help: 'Default: the first revision of each day.',
  },
  { name: 'to', label: 'To (UTC)', is: 'datetime-local', help: 'Default: now.' },
];

const MOST_LINES = 500;

function Differences({ diff: { data, meta } }: { readonly diff: Diff }) {
  const { methodDays = [], inexactDays = [] } = meta;
  const lines = linesOf(data);
  const found = `${counted(lines.length, 'value')} in ${counted(data.length, 'row')} differ`;
  const cut = lines.length > MOST_LINES ? `; the first ${count(MOST_LINES)} are shown, CSV has all` : '';
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

const change = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2, signDisplay: 'exceptZero' });

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
      return number === null ? '–' : `${change.format(number)}${unit}`;
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
