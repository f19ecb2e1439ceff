/** The console: what operators see and do. A page over the admin API, signed in by a cookie. */
import { render } from 'preact';
import { WithNotices } from '../ui/notices.js';
import { SessionGate } from '../ui/session.js';
import { SignInPage } from '../ui/sign-in.js';
import '../ui/style.css';
import { Console } from './console.js';

const page = document.getElementById('page');
if (page === null) throw new Error('index.html has no place for the page');
render(
  <SessionGate
    path="/admin/v1/session"
    member="token"
    signInPage={(props) => (
      <SignInPage {...props} title="Console" label="Admin token">
        The token is checked and not kept: this browser gets a cookie that scripts cannot read, and it ends
        when you sign out.
      </SignInPage>
    )}
  >
    <WithNotices>
      <Console />
    </WithNotices>
  </SessionGate>,
  page,
);
