/** Keys that people with a company account made for themselves, by person. */
import { type Column, DataTable, timeColumn } from '../../ui/data-table.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { counted } from '../../ui/format.js';
import { keyName } from '../../ui/key-state.js';
import { useNotices } from '../../ui/notices.js';
import { Card, Name } from '../../ui/parts.js';
import { useAdmin } from '../admin.js';
import { TeamLink } from '../team-link.js';
import type { OfTeam } from './key-actions.js';
import { latest, type Team, type TeamKey } from './team.js';

interface PersonKeysProps extends Pick<OfTeam, 'changed'> {
  /** With their valid keys. */
  readonly teams: readonly (Pick<Team, 'id' | 'name'> & { readonly keys: readonly TeamKey[] })[];
}

interface Maker {
  readonly id: string;
  readonly name: string;
  readonly keys: readonly (TeamKey & { readonly team: string })[];
}

const REVOKE = 'POST /admin/v1/persons/:id/revoke-keys';

export function PersonKeys({ teams, changed }: PersonKeysProps) {
  const { may } = useAdmin();
  const own = teams.flatMap(({ name, keys }) => keys.map((key) => ({ ...key, team: name })));
  const rows = [...new Set(own.flatMap(({ maker }) => maker ?? []))].map((id): Maker => {
    const keys = own.filter(({ maker }) => maker === id);
    return { id, name: keys[0]?.makerName ?? id, keys };
  });
  if (rows.length === 0) return null;
  const actions: Column<Maker> = {
    title: 'Actions',
    cell: (maker) => <RevokeAll of={maker} changed={changed} />,
  };
  return (
    <Card title="Keys of people">
      <DataTable
        caption="People with valid keys"
        columns={may(REVOKE) ? [...COLUMNS, actions] : COLUMNS}
        rows={rows}
        keyOf={({ id }) => id}
        sorted={{ index: 0, down: false }}
      />
    </Card>
  );
}

const COLUMNS: readonly Column<Maker>[] = [
  {
    title: 'Person',
    by: ({ name }) => name.toLowerCase(),
    cell: ({ id, name }) => (
      <span class="team-cell">
        <Name>{name}</Name>
        <span class="small quiet">{id}</span>
      </span>
    ),
  },
  {
    title: 'Valid keys',
    by: ({ keys }) => keys.length,
    cell: ({ keys }) => (
      <ul class="plain-list">
        {keys.map((key) => (
          <li key={key.id}>
            <span>
              <Name>{keyName(key)}</Name> of <TeamLink id={key.teamId} name={key.team} />
            </span>
          </li>
        ))}
      </ul>
    ),
  },
  timeColumn('Last use', ({ keys }) => latest(keys.map(({ lastUsedAt }) => lastUsedAt)), 'never'),
];

function RevokeAll({ of: { id, name, keys }, changed }: Pick<OfTeam, 'changed'> & { readonly of: Maker }) {
  const { api } = useAdmin();
  const { act } = useNotices();
  const revoke = async () => {
    const path = `/admin/v1/persons/${encodeURIComponent(id)}/revoke-keys`;
    const words = `All keys of ${name} are revoked: calls with them are refused.`;
    if (await act(() => api.send('POST', path), words)) changed();
  };
  return (
    <ConfirmButton
      label="Revoke all"
      title={`Revoke all keys of ${name}`}
      grave
      question={
        <p>
          Within a second all replicas refuse {counted(keys.length, 'key')} of <Name>{name}</Name>. This
          cannot be undone. The person can make others as long as <code>auth.oidc.people</code> gives keys.
        </p>
      }
      act={revoke}
    />
  );
}
