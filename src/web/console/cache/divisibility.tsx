/** Which reports are cached by day, by kind: reports of a kind differ only in dates and accounts. */
import type { AnswerTo } from '../../../api/operations/table.js';
import { type Column, DataTable } from '../../ui/data-table.js';
import { counted, fromNow } from '../../ui/format.js';
import { Card, Tag, Wait } from '../../ui/parts.js';
import { useGet } from '../../ui/session.js';

type Answer = AnswerTo<'GET /admin/v1/divisibility'>;
type Kind = Answer['kinds'][number];

export function Divisibility() {
  const known = useGet<Answer>('/admin/v1/divisibility', 60_000);
  return (
    <Card title="Can a report be cached by day?">
      <p class="quiet">
        Yes, once the platform has shown that a day has the same numbers in every period. Soon after the first
        report by date, the gateway fetches a period of four weeks and parts of it, and compares them. What it
        finds holds for all reports that differ only in dates and advertisers.
      </p>
      <Wait of={known}>
        {({ kinds, pinned }) => (
          <>
            {pinned.map(({ endpoint, divisible }) => (
              <p key={endpoint} class="small">
                <strong>{endpoint}</strong> is {divisible === 'always' ? 'always' : 'never'} cached by day, as
                configured.
              </p>
            ))}
            <DataTable
              caption="Kinds of reports"
              columns={COLUMNS}
              rows={kinds}
              keyOf={({ id }) => id}
              sorted={{ index: 0, down: false }}
              empty="Nothing has been tested yet. That starts with the first report by date."
            />
          </>
        )}
      </Wait>
    </Card>
  );
}

const TONES = { unknown: 'quiet', proving: 'info', proven: 'good', refuted: 'bad' } as const;
const STATES = {
  unknown: 'not proven yet',
  proving: 'being tested',
  proven: 'yes, proven',
  refuted: 'no, as one period',
} as const;

const COLUMNS: readonly Column<Kind>[] = [
  { title: 'Endpoint', by: ({ endpoint }) => endpoint, cell: ({ endpoint }) => endpoint ?? 'unknown' },
  {
    title: 'Split, and further parameters',
    cell: ({ split, spentBased, passedOn }) =>
      [
        ...(split ?? ['unknown']),
        ...(spentBased === null ? [] : [`spentBased ${spentBased}`]),
        ...passedOn,
      ].join(', '),
  },
  {
    title: 'By day?',
    by: ({ state }) => state,
    cell: ({ state }) => <Tag tone={TONES[state]}>{STATES[state]}</Tag>,
  },
  {
    title: 'Tested',
    by: ({ proof }) => proof?.at ?? null,
    cell: ({ proof }) =>
      proof === null ? '–' : `${fromNow(proof.at, Date.now())}, ${counted(proof.calls, 'call')}`,
  },
  { title: 'Meaning', cell: ({ inWords }) => <span class="meaning">{inWords}</span> },
];
