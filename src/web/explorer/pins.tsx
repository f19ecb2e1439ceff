/** The list of pins. */
import type { AnswerTo } from '../../api/operations/table.js';
import { type Column, DataTable } from '../ui/data-table.js';
import { ConfirmButton } from '../ui/dialog.js';
import { bytes, count, counted, moment } from '../ui/format.js';
import { useNotices } from '../ui/notices.js';
import { Card, Name, Tag, Wait } from '../ui/parts.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import { useTeam } from './team.js';

type Pins = AnswerTo<'GET /gateway/v1/pins'>;
type Pin = Pins['data'][number];

const COLUMNS: readonly Column<Pin>[] = [
  { title: 'Pinned', cell: (pin) => moment(pin.createdAt), by: (pin) => pin.createdAt },
  {
    title: 'Report',
    cell: ({ endpoint, query, note }) => (
      <span>
        <Name>{`${endpoint}?${query}`}</Name>
        {note === null ? null : <Name>{` ${note}`}</Name>}
      </span>
    ),
    by: ({ query }) => query,
  },
  { title: 'Rows', numeric: true, cell: (pin) => count(pin.rowCount), by: (pin) => pin.rowCount },
  {
    title: 'State',
    cell: ({ final }) => <Tag tone={final ? 'good' : 'warn'}>{final ? 'final' : 'provisional'}</Tag>,
  },
];

export function Pins() {
  const pins = useGet<Pins>('/gateway/v1/pins?limit=1000');
  const tools: Column<Pin> = { title: 'Do', cell: (pin) => <PinTools pin={pin} reload={pins.reload} /> };
  return (
    <View title="Pins" lead="Answers kept byte for byte, even if the platform changes its numbers.">
      <Wait of={pins}>
        {({ data, meta }) => (
          <Card title={`${counted(meta.count, 'pin')} of ${count(meta.maxCount)}`}>
            <p class="small quiet">
              {bytes(meta.bytes)} of {bytes(meta.maxBytes)}
            </p>
            <DataTable
              caption="Pins of the team"
              rows={data}
              keyOf={({ id }) => id}
              columns={[...COLUMNS, tools]}
              empty="There are no pins yet. Pin a report by its Pin button."
            />
          </Card>
        )}
      </Wait>
    </View>
  );
}

function PinTools({ pin: { id }, reload }: { readonly pin: Pin; readonly reload: () => void }) {
  const { api, session } = useTeam();
  const { act } = useNotices();
  const path = `/gateway/v1/pins/${encodeURIComponent(id)}`;
  return (
    <span class="row">
      <a href={`${path}?_format=json`}>Open</a>
      <a href={`${path}?_format=csv&_bom=1`} download={`${id}.csv`}>
        CSV
      </a>
      {session.scopes.includes('report:pin') ? (
        <ConfirmButton
          label="Delete"
          question="The pin and its rows are deleted permanently."
          grave
          act={() => act(() => api.send('DELETE', path), 'Pin deleted.').then(reload)}
        />
      ) : null}
    </span>
  );
}
