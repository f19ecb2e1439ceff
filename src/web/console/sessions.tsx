/** Who is signed in to console, explorer and command line. */
import type { AnswerTo } from '../../api/operations/table.js';
import { type Column, DataTable, timeColumn } from '../ui/data-table.js';
import { ConfirmButton } from '../ui/dialog.js';
import { counted } from '../ui/format.js';
import { useNotices } from '../ui/notices.js';
import { Card, Name, Tag, Wait } from '../ui/parts.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import { useAdmin } from './admin.js';

type Answer = AnswerTo<'GET /admin/v1/sessions'>;
type Session = Answer['sessions'][number];

const BY = { token: 'admin token', key: 'team key', person: 'company account' } as const;

const nameOf = ({ name, holder }: Session): string => name ?? holder;

export function Sessions() {
  const { may } = useAdmin();
  const found = useGet<Answer>('/admin/v1/sessions', 30_000);
  const actions = (all: readonly Session[]): Column<Session> => ({
    title: 'Actions',
    cell: (session) => <Tools of={session} all={all} changed={found.reload} />,
  });
  return (
    <View
      title="Sessions"
      lead="Who is signed in to console, explorer and command line, the latest use first."
    >
      <Wait of={found}>
        {({ sessions }) => (
          <Card title={counted(sessions.length, 'open session')}>
            <DataTable
              caption="Sessions"
              columns={may('DELETE /admin/v1/sessions/:id') ? [...COLUMNS, actions(sessions)] : COLUMNS}
              rows={sessions}
              keyOf={({ id }) => id}
              empty="Nobody is signed in: this call came by a token."
            />
          </Card>
        )}
      </Wait>
    </View>
  );
}

const COLUMNS: readonly Column<Session>[] = [
  {
    title: 'Who',
    by: nameOf,
    cell: (session) => (
      <span class="team-cell">
        <span>
          <Name>{nameOf(session)}</Name> {session.isYours ? <Tag tone="info">you, here</Tag> : null}
        </span>
        <span class="small quiet">
          {BY[session.by]}
          {session.name === null ? null : <> {session.holder}</>}
        </span>
      </span>
    ),
  },
  {
    title: 'Where',
    by: ({ use }) => use,
    cell: ({ use, team }) => (team === null ? use : `${use} as ${team}`),
  },
  timeColumn('Since', ({ since }) => since, ''),
  timeColumn('Last use', ({ lastUsedAt }) => lastUsedAt, ''),
  timeColumn('Ends at the latest', ({ expiresAt }) => expiresAt, ''),
];

interface ToolsProps {
  readonly of: Session;
  readonly all: readonly Session[];
  readonly changed: () => void;
}

function Tools({ of: session, all, changed }: ToolsProps) {
  const { api } = useAdmin();
  const { act } = useNotices();
  const { id, by, holder, use } = session;
  const name = nameOf(session);
  const own = all.filter((one) => one.by === 'person' && one.holder === holder);
  const end = (method: 'DELETE' | 'POST', path: string, words: string) => () =>
    act(() => api.send(method, `/admin/v1/${path}`), words).then(changed);
  return (
    <span class="tools">
      {session.isYours ? null : (
        <ConfirmButton
          label="End"
          title={`End the session of ${name}, ${use}`}
          grave
          question={<p>Within a second every replica refuses it. {AGAIN[by]}</p>}
          act={end('DELETE', `sessions/${id}`, 'The session has ended.')}
        />
      )}
      {own.length < 2 ? null : (
        <ConfirmButton
          label="End all"
          title={`End all sessions of ${name}`}
          grave
          question={
            <p>
              Within a second every replica refuses {counted(own.length, 'session')} of <Name>{name}</Name>.{' '}
              {AGAIN.person}
            </p>
          }
          act={end('POST', `persons/${holder}/revoke-sessions`, `All sessions of ${name} have ended.`)}
        />
      )}
    </span>
  );
}

const AGAIN: Readonly<Record<Session['by'], string>> = {
  token: 'Whoever has the admin token can sign in again.',
  key: 'Whoever has the key can sign in again, until it is revoked or rolled.',
  person: 'The person can sign in again, with what the company account gives then.',
};
