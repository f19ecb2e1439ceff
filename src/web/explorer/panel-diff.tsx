/** What became of the report between two moments, from history alone; the platform is not asked. */
import { useEffect, useState } from 'preact/hooks';
import { DataTable } from '../ui/data-table.js';
import { Field } from '../ui/fields.js';
import { count, counted } from '../ui/format.js';
import { useLoad } from '../ui/load.js';
import { Card, Empty, Name, Tag, type Tone } from '../ui/parts.js';
import { shown, titleOf } from './columns.js';
import { askedMoments, type DiffLine, type DiffRow, linesOf, type Moments, momentsOf } from './difference.js';
import { aboutPath, type Question, type ViewState } from './question.js';
import type { SetView } from './report.js';
import { useTeam } from './team.js';
import { Trouble } from './trouble.js';

interface Diff {
  readonly data: readonly DiffRow[];
  readonly meta: {
    readonly from: string;
    readonly to: string;
    readonly rowCount: number;
    readonly methodDays?: readonly string[];
    readonly inexactDays?: readonly string[];
  };
}

interface DiffProps {
  readonly question: Question;
  readonly view: ViewState;
  readonly setView: SetView;
}

export function DiffPanel({ question, view, setView }: DiffProps) {
  if (!question.splits.includes('byDate'))
    return (
      <Card title="Changes">
        <Empty>What was known at other moments is kept by day: split the report by date to see it.</Empty>
      </Card>
    );
  const moments = momentsOf(view.between);
  const path = aboutPath('diff', { ...question, asOf: '' }, askedMoments(moments));
  return (
    <Card
      title="Changes"
      tools={
        <a href={`${path}&_format=csv`} download>
          CSV of changes
        </a>
      }
    >
      <MomentsForm moments={moments} choose={(next) => setView({ between: `${next.from},${next.to}` })} />
      <DiffFound path={path} />
    </Card>
  );
}

interface MomentsProps {
  readonly moments: Moments;
  readonly choose: (moments: Moments) => void;
}

function MomentsForm({ moments, choose }: MomentsProps) {
  const [draft, setDraft] = useState(moments);
  useEffect(() => setDraft(moments), [moments.from, moments.to]);
  const field = (name: keyof Moments, word: string, label: string, help: string) => (
    <Field label={label} help={help}>
      <input
        type="datetime-local"
        value={draft[name] === word ? '' : draft[name]}
        onInput={(event) => setDraft({ ...draft, [name]: event.currentTarget.value || word })}
      />
    </Field>
  );
  return (
    <form
      class="form-grid moments"
      aria-label="Moments"
      onSubmit={(event) => {
        event.preventDefault();
        choose(draft);
      }}
    >
      {field('from', 'first', 'From (UTC)', 'Empty: as each day was first seen.')}
      {field('to', 'latest', 'To (UTC)', 'Empty: as it is known now.')}
      <div class="row end">
        <button type="submit">Compare the moments</button>
      </div>
    </form>
  );
}

/** As many as anybody reads; CSV has all. */
const MOST_LINES = 500;

function DiffFound({ path }: { readonly path: string }) {
  const { api } = useTeam();
  const { value, error, loading, reload } = useLoad(path, (signal) => api.get<Diff>(path, signal));
  if (loading)
    return (
      <p class="looking" role="status">
        One moment …
      </p>
    );
  if (value === null) return <Trouble error={error} again={reload} />;
  const { methodDays = [], inexactDays = [] } = value.meta;
  const lines = linesOf(value.data);
  return (
    <>
      {error === null ? null : <Trouble error={error} again={reload} />}
      <p role="status">
        {lines.length === 0
          ? 'Nothing differs between these moments.'
          : `${counted(lines.length, 'value')} in ${counted(value.data.length, 'row')} differ${lines.length > MOST_LINES ? `; the first ${count(MOST_LINES)} are shown, CSV has all` : ''}.`}
      </p>
      {methodDays.length === 0 ? null : (
        <p class="note info">
          {counted(methodDays.length, 'day')} had other columns, or came by another token: there it need not
          be the platform that changed its numbers.
        </p>
      )}
      {inexactDays.length === 0 ? null : (
        <p class="note info">
          Of {counted(inexactDays.length, 'day')} something else was seen in between that is not kept; the
          nearest that is kept is shown.
        </p>
      )}
      {lines.length === 0 ? null : <DiffTable lines={lines.slice(0, MOST_LINES)} />}
    </>
  );
}

const TONES: Readonly<Record<DiffRow['kind'], Tone>> = {
  changed: 'info',
  added: 'good',
  removed: 'bad',
  method: 'warn',
};

function DiffTable({ lines }: { readonly lines: readonly DiffLine[] }) {
  return (
    <DataTable
      caption="What differs"
      rows={lines}
      keyOf={({ key }) => key}
      columns={[
        { title: 'Day', cell: ({ date }) => date, by: ({ date }) => date },
        {
          title: 'Row',
          cell: ({ subject }) => <Name>{subject || 'all'}</Name>,
          by: ({ subject }) => subject,
        },
        { title: 'Kind', cell: ({ kind }) => <Tag tone={TONES[kind]}>{kind}</Tag>, by: ({ kind }) => kind },
        { title: 'Column', cell: ({ column }) => titleOf(column), by: ({ column }) => column },
        { title: 'Old', numeric: true, cell: (line) => shown(line.old, true) || '–' },
        { title: 'New', numeric: true, cell: (line) => shown(line.new, true) || '–' },
        {
          title: 'Change',
          numeric: true,
          cell: ({ diff }) => (diff === undefined ? '–' : signed(Number(diff))),
          by: ({ diff }) => (diff === undefined ? null : Math.abs(Number(diff))),
        },
        {
          title: '%',
          numeric: true,
          cell: ({ percent }) =>
            percent === undefined || percent === null ? '–' : `${signed(Number(percent))} %`,
          by: ({ percent }) => (percent === undefined || percent === null ? null : Math.abs(Number(percent))),
        },
      ]}
    />
  );
}

const change = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2, signDisplay: 'exceptZero' });
const signed = (value: number): string => change.format(value);
