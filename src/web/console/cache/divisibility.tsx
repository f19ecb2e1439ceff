/** Learned divisibility by day, by kind: reports that differ only in dates and accounts. */
import type { AnswerTo } from '../../../api/operations/table.js';
import { type Column, DataTable, timeColumn } from '../../ui/data-table.js';
import { count } from '../../ui/format.js';
import { Card, Tag, Wait } from '../../ui/parts.js';
import { useGet } from '../../ui/session.js';

type Answer = AnswerTo<'GET /admin/v1/divisibility'>;
type Kind = Answer['kinds'][number];

export function Divisibility() {
  const known = useGet<Answer>('/admin/v1/divisibility', 60_000);
  return (
    <Card title="Divisibility by kind">
      <p class="quiet">
        A report is cached by day once days of its kind, fetched separately, were seen to equal those of a
        longer period.
      </p>
      <Wait of={known}>
        {({ kinds, pinned }) => (
          <>
            {pinned.map(({ endpoint, divisible }) => (
              <p key={endpoint} class="small">
                <strong>{endpoint}</strong> is {divisible === 'always' ? 'always' : 'never'} split by day, as
                configured.
              </p>
            ))}
            <DataTable
              caption="Kinds of reports"
              columns={COLUMNS}
              rows={kinds}
              keyOf={({ id }) => id}
              sorted={{ index: 0, down: false }}
              empty="Nothing has been learned yet. Learning starts when a report by date is requested more than once."
            />
          </>
        )}
      </Wait>
    </Card>
  );
}

const TONES = { learning: 'quiet', probation: 'info', proven: 'good', refuted: 'bad' } as const;

function Agreed({ kind: { state, agreedDays, neededDays } }: { readonly kind: Kind }) {
  if (state === 'proven') return <>enough</>;
  return (
    <>
      {count(agreedDays)} of {count(neededDays)}
      {state === 'learning' && agreedDays >= neededDays ? (
        <span class="small quiet">
          <br />
          of one pair of answers; two are required
        </span>
      ) : null}
    </>
  );
}

const COLUMNS: readonly Column<Kind>[] = [
  { title: 'Endpoint', by: ({ endpoint }) => endpoint, cell: ({ endpoint }) => endpoint ?? 'unknown' },
  { title: 'Split', cell: ({ split }) => split?.join(', ') ?? 'unknown' },
  {
    title: 'Also',
    cell: ({ spentBased, passedOn }) =>
      [...(spentBased === null ? [] : [`spentBased ${spentBased}`]), ...passedOn].join(', ') || '–',
  },
  {
    title: 'State',
    by: ({ state }) => state,
    cell: ({ state }) => <Tag tone={TONES[state]}>{state}</Tag>,
  },
  {
    title: 'Matching days',
    numeric: true,
    // Proven kinds need no more days, and their count has restarted.
    by: ({ state, agreedDays, neededDays }) => (state === 'proven' ? neededDays : agreedDays),
    cell: (kind) => <Agreed kind={kind} />,
  },
  timeColumn('Proven', ({ provenAt }) => provenAt, '–'),
  { title: 'Meaning', cell: ({ inWords }) => <span class="meaning">{inWords}</span> },
];
