/** The section of teams: share of calls, keys that expire or are not used, all teams with recent use, one team, and the forms. */
import type { AnswerTo } from '../../../api/operations/table.js';
import { type Column, DataTable, numberColumn, timeColumn } from '../../ui/data-table.js';
import { count, counted, fromNow, percent } from '../../ui/format.js';
import { keyState } from '../../ui/key-state.js';
import { Expiry } from '../../ui/keys.js';
import { useLoad } from '../../ui/load.js';
import { Bars, Card, Empty, Name, Spark, Tag, Wait } from '../../ui/parts.js';
import { go, hrefOf, useRoute } from '../../ui/route.js';
import type { Api } from '../../ui/session.js';
import { View } from '../../ui/shell.js';
import { sortedBy } from '../../ui/sort.js';
import { useAdmin } from '../admin.js';
import { sum } from '../series.js';
import { TeamLink } from '../team-link.js';
import { APPLY, ApplyForm } from './apply-form.js';
import { IssueButton, KeyTools, type OfTeam, RollKey } from './key-actions.js';
import { PersonKeys } from './person-keys.js';
import {
  advertisersInWords,
  concernOf,
  isDeclared,
  latest,
  type Team,
  type TeamKey,
  withoutConcern,
} from './team.js';
import { TeamForm } from './team-form.js';
import { TeamPage } from './team-page.js';

type Usage = AnswerTo<'GET /admin/v1/usage'>;

/** @param path of a team: its id */
export function Teams({ path: [id] }: { readonly path: readonly string[] }) {
  const { may } = useAdmin();
  const { query } = useRoute();
  if (id !== undefined) return <TeamPage key={id} id={id} />;
  if (query.get('form') === 'new' && may('POST /admin/v1/teams')) return <NewTeam />;
  if (query.get('form') === 'apply' && may(APPLY)) return <ApplyForm />;
  return <TeamList />;
}

const NewTeam = () => (
  <View title="New team" lead="A team has keys, advertisers and limits.">
    <TeamForm
      team={null}
      saved={({ id }) => go(hrefOf(['teams', id]), true)}
      leave={() => go(hrefOf(['teams']))}
    />
  </View>
);

interface Row extends Team {
  /** The valid ones. */
  readonly keys: readonly TeamKey[];
  readonly lastUsedAt: string | null;
  /** By day, oldest first. */
  readonly requests: readonly number[];
  readonly calls: number;
  readonly rateLimited: number;
}

type Loaded = Pick<Usage, 'usage'> & { readonly rows: readonly Row[] };

/** With the use of the last 30 days. */
async function load(api: Api, signal: AbortSignal): Promise<Loaded> {
  const [{ teams }, { keys }, { from, to, usage }] = await Promise.all([
    api.get<{ teams: Team[] }>('/admin/v1/teams', signal),
    api.get<{ keys: TeamKey[] }>('/admin/v1/keys', signal),
    api.get<Usage>('/admin/v1/usage', signal),
  ]);
  const now = Date.now();
  const dayOf = (day: string) => Math.round((Date.parse(day) - Date.parse(from)) / 86_400_000);
  const rows = teams.map((team) => {
    const own = keys.filter(({ teamId }) => teamId === team.id);
    const days = usage.filter((one) => one.team === team.id);
    const requests = new Array<number>(dayOf(to) + 1).fill(0);
    for (const one of days) requests[dayOf(one.day)] = one.requests;
    return {
      ...team,
      keys: own.filter((key) => keyState(key, now) === 'valid'),
      lastUsedAt: latest(own.map(({ lastUsedAt }) => lastUsedAt)),
      requests,
      calls: sum(days.map(({ upstreamCalls }) => upstreamCalls)),
      rateLimited: sum(days.map((one) => one.rateLimited)),
    };
  });
  return { rows, usage };
}

function TeamList() {
  const { api, may } = useAdmin();
  const loaded = useLoad('teams', (signal) => load(api, signal), 60_000);
  return (
    <View
      title="Teams"
      lead="Who calls the platform through the gateway, and with which keys."
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
      <Wait of={loaded}>
        {(all) =>
          all.rows.length === 0 ? (
            <Empty>There are no teams yet. Create a team and issue a key to use reports.</Empty>
          ) : (
            <Found {...all} changed={loaded.reload} />
          )
        }
      </Wait>
    </View>
  );
}

/** Maximum teams or keys in a card: the table has all. */
const MOST = 5;

/** Also of callers that are no team: the gateway, and teams that were deleted. */
function CallsCard({ rows, usage }: Loaded) {
  const callsOf = (days: Usage['usage']) => sum(days.map(({ upstreamCalls }) => upstreamCalls));
  const all = callsOf(usage);
  const callers = [...new Set(usage.map(({ team }) => team))].map((id) => ({
    id,
    team: rows.find((row) => row.id === id),
    calls: callsOf(usage.filter(({ team }) => team === id)),
  }));
  const shown = sortedBy(callers, ({ calls }) => calls, true).filter(({ calls }) => calls > 0);
  return (
    <Bars
      title="Share of platform calls, last 30 days"
      empty="No calls yet: issue a key on the page of a team, and request a report."
      bars={shown.slice(0, MOST).map(({ id, team, calls }) => ({
        key: id,
        title: team === undefined && id !== 'gateway' ? id : <TeamLink id={id} name={team?.name ?? id} />,
        says: `${percent(calls / all)}, ${counted(calls, 'call')}`,
        share: calls / all,
      }))}
    />
  );
}

function KeysCard({ rows, changed }: Pick<Loaded, 'rows'> & Changed) {
  const now = Date.now();
  const keys = rows.flatMap((team) => team.keys.map((key) => ({ team, key, concern: concernOf(key, now) })));
  const found = keys.filter(({ concern }) => concern !== null);
  return (
    <Card title="Keys that expire or are not used">
      {found.length > 0 ? null : <Empty>{withoutConcern(keys.map(({ key }) => key))}</Empty>}
      <ul class="audit">
        {found.slice(0, MOST).map(({ team, key, concern }) => (
          <li key={key.id} class="row between">
            <span>
              <TeamLink {...team} />{' '}
              {key.label === '' ? <code>{key.prefix}…</code> : <Name>{key.label}</Name>}
              <br />
              <span class="small quiet">
                {concern === 'expires' ? 'expires ' : key.lastUsedAt ? 'used ' : 'never used, issued '}
                {concern === 'expires' && <Expiry at={key.expiresAt} />}
                {concern === 'sleeps' && fromNow(key.lastUsedAt ?? key.createdAt, now)}
              </span>
            </span>
            {/* A rolled key expires all the same; a person makes another one himself. */}
            {concern === 'sleeps' ? (
              <KeyTools keyOf={key} team={team} changed={changed} />
            ) : key.maker !== undefined ? null : (
              <IssueButton team={team} changed={changed} />
            )}
          </li>
        ))}
      </ul>
      {found.length > MOST ? <p class="small quiet">And {count(found.length - MOST)} more.</p> : null}
    </Card>
  );
}

type Changed = Pick<OfTeam, 'changed'>;

function Found({ rows, usage, changed }: Loaded & Changed) {
  const { query } = useRoute();
  const search = query.get('search') ?? '';
  const wanted = search.trim().toLowerCase();
  const found = rows.filter(({ id, name }) => `${id}\n${name}`.toLowerCase().includes(wanted));
  return (
    <>
      <div class="grid">
        <CallsCard rows={rows} usage={usage} />
        <KeysCard rows={rows} changed={changed} />
      </div>
      <Card title="Teams and their use, last 30 days">
        <div class="find">
          <input
            type="search"
            aria-label="Search teams by name or id"
            placeholder="Search by name or id"
            value={search}
            onInput={({ currentTarget: { value } }) => go(hrefOf(['teams'], { search: value }), true)}
          />
          <p class="small quiet" role="status">
            {found.length < rows.length && `${count(found.length)} of `}
            {counted(rows.length, 'team')}
          </p>
        </div>
        <DataTable
          caption="Teams"
          columns={columnsOf(changed)}
          rows={found}
          keyOf={({ id }) => id}
          sorted={{ index: 0, down: false }}
          empty="No team matches."
        />
      </Card>
      <PersonKeys teams={rows} changed={changed} />
    </>
  );
}

const columnsOf = (changed: () => void): readonly Column<Row>[] => [
  { title: 'Team', by: ({ name }) => name.toLowerCase(), cell: (row) => <TeamCell {...row} /> },
  {
    title: 'By day',
    cell: ({ requests }) => (
      <Spark label={`Requests by day, at most ${count(Math.max(...requests))}`} values={requests} />
    ),
  },
  numberColumn('Requests', ({ requests }) => sum(requests)),
  numberColumn('Calls made', ({ calls }) => calls),
  numberColumn('Limited', ({ rateLimited }) => rateLimited),
  {
    title: 'Keys',
    by: ({ keys }) => keys.length,
    cell: (team) => (
      <span class="nowrap">
        {team.keys.length || 'none'}{' '}
        {team.keys.length === 1 &&
          team.keys.map((key) => <RollKey keyOf={key} look="plain small" {...{ team, changed }} />)}
      </span>
    ),
  },
  {
    title: 'Advertisers',
    numeric: true,
    by: ({ advertisers }) => (advertisers === '*' ? Number.POSITIVE_INFINITY : advertisers.length),
    cell: advertisersInWords,
  },
  timeColumn('Last use', ({ lastUsedAt }) => lastUsedAt, 'never'),
];

function TeamCell(team: Row) {
  const { id, disabled, scopes } = team;
  return (
    <span class="team-cell">
      <TeamLink {...team} />
      <span class="small quiet">
        {id} · {scopes.join(', ') || 'no scopes'} {disabled ? <Tag tone="bad">disabled</Tag> : null}{' '}
        {isDeclared(team) ? <Tag tone="info">by file</Tag> : null}
      </span>
    </span>
  );
}
