/** The sign-in page. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, Refused, wordsOf } from './api.js';
import { Field } from './fields.js';
import { Button, Looking } from './parts.js';
import { useRoute } from './route.js';

export interface SignInWords {
  readonly title: string;
  /** Of the secret: `Admin token`. */
  readonly label: string;
  /** The source of the secret. */
  readonly about: string;
  /** Of a secret that nobody knows: what to do. */
  readonly unknown: string;
}

interface SignInProps extends SignInWords {
  /** Why the session ended; null: the user signed out, or there was none. */
  readonly why: string | null;
  /** @throws Refused, Unreachable */
  readonly signIn: (secret: string) => Promise<void>;
}

/** How one may sign in: `GET /auth/ways`. */
interface Ways {
  readonly company: boolean;
  readonly token: boolean;
}

export function SignInPage({ title, label, about, unknown, why, signIn }: SignInProps) {
  const field = useRef<HTMLInputElement>(null);
  const company = useRef<HTMLAnchorElement>(null);
  const [ways, setWays] = useState<Ways | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    document.title = `${title} · dsp-gateway`;
    call('GET', '/auth/ways').then(
      ({ text }) => setWays(JSON.parse(text) as Ways),
      (error: unknown) => {
        setFault(wordsOf(error));
        setWays({ company: false, token: true });
      },
    );
  }, [title]);
  useEffect(() => (company.current ?? field.current)?.focus(), [ways]);
  // The view one was at, by its address now.
  useRoute();
  const login = `/auth/login?${new URLSearchParams({ to: location.pathname + location.hash })}`;
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const input = field.current;
    if (input === null) return;
    setBusy(true);
    setFault(null);
    const secret = input.value.trim();
    input.value = '';
    await signIn(secret).catch((error: unknown) => {
      // The words of the API are of headers.
      const isUnknown =
        error instanceof Refused && /^invalid_(api_key|admin_token)$/.test(error.problem.code);
      setFault(isUnknown ? unknown : wordsOf(error));
      setBusy(false);
      input.focus();
    });
  };
  if (ways === null) return <Looking />;
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
        {ways.company ? (
          <a ref={company} href={login} class="button primary">
            Sign in with your company account
          </a>
        ) : null}
        {ways.company && ways.token ? <p class="quiet small">Or sign in with a secret:</p> : null}
        {ways.token ? (
          <Field label={label}>
            <input ref={field} type="password" name="secret" autocomplete="off" spellcheck={false} required />
          </Field>
        ) : null}
        <p class="fault" role="alert">
          {fault}
        </p>
        {ways.token ? (
          <Button
            label={busy ? 'Signing in …' : 'Sign in'}
            class={ways.company ? '' : 'primary'}
            disabled={busy}
          />
        ) : null}
        <div class="quiet small">
          {ways.token ? `${about} and not kept: this` : 'This'} browser gets a cookie that scripts cannot
          read, and it ends when you sign out.
        </div>
      </form>
    </main>
  );
}
