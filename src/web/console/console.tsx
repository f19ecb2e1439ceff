/** The sections of the console, below a banner of stopped writes. */
import { type Loaded, useLoad } from '../ui/load.js';
import { useGet } from '../ui/session.js';
import { type SectionView, Shell } from '../ui/shell.js';
import { useAdmin } from './admin.js';
import { Audit } from './audit.js';
import { Cache } from './cache/cache.js';
import { Credential } from './credential.js';
import { Overview } from './overview.js';
import { Requests } from './requests.js';
import { Sessions } from './sessions.js';
import { Teams } from './teams/teams.js';
import { StopBanner, type WritesAnswer } from './writes/stops.js';
import { Writes } from './writes/writes.js';

const sectionsOf = (writes: Loaded<WritesAnswer>): readonly SectionView[] => [
  { name: 'overview', title: 'Overview', view: () => <Overview /> },
  { name: 'requests', title: 'Requests', view: () => <Requests /> },
  { name: 'teams', title: 'Teams', view: (path) => <Teams path={path} /> },
  { name: 'cache', title: 'Cache', view: () => <Cache /> },
  { name: 'writes', title: 'Writes', view: () => <Writes writes={writes} /> },
  { name: 'credential', title: 'Credential', view: () => <Credential /> },
  { name: 'sessions', title: 'Sessions', view: () => <Sessions /> },
  { name: 'audit', title: 'Audit', view: () => <Audit /> },
];

/** Interval of reloading stops and the operator's role, in every section. */
const LIVE_MS = 5_000;

export function Console() {
  const { session, refresh } = useAdmin();
  const writes = useGet<WritesAnswer>('/admin/v1/writes', LIVE_MS);
  useLoad('session', refresh, LIVE_MS);
  const { name, role, readOnly } = session;
  return (
    <Shell product="console" sections={sectionsOf(writes)} who={{ name, role }}>
      <div role="status">
        {readOnly === null ? null : (
          <p class="note warn read-only">
            <strong>Read-only.</strong> {readOnly}
          </p>
        )}
      </div>
      <StopBanner stops={writes.value} changed={writes.reload} />
    </Shell>
  );
}
