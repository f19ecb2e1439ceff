/** The list of pins. */
import { type Column, DataTable } from '../ui/data-table.js';
import { ConfirmButton } from '../ui/dialog.js';
import { bytes } from '../ui/format.js';
import { useNotices } from '../ui/notices.js';
import { Card, Name, Wait } from '../ui/parts.js';
import { hrefOf, useRoute } from '../ui/route.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import { endpointTitle } from './endpoints.js';
import { counted, numbers } from './numbers.js';
import { PINS, type Pin, type Pins as PinList, pinPath, questionOf, splitWords, thenOf } from './pinned.js';
import { PinLinks, PinnedBy, PinnedRows, PinState } from './pinned-rows.js';
import { toldPeriod } from './spans.js';
import { useAdvertisers, useTeam } from './team.js';

type NameOf = (id: string) => string | null;

const columnsWith = (names: NameOf): readonly Column<Pin>[] => [
  {
    title: 'Report',
    cell: (pin) => <Report pin={pin} names={names} />,
    by: (pin) => `${endpointTitle(pin.endpoint)} ${nameOf(pin, names)}`,
  },
  {
    title: 'Period',
    cell: (pin) => <Days pin={pin} />,
    by: ({ period }) => period?.from ?? null,
  },
  { title: 'Note', cell: ({ note }) => (note === null ? '–' : <Name>{note}</Name>), by: ({ note }) => note },
  {
    title: 'Pinned',
    cell: (pin) => (
      <span>
        <PinnedBy pin={pin} /> <PinState pin={pin} />
      </span>
    ),
    by: (pin) => pin.createdAt,
  },
];

function Report({ pin, names }: { readonly pin: Pin; readonly names: NameOf }) {
  return (
    <span title={`${pin.endpoint}?${pin.query}`}>
      <strong>{endpointTitle(pin.endpoint)}</strong> <Name>{nameOf(pin, names)}</Name>{' '}
      <span class="small quiet">
        {pin.advertiserId === null ? '' : `${pin.advertiserId}, `}
        {splitWords(pin.split)}, {counted(pin.rowCount, 'row')}
        {questionOf(pin) === null ? ', with parameters that this page has no fields for' : ''}
      </span>
    </span>
  );
}

function Days({ pin }: { readonly pin: Pin }) {
  const then = thenOf(pin);
  return (
    <span>
      <span class="nowrap">{toldPeriod(pin.period)}</span>{' '}
      {then === null ? null : <span class="small quiet nowrap">as of {then}</span>}
    </span>
  );
}

function nameOf({ advertiserId }: Pin, names: NameOf): string {
  if (advertiserId === null) return 'No advertiser';
  return names(String(advertiserId)) ?? 'Advertiser';
}

export function Pins() {
  const { nameOf } = useAdvertisers();
  const id = useRoute().query.get('pin');
  return id === null ? <AllPins names={nameOf} /> : <PinnedRows key={id} id={id} nameOf={nameOf} />;
}

function AllPins({ names }: { readonly names: NameOf }) {
  const pins = useGet<PinList>(PINS);
  const tools: Column<Pin> = { title: 'Do', cell: (pin) => <PinTools pin={pin} reload={pins.reload} /> };
  return (
    <View title="Pins" lead="Reports that stay as they are, whatever the platform changes later.">
      <Wait of={pins}>
        {({ data, meta }) => (
          <Card
            title={`${counted(meta.count, 'pin')} of ${numbers.whole(meta.maxCount)}`}
            tools={
              <span class="small quiet">
                {bytes(meta.bytes)} of {bytes(meta.maxBytes)}
              </span>
            }
          >
            <DataTable
              caption="Pins of the team"
              rows={data}
              keyOf={({ id }) => id}
              columns={[...columnsWith(names), tools]}
              empty="There are no pins yet. Pin a report by its Pin button."
            />
          </Card>
        )}
      </Wait>
    </View>
  );
}

function PinTools({ pin, reload }: { readonly pin: Pin; readonly reload: () => void }) {
  const { id } = pin;
  const { api, session } = useTeam();
  const { act } = useNotices();
  return (
    <span class="row">
      <a href={hrefOf(['pins'], { pin: id })}>Pinned rows</a>
      <PinLinks id={id} pin={pin} />
      {session.scopes.includes('report:pin') ? (
        <ConfirmButton
          label="Delete"
          question="The pin and its rows are deleted permanently."
          grave
          act={() => act(() => api.send('DELETE', pinPath(id)), 'Pin deleted.').then(reload)}
        />
      ) : null}
    </span>
  );
}
