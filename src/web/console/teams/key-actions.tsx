/** Buttons to issue, roll and revoke a key; the note that shows a new key. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AnswerTo } from '../../../api/operations/table.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { useNotices } from '../../ui/notices.js';
import { Button } from '../../ui/parts.js';
import { FormButton } from '../../ui/schema-form.js';
import { useAdmin } from '../admin.js';
import type { FieldsOf } from '../fields-of.js';
import type { TeamKey } from './team.js';

type IssuedKey = AnswerTo<'POST /admin/v1/teams/:id/keys'>;

const NEW_KEY: FieldsOf<'POST /admin/v1/teams/:id/keys'> = [
  { name: 'label', label: 'Label', help: 'The app or person that uses the key.' },
  {
    ...{ name: 'expiresAt', label: 'Expires', is: 'date' },
    help: 'At 00:00 UTC of that day. Default: never.',
  },
];

export type Made = { readonly made: (key: IssuedKey) => void };

export function IssueButton({ teamId, made }: Made & { readonly teamId: string }) {
  const { api } = useAdmin();
  return (
    <FormButton
      label="Issue a key"
      look="primary"
      fields={NEW_KEY}
      send={async (body) => made(await api.send('POST', `/admin/v1/teams/${teamId}/keys`, body))}
    />
  );
}

const OVERLAP: FieldsOf<'POST /admin/v1/keys/:id/roll'> = [
  {
    ...{ name: 'overlapSeconds', label: 'The current secret stays valid for', is: 'number' },
    options: [
      ['0', 'Not at all'],
      ['3600', 'One hour'],
      ['86400', 'One day'],
      ['604800', 'Seven days'],
      ['2592000', '30 days'],
    ],
  },
];

type RollProps = Made & { readonly keyOf: TeamKey; readonly look?: string };

export function RollButton({ keyOf: { id, label, prefix }, made, look = '' }: RollProps) {
  const { api, may } = useAdmin();
  if (!may('POST /admin/v1/keys/:id/roll')) return null;
  return (
    <FormButton
      label="Roll"
      name={`Roll ${label || prefix}`}
      look={look}
      fields={OVERLAP}
      start={{ overlapSeconds: '86400' }}
      send={async (body) => made(await api.send('POST', `/admin/v1/keys/${id}/roll`, body))}
    >
      <p>
        The key gets a new secret and keeps its label, expiry and usage. The secret before the current one, if
        still valid, ends at once.
      </p>
    </FormButton>
  );
}

export function RevokeButton({ keyOf: { id, label, prefix }, changed }: { keyOf: TeamKey; changed(): void }) {
  const { api, may } = useAdmin();
  const { act } = useNotices();
  if (!may('DELETE /admin/v1/keys/:id')) return null;
  const revoke = async () => {
    const words = 'The key is revoked: calls with it are refused.';
    if (await act(() => api.send('DELETE', `/admin/v1/keys/${id}`), words)) changed();
  };
  return (
    <ConfirmButton
      label="Revoke"
      grave
      question={
        <p>
          Within a second all replicas refuse the key <code>{prefix}…</code>{' '}
          {label === '' ? null : <bdi>({label})</bdi>}. This cannot be undone. To replace the key without an
          interruption, roll it.
        </p>
      }
      act={revoke}
    />
  );
}

/** @param changed called after a key was made. @returns the note that shows that key */
export function useIssued(changed: () => void) {
  const [issued, setIssued] = useState<IssuedKey | null>(null);
  const made = (key: IssuedKey) => {
    setIssued(key);
    changed();
  };
  const close = () => setIssued(null);
  return { made, note: issued === null ? null : <IssuedNote key={issued.key} {...{ issued, close }} /> };
}

/** The only display of a new key: not in the address or storage, gone with the page. */
function IssuedNote({ issued: { key }, close }: { issued: IssuedKey; close: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [said, setSaid] = useState('');
  useEffect(() => field.current?.select(), []);
  const copy = async () => {
    field.current?.select();
    try {
      await navigator.clipboard.writeText(key);
      setSaid('Copied.');
    } catch {
      // Browsers have no clipboard without TLS.
      setSaid('The browser does not allow copying. The key is selected: press Ctrl+C or ⌘C.');
    }
  };
  return (
    <section class="note info stack" aria-label="The new key">
      <p>
        <strong>This key is shown only once</strong>: the gateway stores only its hash. Copy it to the team's
        secret store.
      </p>
      <div class="row">
        <input ref={field} class="secret" readOnly spellcheck={false} aria-label="Key" value={key} />
        <Button label="Copy" class="primary" act={copy} />
        <Button label="I have it" act={close} />
      </div>
      <p class="small" role="status">
        {said}
      </p>
    </section>
  );
}
