/** The explorer: reports as people look at them. A page over the data plane, signed in by a cookie. */
import { render } from 'preact';
import { WithNotices } from '../ui/notices.js';
import { SessionGate } from '../ui/session.js';
import { SignInPage } from '../ui/sign-in.js';
import '../ui/style.css';
import { Explorer } from './explorer.js';

const page = document.getElementById('page');
if (page === null) throw new Error('index.html has no place for the page');
render(
  <SessionGate
    path="/gateway/v1/session"
    member="key"
    signInPage={(props) => (
      <SignInPage {...props} title="Explorer" label="Team key">
        Your operator issues keys. The key is checked and not kept: this browser gets a cookie that scripts
        cannot read, and it ends when you sign out.
      </SignInPage>
    )}
  >
    <WithNotices>
      <Explorer />
    </WithNotices>
  </SessionGate>,
  page,
);
