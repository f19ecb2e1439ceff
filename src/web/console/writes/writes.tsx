/** Spend against budgets, refused writes and those of unknown outcome, and stops of writes. */
import type { NameOf } from '../../../api/operations/audit-sentence.js';
import type { AnswerTo } from '../../../api/operations/table.js';
import { type Column, DataTable } from '../../ui/data-table.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { amount, moment } from '../../ui/format.js';
import { type Loaded, useLoad } from '../../ui/load.js';
import { useNotices } from '../../ui/notices.js';
import { Bars, Card, Name, toneOf, Wait } from '../../ui/parts.js';
import { type Api, useGet } from '../../ui/session.js';
import { View } from '../../ui/shell.js';
import { sortedBy } from '../../ui/sort.js';
import { useAdmin } from '../admin.js';
import { useNames } from '../names.js';
import { TeamLink } from '../team-link.js';
import type { Team } from '../teams/team.js';
import { StopCard, type WritesAnswer } from './stops.js';

type UnknownAnswer = AnswerTo<'GET /admin/v1/writes/unknown'>;
type UnknownWrite = UnknownAnswer['writes'][number];

interface Named {
  readonly nameOf: NameOf;
}

export function Writes({ writes }: { readonly writes: Loaded<WritesAnswer> }) {
  const unknown = useGet<UnknownAnswer>('/admin/v1/writes/unknown', 10_000);
  const nameOf = useNames();
  return (
    <View
      title="Writes"
      lead="Today's spend against budgets, refused writes, writes of unknown outcome, and stops."
    >
      <BudgetsCard />
      <Wait of={writes}>{({ refused }) => <RefusedCard writes={refused} nameOf={nameOf} />}</Wait>
      <Wait of={unknown}>
        {({ writes }) => <UnknownCard writes={writes} settled={unknown.reload} nameOf={nameOf} />}
      </Wait>
      <StopCard changed={writes.reload} />
    </View>
  );
}

type Budget = AnswerTo<'GET /admin/v1/teams/:id/write-budgets'>['budgets'][number];

/** Of teams with a daily limit. */
async function loadBudgets(api: Api, signal: AbortSignal) {
  const { teams } = await api.get<{ teams: readonly Team[] }>('/admin/v1/teams', signal);
  const limited = teams.filter(({ writeGuard = {} }) =>
    Object.values(writeGuard).some(({ budget }) => budget?.maxPerDay !== undefined),
  );
  const found = await Promise.all(
    limited.map(async ({ id, name }) => {
      const path = `/admin/v1/teams/${encodeURIComponent(id)}/write-budgets`;
      const { budgets } = await api.get<{ budgets: readonly Budget[] }>(path, signal);
      return budgets.map((budget) => ({ id, name, ...budget }));
    }),
  );
  return found
    .flat()
    .map((one) => ({ ...one, share: one.maxPerDay === 0 ? 1 : 1 - one.left / one.maxPerDay }));
}

function BudgetsCard() {
  const { api } = useAdmin();
  const budgets = useLoad('budgets', (signal) => loadBudgets(api, signal), 15_000);
  return (
    <Wait of={budgets}>
      {(all) => (
        <Bars
          title="Spent today, of the budget"
          empty="No team has a budget for writes: set one under Teams, Edit, Write guard."
          bars={sortedBy(all, ({ share }) => share, true).map(({ id, name, route, ...one }) => ({
            key: `${id} ${route}`,
            title: (
              <>
                <TeamLink id={id} name={name} /> <code class="small quiet">{route}</code>
              </>
            ),
            says: `${amount(one.maxPerDay - one.left)} of ${amount(one.maxPerDay, one.currency ?? NO_CURRENCY)}`,
            share: one.share,
            tone: toneOf(one.share),
          }))}
        />
      )}
    </Wait>
  );
}

/** In place of a currency: of a rule that names none. */
const NO_CURRENCY = 'in the currency of the call';

const writeColumns = (nameOf: NameOf): readonly Column<Pick<UnknownWrite, 'at' | 'team' | 'route'>>[] => [
  { title: 'Time', cell: ({ at }) => <span class="nowrap">{moment(at)}</span>, by: ({ at }) => at },
  {
    title: 'Team',
    cell: ({ team }) => <Name>{nameOf('team', team)}</Name>,
    by: ({ team }) => nameOf('team', team),
  },
  { title: 'Call', cell: ({ route }) => <code>{route}</code>, by: ({ route }) => route },
];

type RefusedWrite = WritesAnswer['refused'][number];

/** What refused a write, by the rule of the guard or the code of the problem. */
const REFUSED_BY: Readonly<Record<string, string>> = {
  'budget.maxPerCall': 'limit of a call',
  'budget.maxPerDay': 'budget of the day',
  'budget.currency': 'currency',
  amounts: 'limit of an amount',
  allowFields: 'a member that is not allowed',
  requireIdempotencyKey: 'no idempotency key',
  writes_stopped: 'stop of writes',
};

const refusedColumns = (nameOf: NameOf): readonly Column<RefusedWrite>[] => [
  ...writeColumns(nameOf),
  {
    title: 'Refused by',
    cell: ({ code, rule }) => (
      <span>
        {REFUSED_BY[rule ?? code]} <code class="small">{rule ?? code}</code>
      </span>
    ),
    by: ({ code, rule }) => rule ?? code,
  },
  { title: 'Key', cell: ({ key }) => <Name>{nameOf('key', key)}</Name>, by: ({ key }) => nameOf('key', key) },
];

/** Maximum rows on the page: the admin API returns more. */
const MOST = 8;

const RefusedCard = ({ writes, nameOf }: Named & { readonly writes: readonly RefusedWrite[] }) => (
  <Card title={`Refused writes, last 40 days${writes.length > MOST ? `: the newest ${MOST}` : ''}`}>
    <DataTable
      caption="Writes that were refused last"
      columns={refusedColumns(nameOf)}
      rows={writes.slice(0, MOST)}
      keyOf={({ requestId }) => requestId}
      empty="None: no guard and no stop refused a write."
    />
  </Card>
);

const unknownColumns = (nameOf: NameOf): readonly Column<UnknownWrite>[] => [
  ...writeColumns(nameOf),
  { title: 'Charged to', cell: ({ day }) => day, by: ({ day }) => day },
  { title: 'Amount', cell: amountOf, by: ({ amount }) => amount, numeric: true },
  { title: 'Why', cell: ({ why }) => <bdi>{why}</bdi> },
];

function amountOf({ amount: value, currency }: UnknownWrite): string {
  return value === null ? 'none' : amount(value, currency ?? NO_CURRENCY);
}

interface UnknownProps extends Pick<UnknownAnswer, 'writes'>, Named {
  readonly settled: () => void;
}

function UnknownCard({ writes, settled, nameOf }: UnknownProps) {
  const { may } = useAdmin();
  const settle: Column<UnknownWrite> = {
    title: 'Outcome',
    cell: (write) => <SettleButtons write={write} settled={settled} />,
  };
  const told = unknownColumns(nameOf);
  const columns = may('POST /admin/v1/writes/settle') ? [...told, settle] : told;
  return (
    <Card title="Unknown outcome">
      {writes.length === 0 ? null : (
        <p class="quiet">
          The platform may have executed these writes, so each stays charged to its day. Check the platform,
          then record the outcome.
        </p>
      )}
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
