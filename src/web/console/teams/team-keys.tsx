/** The keys of a team, with their actions. */
import { useState } from 'preact/hooks';
import { type Column, DataTable, timeColumn } from '../../ui/data-table.js';
import { fromNow, moment, span } from '../../ui/format.js';
import { Button, Card, Name, Tag, Wait } from '../../ui/parts.js';
import { useGet } from '../../ui/session.js';
import { useAdmin } from '../admin.js';
import { IssueButton, KeyTools, type OfTeam } from './key-actions.js';
import { keyState, SOON_MS, type Team, type TeamKey } from './team.js';

export function TeamKeys({ team }: { readonly team: Team }) {
  const [dead, setDead] = useState(false);
  const keys = useGet<{ keys: TeamKey[] }>(`/admin/v1/teams/${team.id}/keys`, 30_000);
  const of = { team, changed: keys.reload };
  return (
    <Card title="Keys" tools={<IssueButton {...of} />}>
      <Wait of={keys}>
        {({ keys: all }) => {
          const alive = all.filter((key) => keyState(key, Date.now()) === 'valid');
          const shown = dead ? all : alive;
          const label = `${dead ? 'Hide' : 'Show'} ${all.length - alive.length} revoked or expired`;
          return (
            <>
              <KeyTable keys={shown} {...of} />
              {all.length === alive.length ? null : (
                <div>
                  <Button label={label} class="plain small" aria-pressed={dead} act={() => setDead(!dead)} />
                </div>
              )}
            </>
          );
        }}
      </Wait>
    </Card>
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

const STATES = { valid: 'good', revoked: 'bad', expired: 'warn' } as const;

const COLUMNS: readonly Column<TeamKey>[] = [
  {
    title: 'Key',
    by: ({ label, prefix }) => label || prefix,
    cell: (key) => (
      <span class="team-cell">
        {key.label === '' ? null : <Name>{key.label}</Name>}
        <code>{key.prefix}…</code>
        {key.previous === null ? null : <Overlap previous={key.previous} />}
      </span>
    ),
  },
  {
    title: 'State',
    by: (key) => keyState(key, Date.now()),
    cell: (key) => {
      const state = keyState(key, Date.now());
      return <Tag tone={STATES[state]}>{state}</Tag>;
    },
  },
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
  timeColumn('Last use', ({ lastUsedAt }) => lastUsedAt, 'never'),
  { title: 'Expires', by: ({ expiresAt }) => expiresAt, cell: ({ expiresAt }) => <Expiry at={expiresAt} /> },
];

export function Expiry({ at }: { readonly at: string | null }) {
  if (at === null) return <span class="quiet">never</span>;
  const left = Date.parse(at) - Date.now();
  const words = (
    <time dateTime={at} title={moment(at)}>
      {fromNow(at, Date.now())}
    </time>
  );
  return left > 0 && left < SOON_MS ? <Tag tone="warn">{words}</Tag> : words;
}

function Overlap({ previous }: { readonly previous: NonNullable<TeamKey['previous']> }) {
  const { prefix, validUntil } = previous;
  if (validUntil === null || Date.parse(validUntil) <= Date.now()) return null;
  return (
    <span class="small quiet">
      <code>{prefix}…</code> is valid still, and ends {fromNow(validUntil, Date.now())}
    </span>
  );
}
