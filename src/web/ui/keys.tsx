/** Keys in lists, and the dialog that shows a new one. */
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { wordsOf } from './api.js';
import type { Column } from './data-table.js';
import { ConfirmButton, Dialog } from './dialog.js';
import type { FieldSpec } from './form-values.js';
import { fromNow, moment } from './format.js';
import { type Key, type KeyState, keyName, keyState, SOON_MS } from './key-state.js';
import { copied, useNotices } from './notices.js';
import { Button, Name, Tag, type Tone } from './parts.js';
import { FormButton } from './schema-form.js';

const STATES: Readonly<Record<KeyState, Tone>> = { valid: 'good', revoked: 'bad', expired: 'warn' };

/** Of a valid key that is refused. */
type Refusals = Readonly<Record<NonNullable<Key['refused']>, string>>;

/** @param refusals what to say to this reader */
export const stateColumn = (refusals: Refusals): Column<Key> => {
  const stateOf = (key: Key): readonly [string, Tone] => {
    const state = keyState(key, Date.now());
    if (state !== 'valid' || key.refused === null) return [state, STATES[state]];
    return [refusals[key.refused], key.refused === 'long-ago' ? 'warn' : 'bad'];
  };
  return {
    title: 'State',
    by: (key) => stateOf(key)[0],
    cell: (key) => {
      const [words, tone] = stateOf(key);
      return <Tag tone={tone}>{words}</Tag>;
    },
  };
};

/** @param further below the label and the beginning of the key */
export const keyColumn = <K extends Key>(further: (key: K) => ComponentChildren = () => null): Column<K> => ({
  title: 'Key',
  by: keyName,
  cell: (key) => (
    <span class="team-cell">
      {key.label === '' ? null : <Name>{key.label}</Name>}
      <code>{key.prefix}…</code>
      {further(key)}
      {key.previous === null ? null : <Overlap previous={key.previous} />}
    </span>
  ),
});

export const expiryColumn: Column<Key> = {
  title: 'Expires',
  by: ({ expiresAt }) => expiresAt,
  cell: ({ expiresAt }) => <Expiry at={expiresAt} />,
};

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

function Overlap({ previous }: { readonly previous: NonNullable<Key['previous']> }) {
  const { prefix, validUntil } = previous;
  if (Date.parse(validUntil) <= Date.now()) return null;
  return (
    <span class="small quiet">
      <code>{prefix}…</code> is valid still, and ends {fromNow(validUntil, Date.now())}
    </span>
  );
}

interface LiveKeysProps<K> {
  readonly keys: readonly K[];
  readonly children: (shown: readonly K[]) => ComponentChildren;
}

/** Valid keys, and the others by a button. */
export function LiveKeys<K extends Key>({ keys, children }: LiveKeysProps<K>) {
  const [dead, setDead] = useState(false);
  const alive = keys.filter((key) => keyState(key, Date.now()) === 'valid');
  const label = `${dead ? 'Hide' : 'Show'} ${keys.length - alive.length} revoked or expired`;
  return (
    <>
      {children(dead ? keys : alive)}
      {keys.length === alive.length ? null : (
        <div>
          <Button label={label} class="plain small" aria-pressed={dead} act={() => setDead(!dead)} />
        </div>
      )}
    </>
  );
}

const OVERLAP = [
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
] as const satisfies readonly FieldSpec[];

interface RollProps {
  readonly name: string;
  readonly look?: string;
  readonly send: (body: object) => Promise<unknown>;
}

export const RollButton = ({ name, look = '', send }: RollProps) => (
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
    <p>Was the current secret lost or leaked? Choose “{OVERLAP[0].options[0][1]}”: then it ends at once.</p>
  </FormButton>
);

interface RevokeProps extends Pick<Key, 'prefix'> {
  readonly name: string;
  readonly send: () => Promise<unknown>;
  readonly changed: () => void;
}

export function RevokeButton({ name, prefix, send, changed }: RevokeProps) {
  const { act } = useNotices();
  const revoke = async () => {
    if (await act(send, 'The key is revoked: calls with it are refused.')) changed();
  };
  return (
    <ConfirmButton
      label="Revoke"
      title={`Revoke ${name}`}
      grave
      question={
        <p>
          Within a second all replicas refuse the key <code>{prefix}…</code>. This cannot be undone. To
          replace the key without an interruption, roll it.
        </p>
      }
      act={revoke}
    />
  );
}

interface NewKeyProps {
  readonly name: string;
  readonly secret: string;
  /** Where it belongs, as a sentence. */
  readonly place: string;
  readonly children?: ComponentChildren;
}

/** The only display of a new key: not in the address or storage, gone with the page. */
export function NewKey({ name, secret, place, children }: NewKeyProps) {
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
          <strong>This key is shown only once</strong>: the gateway stores only its hash. {place}
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
        {children}
      </div>
    </Dialog>
  );
}
