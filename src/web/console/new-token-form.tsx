/** Where a new token comes from: pasted, or asked of the platform. */
import { useState } from 'preact/hooks';
import { Field } from '../ui/parts.js';
import type { Take } from './rotation.js';

interface NewTokenFormProps {
  readonly take: Take;
  /** The step that is under way. */
  readonly busy: string | null;
}

export function NewTokenForm({ take, busy }: NewTokenFormProps) {
  const [token, setToken] = useState('');
  const [expires, setExpires] = useState('');
  const stage = async (event: SubmitEvent) => {
    event.preventDefault();
    const body = { token: token.trim(), ...(expires === '' ? {} : { expiresAt: expires }) };
    // Whatever comes of it: a secret does not stay in a page.
    setToken('');
    if (await take('stage', body)) setExpires('');
  };
  return (
    <form class="stack" onSubmit={(event) => void stage(event)} aria-label="A new token">
      <div class="form-grid">
        <Field label="Token" help="Copied from the platform's dashboard, whole.">
          <input
            type="password"
            autocomplete="off"
            spellcheck={false}
            required
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </Field>
        <Field label="Ends on" help="Empty: a year from now, as the platform promises.">
          <input type="date" value={expires} onInput={(event) => setExpires(event.currentTarget.value)} />
        </Field>
      </div>
      <div class="row">
        <button type="submit" class="primary" disabled={busy !== null}>
          Stage it beside the active one
        </button>
        <button type="button" disabled={busy !== null} onClick={() => void take('mint')}>
          {busy === 'mint' ? 'Asking the platform …' : 'Ask the platform for one'}
        </button>
      </div>
    </form>
  );
}
