/** Answers that stay: which there are, each as it was pinned, and the way to be rid of one. */
import { DataTable } from '../ui/data-table.js';
import { ConfirmButton } from '../ui/dialog.js';
import { bytes, count, counted, moment } from '../ui/format.js';
import { useLoad } from '../ui/load.js';
import { useNotices } from '../ui/notices.js';
import { Card, Empty, Name, Tag, Wait } from '../ui/parts.js';
import { View } from '../ui/shell.js';
import { useTeam } from './team.js';

interface Pin {
  readonly id: string;
  readonly endpoint: string;
  readonly query: string;
  readonly note: string | null;
  readonly createdAt: string;
  readonly final: boolean;
  readonly rowCount: number;
}

interface PinList {
  readonly data: readonly Pin[];
  readonly meta: {
    readonly count: number;
    readonly bytes: number;
    readonly maxCount: number;
    readonly maxBytes: number;
  };
}

export function Pins() {
  const { api } = useTeam();
  const path = '/gateway/v1/pins?limit=1000';
  const pins = useLoad(path, (signal) => api.get<PinList>(path, signal));
  return (
    <View title="Pins" lead="Answers that stay byte for byte the same, whatever the platform says later.">
      <Wait of={pins}>
        {({ data, meta }) => (
          <Card title={`${counted(meta.count, 'pin')} of ${count(meta.maxCount)}`}>
            <p class="small quiet">
              {bytes(meta.bytes)} of {bytes(meta.maxBytes)}
            </p>
            {data.length === 0 ? (
              <Empty>There are no pins yet. A report has a button to pin it.</Empty>
            ) : (
              <PinTable pins={data} reload={pins.reload} />
            )}
          </Card>
        )}
      </Wait>
    </View>
  );
}

function PinTable({ pins, reload }: { readonly pins: readonly Pin[]; readonly reload: () => void }) {
  return (
    <DataTable
      caption="Pins of the team"
      rows={pins}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Pinned',
          cell: ({ createdAt }) => moment(createdAt),
          by: ({ createdAt }) => createdAt,
        },
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
        {
          title: 'Rows',
          numeric: true,
          cell: ({ rowCount }) => count(rowCount),
          by: ({ rowCount }) => rowCount,
        },
        {
          title: 'State',
          cell: ({ final }) => <Tag tone={final ? 'good' : 'warn'}>{final ? 'final' : 'provisional'}</Tag>,
        },
        { title: 'Do', cell: (pin) => <PinTools pin={pin} reload={reload} /> },
      ]}
    />
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
          question="The pin and its rows are gone then; nothing brings them back."
          grave
          act={() => act(() => api.send('DELETE', path), 'The pin is gone.').then(reload)}
        />
      ) : null}
    </span>
  );
}
