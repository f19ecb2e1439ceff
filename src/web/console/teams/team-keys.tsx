/** The keys of a team, with their actions. */
import { type Column, DataTable, timeColumn } from '../../ui/data-table.js';
import { counted, moment, span } from '../../ui/format.js';
import { keyName, keyState } from '../../ui/key-state.js';
import { expiryColumn, keyColumn, LiveKeys, stateColumn } from '../../ui/keys.js';
import { Card, Wait } from '../../ui/parts.js';
import { useGet } from '../../ui/session.js';
import { useAdmin } from '../admin.js';
import { IssueButton, KeyTools, type OfTeam } from './key-actions.js';
import type { Team, TeamKey } from './team.js';

export function TeamKeys({ team }: { readonly team: Team }) {
  const keys = useGet<{ keys: TeamKey[] }>(`/admin/v1/teams/${team.id}/keys`, 30_000);
  const of = { team, changed: keys.reload };
  return (
    <Card title="Keys" tools={<IssueButton {...of} />}>
      <Wait of={keys}>
        {({ keys: all }) => (
          <>
            {all.map((key) => (
              <OldKey key={key.id} of={key} />
            ))}
            <LiveKeys keys={all}>{(shown) => <KeyTable keys={shown} {...of} />}</LiveKeys>
          </>
        )}
      </Wait>
    </Card>
  );
}

/** An app goes on with a key that is not valid any more. */
function OldKey({ of }: { readonly of: TeamKey }) {
  const { refusedCalls } = of;
  if (!refusedCalls) return null;
  const { calls, lastAt, address } = refusedCalls;
  const state = keyState(of, Date.now());
  return (
    <p class="note warn">
      {counted(calls, 'call')} in the last hour with {state === 'valid' ? 'an old secret of' : `the ${state}`}{' '}
      key {keyName(of)}, last from {address} at {moment(lastAt)}: give that app the new key.
    </p>
  );
}

function KeyTable({ keys, ...of }: OfTeam & { readonly keys: readonly TeamKey[] }) {
  const { may } = useAdmin();
  const mayAct = may('POST /admin/v1/keys/:id/roll') || may('DELETE /admin/v1/keys/:id');
  const actions: Column<TeamKey> = {
    title: 'Actions',
    cell: (key) => keyState(key, Date.now()) === 'valid' && <KeyTools keyOf={key} {...of} />,
  };
  return (
    <DataTable
      caption="Keys of the team"
      columns={mayAct ? [...COLUMNS, actions] : COLUMNS}
      rows={keys}
      keyOf={({ id }) => id}
      sorted={{ index: 2, down: true }}
      empty="The team has no valid key, so it cannot call."
    />
  );
}

const LAST_USE = timeColumn<TeamKey>('Last use', ({ lastUsedAt }) => lastUsedAt, 'never');

const COLUMNS: readonly Column<TeamKey>[] = [
  keyColumn<TeamKey>(({ maker, makerName }) =>
    maker === undefined ? null : (
      <span class="small quiet">
        of <bdi>{makerName ?? maker}</bdi>
      </span>
    ),
  ),
  stateColumn({
    'long-ago': 'refused: its maker must sign in again',
    'not-allowed': 'refused: its maker may have no keys',
    'team-disabled': 'refused: team disabled',
  }),
  {
    title: 'Age',
    numeric: true,
    by: ({ createdAt }) => -Date.parse(createdAt),
    cell: ({ createdAt }) => (
      <time dateTime={createdAt} title={moment(createdAt)}>
        {span(Math.max(0, Date.now() - Date.parse(createdAt)) / 1000)}
      </time>
    ),
  },
  {
    ...LAST_USE,
    // It is not known which of two valid secrets was used.
    cell: (key) => (
      <>
        {LAST_USE.cell(key)}
        {key.lastUsedAt === null || key.previous === null ? null : (
          <span class="small quiet"> of either secret</span>
        )}
      </>
    ),
  },
  expiryColumn,
];
