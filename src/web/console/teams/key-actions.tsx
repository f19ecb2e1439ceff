/** Buttons to issue, roll and revoke a key; the dialog that shows a new key. */
import { useRef, useState } from 'preact/hooks';
import type { AnswerTo } from '../../../api/operations/table.js';
import { wordsOf } from '../../ui/api.js';
import { ConfirmButton, Dialog } from '../../ui/dialog.js';
import { copied, useNotices } from '../../ui/notices.js';
import { Button } from '../../ui/parts.js';
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

const nameOf = (key: Pick<TeamKey, 'label' | 'prefix'>, { name }: OfTeam['team']) =>
  `${key.label || `${key.prefix}…`} of ${name}`;

export function IssueButton({ team, changed }: OfTeam) {
  const { api, may } = useAdmin();
  const { show } = useNotices();
  if (!may('POST /admin/v1/teams/:id/keys')) return null;
  const title = `Issue a key for ${team.name}`;
  const send = async (body: { label?: string }) => {
    const issued = await api.send<Issued>('POST', `/admin/v1/teams/${team.id}/keys`, body);
    show(<KeyDialog name={nameOf({ label: '', ...issued, ...body }, team)} secret={issued.key} />);
    changed();
  };
  return <FormButton label="Issue a key" look="primary" fields={NEW_KEY} {...{ title, send }} />;
}

const OVERLAP: FieldsOf<'POST /admin/v1/keys/:id/roll'> = [
  {
    name: 'overlapSeconds',
    label: 'The current secret stays valid for',
    is: 'number',
    options: [
      ['0', 'Not at all'],
      ['3600', 'One hour'],
      ['86400', 'One day'],
      ['604800', 'Seven days'],
      ['2592000', '30 days'],
    ],
  },
];

type OfKey = OfTeam & { readonly keyOf: TeamKey };

export function RollButton({ keyOf, team, changed, look = '' }: OfKey & { readonly look?: string }) {
  const { api, may } = useAdmin();
  const { show } = useNotices();
  if (!may('POST /admin/v1/keys/:id/roll')) return null;
  const name = nameOf(keyOf, team);
  const send = async (body: object) => {
    const { key } = await api.send<Issued>('POST', `/admin/v1/keys/${keyOf.id}/roll`, body);
    show(<KeyDialog name={name} secret={key} />);
    changed();
  };
  return (
    <FormButton
      label="Roll"
      title={`Roll ${name}`}
      fields={OVERLAP}
      start={{ overlapSeconds: '86400' }}
      {...{ look, send }}
    >
      <p>
        The key gets a new secret and keeps its label, expiry and usage. The secret before the current one, if
        still valid, ends at once.
      </p>
    </FormButton>
  );
}

export const KeyTools = (props: OfKey) => (
  <span class="tools">
    <RollButton {...props} />
    <RevokeButton {...props} />
  </span>
);

function RevokeButton({ keyOf, team, changed }: OfKey) {
  const { api, may } = useAdmin();
  const { act } = useNotices();
  if (!may('DELETE /admin/v1/keys/:id')) return null;
  const revoke = async () => {
    const words = 'The key is revoked: calls with it are refused.';
    if (await act(() => api.send('DELETE', `/admin/v1/keys/${keyOf.id}`), words)) changed();
  };
  return (
    <ConfirmButton
      label="Revoke"
      title={`Revoke ${nameOf(keyOf, team)}`}
      grave
      question={
        <p>
          Within a second all replicas refuse the key <code>{keyOf.prefix}…</code>. This cannot be undone. To
          replace the key without an interruption, roll it.
        </p>
      }
      act={revoke}
    />
  );
}

/** The only display of a new key: not in the address or storage, gone with the page. */
function KeyDialog({ name, secret }: { readonly name: string; readonly secret: string }) {
  const { show } = useNotices();
  const field = useRef<HTMLInputElement>(null);
  const [said, setSaid] = useState('');
  const copy = () =>
    copied(secret, field.current).then(
      () => setSaid('Copied.'),
      (error: unknown) => setSaid(wordsOf(error)),
    );
  return (
    <Dialog title={`The key ${name}`}>
      <div class="stack">
        <p>
          <strong>This key is shown only once</strong>: the gateway stores only its hash. Copy it to the
          team's secret store.
        </p>
        <div class="row">
          <input
            ref={field}
            class="secret"
            readOnly
            spellcheck={false}
            aria-label="Key"
            value={secret}
            onFocus={({ currentTarget }) => currentTarget.select()}
          />
          <Button label="Copy" class="primary" act={copy} />
          <Button label="I have it" act={() => show(null)} />
        </div>
        <p class="small" role="status">
          {said}
        </p>
      </div>
    </Dialog>
  );
}
