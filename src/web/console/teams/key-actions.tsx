/** Issue, roll and revoke a key. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type Fault, Refused, wordsOf } from '../../ui/api.js';
import { ConfirmButton, Dialog } from '../../ui/dialog.js';
import { useNotices } from '../../ui/notices.js';
import { Field } from '../../ui/parts.js';
import { useAdmin } from '../admin.js';
import type { IssuedKey } from './issued-note.js';
import { faultAt, type TeamKey } from './team.js';

interface IssueButtonProps {
  readonly teamId: string;
  readonly made: (key: IssuedKey) => void;
}

export function IssueButton({ teamId, made }: IssueButtonProps) {
  const [open, setOpen] = useState(false);
  const [label, setLabel] = useState('');
  const [expiresAt, setExpiresAt] = useState('');
  const close = () => setOpen(false);
  const body = { label: label.trim(), ...(expiresAt === '' ? {} : { expiresAt }) };
  const done = (key: IssuedKey) => {
    setLabel('');
    setExpiresAt('');
    made(key);
  };
  return (
    <>
      <button type="button" class="primary" onClick={() => setOpen(true)}>
        Issue a key
      </button>
      {open ? (
        <KeyDialog
          title="Issue a key"
          path={`/admin/v1/teams/${teamId}/keys`}
          body={body}
          close={close}
          made={done}
        >
          {(faults) => (
            <>
              <Field
                label="What it is for"
                help="For people: which app or person has it."
                fault={faultAt(faults, 'label')}
              >
                <input value={label} onInput={({ currentTarget: { value } }) => setLabel(value)} />
              </Field>
              <Field
                label="Expires"
                help="At 00:00 UTC of that day. Never when left empty."
                fault={faultAt(faults, 'expiresAt')}
              >
                <input
                  type="date"
                  value={expiresAt}
                  onInput={({ currentTarget: { value } }) => setExpiresAt(value)}
                />
              </Field>
            </>
          )}
        </KeyDialog>
      ) : null}
    </>
  );
}

/** How long the old one goes on: long enough to bring the new one to all who have it. */
const OVERLAPS = [
  { seconds: 0, title: 'Ends at once' },
  { seconds: 3600, title: 'One hour' },
  { seconds: 86_400, title: 'One day' },
  { seconds: 604_800, title: 'Seven days' },
  { seconds: 2_592_000, title: '30 days' },
];

interface RollButtonProps {
  readonly keyOf: TeamKey;
  readonly made: (key: IssuedKey) => void;
}

export function RollButton({ keyOf: { id, label, prefix }, made }: RollButtonProps) {
  const { may } = useAdmin();
  const [open, setOpen] = useState(false);
  const [overlap, setOverlap] = useState('86400');
  if (!may('POST /admin/v1/keys/:id/roll')) return null;
  return (
    <>
      <button type="button" aria-label={`Roll ${label || prefix}`} onClick={() => setOpen(true)}>
        Roll
      </button>
      {open ? (
        <KeyDialog
          title="Roll"
          path={`/admin/v1/keys/${id}/roll`}
          body={{ overlapSeconds: Number(overlap) }}
          close={() => setOpen(false)}
          made={made}
        >
          {() => (
            <>
              <p>
                The key gets a new secret, and keeps its label, its expiry and its place in the usage. An
                older one that still overlaps from a roll before ends at once.
              </p>
              <Field label="The present one goes on for">
                <select value={overlap} onChange={({ currentTarget: { value } }) => setOverlap(value)}>
                  {OVERLAPS.map(({ seconds, title }) => (
                    <option key={seconds} value={String(seconds)}>
                      {title}
                    </option>
                  ))}
                </select>
              </Field>
            </>
          )}
        </KeyDialog>
      ) : null}
    </>
  );
}

interface KeyDialogProps {
  readonly title: string;
  readonly path: string;
  readonly body: object;
  readonly close: () => void;
  readonly made: (key: IssuedKey) => void;
  readonly children: (faults: readonly Fault[]) => ComponentChildren;
}

/** A question whose answer is a key. */
function KeyDialog({ title, path, body, close, made, children }: KeyDialogProps) {
  const { api } = useAdmin();
  const [refusal, setRefusal] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const faults = refusal instanceof Refused ? (refusal.problem.errors ?? []) : [];
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const key = await api.send<IssuedKey>('POST', path, body);
      close();
      made(key);
    } catch (error) {
      setRefusal(error);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} close={close}>
      <form class="stack" noValidate onSubmit={(event) => void submit(event)}>
        {children(faults)}
        <p class="fault" role="alert">
          {refusal === null || faults.length > 0 ? '' : wordsOf(refusal)}
        </p>
        <div class="row end">
          <button type="button" onClick={close}>
            Leave it
          </button>
          <button type="submit" class="primary" disabled={busy}>
            {title}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface RevokeButtonProps {
  readonly keyOf: TeamKey;
  readonly changed: () => void;
}

export function RevokeButton({ keyOf: { id, label, prefix }, changed }: RevokeButtonProps) {
  const { api, may } = useAdmin();
  const { act } = useNotices();
  if (!may('DELETE /admin/v1/keys/:id')) return null;
  const revoke = async () => {
    const words = 'The key is revoked: whoever comes with it is refused.';
    if (await act(() => api.send('DELETE', `/admin/v1/keys/${id}`), words)) changed();
  };
  return (
    <ConfirmButton
      label="Revoke"
      grave
      question={
        <p>
          Within a second whoever comes with <code>{prefix}…</code>{' '}
          {label === '' ? null : (
            <>
              (<bdi>{label}</bdi>)
            </>
          )}{' '}
          is refused, on every replica. A revoked key does not come back: to exchange it without a gap, roll
          it.
        </p>
      }
      act={revoke}
    />
  );
}
