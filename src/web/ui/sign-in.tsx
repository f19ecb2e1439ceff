/** The sign-in page. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { wordsOf } from './api.js';
import { Field } from './fields.js';
import { Button } from './parts.js';

export interface SignInWords {
  readonly title: string;
  /** Of the secret: `Admin token`. */
  readonly label: string;
  /** The source of the secret. */
  readonly about: string;
}

interface SignInProps extends SignInWords {
  /** Why the session ended; null: the user signed out, or there was none. */
  readonly why: string | null;
  /** @throws Refused, Unreachable */
  readonly signIn: (secret: string) => Promise<void>;
}

export function SignInPage({ title, label, about, why, signIn }: SignInProps) {
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
        <Button label={busy ? 'Signing in …' : 'Sign in'} class="primary" disabled={busy} />
        <div class="quiet small">
          {about} and not kept: this browser gets a cookie that scripts cannot read, and it ends when you sign
          out.
        </div>
      </form>
    </main>
  );
}
