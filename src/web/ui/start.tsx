/** Starts a page: whoever is not signed in sees the form for it first. */
import { type ComponentChildren, render } from 'preact';
import { WithNotices } from './notices.js';
import { SessionGate } from './session.js';
import './style.css';
import './table.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import { wordsOf } from './api.js';
import { Field } from './fields.js';
import type { SignInProps } from './session.js';

interface Start {
  /** Where sessions are made and ended, `/admin/v1/session`. */
  readonly path: string;
  /** The member of the body that holds the secret. */
  readonly member: 'token' | 'key';
  readonly title: string;
  /** Of what is asked for: `Admin token`. */
  readonly label: string;
  /** Where it comes from. */
  readonly about: string;
}

export function start({ path, member, about, ...words }: Start, page: ComponentChildren): void {
  const place = document.getElementById('page');
  if (place === null) throw new Error('index.html has no place for the page');
  const gate = (
    <SessionGate
      path={path}
      member={member}
      signInPage={(props) => (
        <SignInPage {...props} {...words}>
          {about} and not kept: this browser gets a cookie that scripts cannot read, and it ends when you sign
          out.
        </SignInPage>
      )}
    >
      <WithNotices>{page}</WithNotices>
    </SessionGate>
  );
  render(gate, place);
}

// The one form before everything else.

interface Props extends SignInProps {
  readonly title: string;
  /** Of what is asked for: `Admin token`. */
  readonly label: string;
  /** Where it comes from, and what happens to it. */
  readonly children: ComponentChildren;
}

function SignInPage({ title, label, why, signIn, children }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const [fault, setFault] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    document.title = `${title} · dsp-gateway`;
    field.current?.focus();
  }, [title]);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const input = field.current;
    if (input === null) return;
    setBusy(true);
    setFault(null);
    const secret = input.value.trim();
    input.value = '';
    await signIn(secret).catch((error: unknown) => {
      setFault(wordsOf(error));
      setBusy(false);
      input.focus();
    });
  };
  return (
    <main class="sign-in">
      <form onSubmit={(event) => void submit(event)} aria-labelledby="sign-in-title">
        <p class="brand">
          <span class="mark" aria-hidden="true" />
          dsp-gateway
        </p>
        <h1 id="sign-in-title">{title}</h1>
        {why === null ? null : (
          <p class="note warn" role="status">
            {why}
          </p>
        )}
        <Field label={label}>
          <input ref={field} type="password" name="secret" autocomplete="off" spellcheck={false} required />
        </Field>
        <p class="fault" role="alert">
          {fault}
        </p>
        <button class="primary" type="submit" disabled={busy}>
          {busy ? 'Signing in …' : 'Sign in'}
        </button>
        <div class="quiet small">{children}</div>
      </form>
    </main>
  );
}
