/** Starts a page, behind its sign-in. */
import { render } from 'preact';
import { WithNotices } from './notices.js';
import { type GateProps, SessionGate } from './session.js';
import './style.css';
import './frame.css';
import './table.css';

export function start({ children, ...gate }: GateProps): void {
  const place = document.getElementById('page');
  if (place === null) throw new Error('index.html has no place for the page');
  render(
    <SessionGate {...gate}>
      <WithNotices>{children}</WithNotices>
    </SessionGate>,
    place,
  );
}
