/** Buttons to issue, roll and revoke a key. */
import type { AnswerTo } from '../../../api/operations/table.js';
import { keyName } from '../../ui/key-state.js';
import { NewKey, RevokeButton, RollButton } from '../../ui/keys.js';
import { useNotices } from '../../ui/notices.js';
import { FormButton } from '../../ui/schema-form.js';
import { useAdmin } from '../admin.js';
import type { FieldsOf } from '../fields-of.js';
import type { Team, TeamKey } from './team.js';

type Issued = AnswerTo<'POST /admin/v1/teams/:id/keys'>;

const NEW_KEY: FieldsOf<'POST /admin/v1/teams/:id/keys'> = [
  { name: 'label', label: 'Label', help: 'The app or person that uses the key.' },
  {
    name: 'expiresAt',
    label: 'Expires',
    is: 'date',
    help: 'At 00:00 UTC of that day. Default: never.',
  },
];

export type OfTeam = Readonly<{ team: Pick<Team, 'id' | 'name'>; changed: () => void }>;

const PLACE = "Copy it to the team's secret store.";

const nameOf = (key: Pick<TeamKey, 'label' | 'prefix'>, { name }: OfTeam['team']) =>
  `${keyName(key)} of ${name}`;

export function IssueButton({ team, changed }: OfTeam) {
  const { api, may } = useAdmin();
  const { show } = useNotices();
  if (!may('POST /admin/v1/teams/:id/keys')) return null;
  const title = `Issue a key for ${team.name}`;
  const send = async (body: { label?: string }) => {
    const issued = await api.send<Issued>('POST', `/admin/v1/teams/${team.id}/keys`, body);
    show(<NewKey name={nameOf({ label: '', ...issued, ...body }, team)} secret={issued.key} place={PLACE} />);
    changed();
  };
  return <FormButton label="Issue a key" look="primary" fields={NEW_KEY} {...{ title, send }} />;
}

type OfKey = OfTeam & { readonly keyOf: TeamKey };

export function RollKey({ keyOf, team, changed, look = '' }: OfKey & { readonly look?: string }) {
  const { api, may } = useAdmin();
  const { show } = useNotices();
  // Only its maker rolls a person's key.
  if (!may('POST /admin/v1/keys/:id/roll') || keyOf.maker !== undefined) return null;
  const name = nameOf(keyOf, team);
  const send = async (body: object) => {
    const { key } = await api.send<Issued>('POST', `/admin/v1/keys/${keyOf.id}/roll`, body);
    show(<NewKey name={name} secret={key} place={PLACE} />);
    changed();
  };
  return <RollButton {...{ name, look, send }} />;
}

export const KeyTools = (props: OfKey) => (
  <span class="tools">
    <RollKey {...props} />
    <RevokeKey {...props} />
  </span>
);

function RevokeKey({ keyOf, team, changed }: OfKey) {
  const { api, may } = useAdmin();
  if (!may('DELETE /admin/v1/keys/:id')) return null;
  const { id, prefix } = keyOf;
  const send = () => api.send('DELETE', `/admin/v1/keys/${id}`);
  return <RevokeButton name={nameOf(keyOf, team)} {...{ prefix, send, changed }} />;
}
