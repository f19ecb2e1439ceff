/** The section of teams: all teams with scopes and recent use, one team, and the forms. */
import { type Column, DataTable, numberColumn, timeColumn } from '../../ui/data-table.js';
import { count } from '../../ui/format.js';
import { useLoad } from '../../ui/load.js';
import { Card, Empty, Name, Tag, Wait } from '../../ui/parts.js';
import { go, hrefOf, useRoute } from '../../ui/route.js';
import type { Api } from '../../ui/session.js';
import { View } from '../../ui/shell.js';
import { useAdmin } from '../admin.js';
import type { LedgerAnswer } from '../overview.js';
import { APPLY, ApplyForm } from './apply-form.js';
import { advertisersInWords, isDeclared, keyState, latest, type Team, type TeamKey } from './team.js';
import { TeamForm } from './team-form.js';
import { TeamPage } from './team-page.js';

/** @param path of a team: its id */
export function Teams({ path: [id] }: { readonly path: readonly string[] }) {
  const { may } = useAdmin();
  const { query } = useRoute();
  if (id !== undefined) return <TeamPage key={id} id={id} />;
  if (query.get('form') === 'new' && may('POST /admin/v1/teams')) return <NewTeam />;
  if (query.get('form') === 'apply' && may(APPLY)) return <ApplyForm />;
  return <TeamList />;
}

function NewTeam() {
  return (
    <View title="New team" lead="A team has keys, advertisers and limits.">
      <TeamForm
        team={null}
        saved={({ id }) => go(hrefOf(['teams', id]), true)}
        leave={() => go(hrefOf(['teams']))}
      />
    </View>
  );
}

interface Row extends Team {
  readonly keys: number;
  readonly lastUsedAt: string | null;
  readonly requests: number;
}

async function loadRows(api: Api, signal: AbortSignal): Promise<Row[]> {
  const [{ teams }, { keys }, ledger] = await Promise.all([
    api.get<{ teams: Team[] }>('/admin/v1/teams', signal),
    api.get<{ keys: TeamKey[] }>('/admin/v1/keys', signal),
    api.get<LedgerAnswer>('/admin/v1/series/teams?range=24h', signal),
  ]);
  const requests = new Map(ledger.teams.map((team) => [team.id, team.requests]));
  const now = Date.now();
  return teams.map((team) => {
    const own = keys.filter(({ teamId }) => teamId === team.id);
    return {
      ...team,
      keys: own.filter((key) => keyState(key, now) === 'valid').length,
      lastUsedAt: latest(own.map(({ lastUsedAt }) => lastUsedAt)),
      requests: requests.get(team.id) ?? 0,
    };
  });
}

function TeamList() {
  const { api, may } = useAdmin();
  const rows = useLoad('teams', (signal) => loadRows(api, signal), 30_000);
  return (
    <View
      title="Teams"
      lead="Teams, their advertisers and their limits."
      tools={
        may('POST /admin/v1/teams') ? (
          <>
            {may(APPLY) ? (
              <a class="button" href={hrefOf(['teams'], { form: 'apply' })}>
                Apply a file
              </a>
            ) : null}
            <a class="button primary" href={hrefOf(['teams'], { form: 'new' })}>
              New team
            </a>
          </>
        ) : undefined
      }
    >
      <Wait of={rows}>{(all) => <Found rows={all} />}</Wait>
    </View>
  );
}

function Found({ rows }: { readonly rows: readonly Row[] }) {
  const { query } = useRoute();
  const search = query.get('search') ?? '';
  const wanted = search.trim().toLowerCase();
  const found = rows.filter(({ id, name }) => `${id}\n${name}`.toLowerCase().includes(wanted));
  if (rows.length === 0)
    return <Empty>There are no teams yet. Create a team and issue a key to use reports.</Empty>;
  return (
    <Card>
      <div class="find">
        <input
          type="search"
          aria-label="Search teams by name or id"
          placeholder="Search by name or id"
          value={search}
          onInput={({ currentTarget: { value } }) => go(hrefOf(['teams'], { search: value }), true)}
        />
        <p class="small quiet" role="status">
          {found.length === rows.length
            ? count(rows.length)
            : `${count(found.length)} of ${count(rows.length)}`}
          {rows.length === 1 ? ' team' : ' teams'}
        </p>
      </div>
      <DataTable
        caption="Teams"
        columns={COLUMNS}
        rows={found}
        keyOf={({ id }) => id}
        sorted={{ index: 0, down: false }}
        empty="No team matches."
      />
    </Card>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Team', by: ({ name }) => name.toLowerCase(), cell: (row) => <TeamCell {...row} /> },
  { title: 'Scopes', cell: ({ scopes }) => <Scopes scopes={scopes} /> },
  {
    title: 'Advertisers',
    numeric: true,
    by: ({ advertisers }) => (advertisers === '*' ? Number.POSITIVE_INFINITY : advertisers.length),
    cell: advertisersInWords,
  },
  numberColumn(
    'Keys',
    ({ keys }) => keys,
    (keys) => (keys === 0 ? 'none' : count(keys)),
  ),
  timeColumn('Last use', ({ lastUsedAt }) => lastUsedAt, 'never'),
  numberColumn('Requests, 24 h', ({ requests }) => requests),
];

function TeamCell(team: Row) {
  const { id, name, disabled } = team;
  return (
    <span class="team-cell">
      <a href={hrefOf(['teams', id])}>
        <Name>{name}</Name>
      </a>
      <span class="small quiet">
        {id} {disabled ? <Tag tone="bad">disabled</Tag> : null}{' '}
        {isDeclared(team) ? <Tag tone="info">by file</Tag> : null}
      </span>
    </span>
  );
}

function Scopes({ scopes }: Pick<Team, 'scopes'>) {
  if (scopes.length === 0) return <span class="quiet">none</span>;
  return (
    <span class="tags">
      {scopes.map((scope) => (
        <Tag key={scope}>{scope}</Tag>
      ))}
    </span>
  );
}
