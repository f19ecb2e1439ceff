/** What changed of the report, from history, without a platform call: by day; below that row by row, between two moments. */
import { useMemo, useState } from 'preact/hooks';
import { type Column, DataTable } from '../ui/data-table.js';
import type { FieldSpec } from '../ui/form-values.js';
import { Card, Empty, Name, Tag, type Tone, Wait } from '../ui/parts.js';
import { SchemaForm } from '../ui/schema-form.js';
import { useGet } from '../ui/session.js';
import { instantFrom, isKnown, isNamed, momentsOf, pinIn, type Revisions } from './changed.js';
import { Changed, Since } from './changed-days.js';
import { currencyOf, haveCurrencies, shown, titleOf, unitOf, written } from './columns.js';
import { type Diff, type DiffRow, type Names, namesIn, subjectOf } from './diff-rows.js';
import { counted, numbers } from './numbers.js';
import type { Report } from './parse.js';
import { PINS, type Pins } from './pinned.js';
import { aboutPath, instantOf, type Viewed } from './question.js';

const MOST_LINES = 500;

type DiffLine = ReturnType<typeof linesOf>[number];

function linesOf(rows: readonly DiffRow[], names: Names) {
  return rows.flatMap((row, index) =>
    Object.entries(row.changed).map(([column, cell]) => ({
      ...cell,
      key: `${index} ${column}`,
      date: row.date,
      subject: subjectOf(row, names),
      kind: KINDS[row.kind],
      column,
    })),
  );
}

export function DiffPanel({ report, ...props }: Viewed & { readonly report: Report }) {
  const { question, view } = props;
  const names = useMemo(() => namesIn(report.rows), [report]);
  const isByDay = question.splits.includes('byDate');
  const revisions = useGet<Revisions>(isByDay ? aboutPath('revisions', { ...question, asOf: '' }) : null);
  const pin = pinIn(momentsOf(view.between).from);
  const pins = useGet<Pins>(pin === null ? null : PINS);
  const currency = currencyOf(report.rows, props.about.currency);
  if (!isByDay)
    return (
      <Card title="What changed">
        <Empty>History is kept by day: choose one row per date above to see it.</Empty>
      </Card>
    );
  const pinnedAt = pins.value?.data.find(({ id }) => id === pin)?.createdAt ?? null;
  return (
    <Card title="What changed" tools={<Since {...props} pinnedAt={pinnedAt} />}>
      <Wait of={revisions}>
        {(value) => (
          <>
            {isKnown(value) && !pins.loading ? (
              <Changed
                {...props}
                revisions={value}
                pinnedAt={pinnedAt}
                currency={currency}
                isMixed={haveCurrencies(report.rows)}
                names={names}
              />
            ) : null}
            <BetweenMoments
              {...props}
              names={names}
              currency={currency}
              opens={!(view.between === '' || isNamed(view.between)) || !isKnown(value)}
            />
          </>
        )}
      </Wait>
    </Card>
  );
}

interface BetweenProps extends Viewed {
  readonly names: Names;
  /** Of money; null: unknown, or there are several. */
  readonly currency: string | null;
  /** At once: moments are given, or the refusal of the comparison says why nothing is known. */
  readonly opens: boolean;
}

/** Row by row. */
function BetweenMoments({ question, view, setView, names, currency, opens }: BetweenProps) {
  const { from, to } = momentsOf(view.between);
  const pin = pinIn(from);
  const [isOpen, setIsOpen] = useState(opens);
  const asked = { from: instantFrom(from, Date.now()) || 'first', to: instantOf(to) || 'latest' };
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
        start={{ from: pin !== null ? '' : instantFrom(from, Date.now()).replace(/:00Z$/, ''), to }}
        submit="Compare"
        look=""
        send={async (typed) =>
          setView({ between: `${typed.from || (pin ?? 'first')},${typed.to || 'latest'}` })
        }
      />
      <Wait of={diff}>{(value) => <Differences diff={value} names={names} currency={currency} />}</Wait>
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

interface DifferencesProps extends Pick<BetweenProps, 'names' | 'currency'> {
  readonly diff: Diff;
}

function Differences({ diff: { data, meta }, names, currency }: DifferencesProps) {
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
          {counted(methodDays.length, 'day was', 'days were')} fetched with other settings, so part of the
          difference may not be the platform’s. Ask your operator what was set.
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
          columns={columnsWith(currency)}
        />
      )}
    </>
  );
}

const KINDS: Readonly<Record<DiffRow['kind'], readonly [Tone, string]>> = {
  changed: ['info', 'changed'],
  added: ['good', 'added'],
  removed: ['bad', 'removed'],
  method: ['warn', 'other settings'],
};

/** The text of a value of a measure. @param value a number, or its text. @param currency of money; null: unknown, or there are several */
function valueText(value: unknown, measure: string, currency: string | null): string {
  const unit = unitOf(measure);
  const told = unit === 'money' && value !== null && value !== '' && Number.isFinite(Number(value));
  return (told ? written(Number(value), { numeric: true, unit }, currency) : shown(value, true)) || '–';
}

function changeText({ old, new: now, diff, column }: DiffLine, currency: string | null): string {
  if (numberIn(diff) === null) return '–';
  return numbers.signed(Number(now), Number(old), unitOf(column), currency);
}

/** @param value a number, or its text */
const numberIn = (value: unknown): number | null => ((value ?? null) === null ? null : Number(value));
/** Sorted by size, whatever the sign. */
const sizeOf = (value: unknown): number | null => (numberIn(value) === null ? null : Math.abs(Number(value)));

const columnsWith = (currency: string | null): readonly Column<DiffLine>[] => [
  { title: 'Day', cell: ({ date }) => date, by: ({ date }) => date },
  { title: 'Row', cell: ({ subject }) => <Name>{subject || 'all'}</Name>, by: ({ subject }) => subject },
  {
    title: 'Kind',
    cell: ({ kind: [tone, word] }) => <Tag tone={tone}>{word}</Tag>,
    by: ({ kind: [, word] }) => word,
  },
  { title: 'Column', cell: ({ column }) => titleOf(column), by: ({ column }) => column },
  { title: 'Old', numeric: true, cell: (line) => valueText(line.old, line.column, currency) },
  { title: 'New', numeric: true, cell: (line) => valueText(line.new, line.column, currency) },
  {
    title: 'Change',
    numeric: true,
    cell: (line) => changeText(line, currency),
    by: ({ diff }) => sizeOf(diff),
  },
  {
    title: '%',
    numeric: true,
    cell: ({ percent }) => (sizeOf(percent) === null ? '–' : numbers.percent(Number(percent))),
    by: ({ percent }) => sizeOf(percent),
  },
];
