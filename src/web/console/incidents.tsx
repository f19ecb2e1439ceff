/** The last incidents on the Overview. */
import { failedReportsOf, incidentOf, spanOf } from '../../lib/words.js';
import { type Column, DataTable, numberColumn } from '../ui/data-table.js';
import { counted } from '../ui/format.js';
import { Card, Tag } from '../ui/parts.js';
import { hrefOf } from '../ui/route.js';
import { RequestLink } from './requests.js';
import { TeamLink } from './team-link.js';
import type { Status } from './verdict-words.js';

type Incidents = NonNullable<Status['incidents']>;
type Row = Incidents[number];

const PARTS: Readonly<Record<Row['part'], string>> = { platform: 'platform', credential: 'token' };

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'When',
    by: ({ from }) => from,
    cell: (one) => (
      <span>
        {one.until === null ? <Tag tone="bad">lasts</Tag> : null} {spanOf(one, Date.now())}
      </span>
    ),
  },
  { title: 'Part', by: ({ part }) => PARTS[part], cell: ({ part }) => PARTS[part] },
  { title: 'Cause', by: incidentOf, cell: incidentOf },
  numberColumn('Failed reports', ({ failedReports }) => failedReports),
  { title: 'Request ids', cell: (one) => <RequestIds of={one} /> },
  {
    title: 'Teams',
    // One box: on a phone a cell lays its children side by side.
    cell: ({ teams }) => (
      <span>
        {teams.length === 0
          ? 'none'
          : teams.map((id, at) => (
              <span key={id}>
                {at === 0 ? '' : ', '}
                <TeamLink id={id} name={id} />
              </span>
            ))}
      </span>
    ),
  },
];

function RequestIds({ of }: { readonly of: Row }) {
  const { failedReports, requestIds = [] } = of;
  const rest = failedReports - requestIds.length;
  return (
    <span>
      {requestIds.map((id) => (
        <span key={id}>
          <RequestLink id={id} />{' '}
        </span>
      ))}
      {rest <= 0 ? null : (
        <a href={hrefOf(['requests'], failedReportsOf(of))}>
          {requestIds.length === 0 ? '' : 'and '}
          {rest} more
        </a>
      )}
      {failedReports === 0 ? 'none' : null}
    </span>
  );
}

const SHOWN = 3;

const Rows = ({ of }: { readonly of: Incidents }) => (
  <DataTable
    caption="Incidents with cause and teams"
    columns={COLUMNS}
    rows={of}
    keyOf={({ part, from }) => `${part} ${from}`}
    empty="Not known: the store does not answer."
  />
);

export function IncidentsCard({ incidents }: { readonly incidents: Status['incidents'] }) {
  if (incidents !== null && incidents.length === 0) return null;
  const older = (incidents ?? []).slice(SHOWN);
  return (
    <Card title="Last incidents" tools={<span class="small quiet">30 days, times in UTC</span>}>
      <Rows of={(incidents ?? []).slice(0, SHOWN)} />
      {older.length === 0 ? null : (
        <details>
          <summary>{counted(older.length, 'older one')}</summary>
          <Rows of={older} />
        </details>
      )}
    </Card>
  );
}
