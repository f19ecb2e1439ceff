/** Starts a page: whoever is not signed in sees the form for it first. */
import { type ComponentChildren, render } from 'preact';
import { WithNotices } from './notices.js';
import { SessionGate } from './session.js';
import { SignInPage } from './sign-in.js';
import './style.css';
import './table.css';

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
