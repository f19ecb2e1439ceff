/** Stops of writes, and writes of unknown outcome. */
import type { AnswerTo } from '../../../api/operations/table.js';
import { type Column, DataTable } from '../../ui/data-table.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { moment } from '../../ui/format.js';
import { useNotices } from '../../ui/notices.js';
import { Card, Name, Wait } from '../../ui/parts.js';
import { useGet } from '../../ui/session.js';
import { View } from '../../ui/shell.js';
import { useAdmin } from '../admin.js';
import { StopCard } from './stops.js';

type UnknownAnswer = AnswerTo<'GET /admin/v1/writes/unknown'>;
type UnknownWrite = UnknownAnswer['writes'][number];

export function Writes({ changed }: { readonly changed: () => void }) {
  const unknown = useGet<UnknownAnswer>('/admin/v1/writes/unknown', 10_000);
  return (
    <View
      title="Writes"
      lead="Writes to the platform: stop them if something looks wrong, and settle writes with an unknown outcome."
    >
      <StopCard changed={changed} />
      <Wait of={unknown}>{({ writes }) => <UnknownCard writes={writes} settled={unknown.reload} />}</Wait>
    </View>
  );
}

const COLUMNS: readonly Column<UnknownWrite>[] = [
  { title: 'Sent', cell: ({ at }) => <span class="nowrap">{moment(at)}</span>, by: ({ at }) => at },
  { title: 'Team', cell: ({ team }) => <Name>{team}</Name>, by: ({ team }) => team },
  { title: 'Call', cell: ({ route }) => <code>{route}</code>, by: ({ route }) => route },
  { title: 'Charged to', cell: ({ day }) => day, by: ({ day }) => day },
  { title: 'Amount', cell: amountOf, by: ({ amount }) => amount, numeric: true },
  { title: 'Why', cell: ({ why }) => <bdi>{why}</bdi> },
];

function amountOf({ amount, currency }: UnknownWrite): string {
  if (amount === null) return 'none';
  return currency === null ? String(amount) : `${amount} ${currency}`;
}

function UnknownCard({ writes, settled }: Pick<UnknownAnswer, 'writes'> & { readonly settled: () => void }) {
  const { may } = useAdmin();
  const settle: Column<UnknownWrite> = {
    title: 'Outcome',
    cell: (write) => <SettleButtons write={write} settled={settled} />,
  };
  const columns = may('POST /admin/v1/writes/settle') ? [...COLUMNS, settle] : COLUMNS;
  return (
    <Card title="Unknown outcome">
      <p class="quiet">
        The platform may have executed these writes, so each stays charged to its day. Check the platform,
        then record the outcome.
      </p>
      <DataTable
        caption="Writes with an unknown outcome"
        columns={columns}
        rows={writes}
        keyOf={({ id }) => id}
        empty="None: the outcome of every guarded write is known."
      />
    </Card>
  );
}

function SettleButtons({ write, settled }: { readonly write: UnknownWrite; readonly settled: () => void }) {
  const { id, team, day } = write;
  const amount = amountOf(write);
  const { api } = useAdmin();
  const { act } = useNotices();
  const settle = async (outcome: 'happened' | 'not', words: string) => {
    if (await act(() => api.send('POST', '/admin/v1/writes/settle', { id, outcome }), words)) settled();
  };
  return (
    <div class="row">
      <ConfirmButton
        label="Executed"
        question={
          <p>
            {amount} stays charged to <Name>{team}</Name> on {day}.
          </p>
        }
        act={() => settle('happened', 'Recorded as executed; it stays charged.')}
      />
      <ConfirmButton
        label="Not executed"
        question={
          <p>
            {amount} is returned to the budget of <Name>{team}</Name> on {day}. Make sure that the platform
            has not executed it.
          </p>
        }
        act={() => settle('not', 'Recorded as not executed; its budget is returned.')}
      />
    </div>
  );
}
