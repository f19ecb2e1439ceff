/** The sections of the console, and which one the address names. */
import type { ComponentChildren } from 'preact';
import { useLoad } from '../ui/load.js';
import { useRoute } from '../ui/route.js';
import { Shell } from '../ui/shell.js';
import { useAdmin } from './admin.js';
import { Audit } from './audit.js';
import { Cache } from './cache/cache.js';
import { Credential } from './credential.js';
import { Overview } from './overview.js';
import { Teams } from './teams/teams.js';
import { StopBanner } from './writes/stop-banner.js';
import type { WriteStops } from './writes/stops.js';
import { Writes } from './writes/writes.js';

interface ConsoleSection {
  readonly name: string;
  readonly title: string;
  /**
   * @param path what follows the section's name in the address
   * @param stopsChanged to be called when writes were stopped or resumed
   */
  readonly view: (path: readonly string[], stopsChanged: () => void) => ComponentChildren;
}

const SECTIONS: readonly ConsoleSection[] = [
  { name: 'overview', title: 'Overview', view: () => <Overview /> },
  { name: 'teams', title: 'Teams', view: (path) => <Teams path={path} /> },
  { name: 'cache', title: 'Cache', view: () => <Cache /> },
  { name: 'writes', title: 'Writes', view: (_, stopsChanged) => <Writes changed={stopsChanged} /> },
  { name: 'credential', title: 'Credential', view: () => <Credential /> },
  { name: 'audit', title: 'Audit', view: () => <Audit /> },
];

const LINKS = [
  { href: '/docs', title: 'Documentation' },
  { href: '/docs/errors', title: 'Errors' },
];

/** Stops are looked for so often, on whatever page somebody is. */
const STOPS_MS = 5_000;

export function Console() {
  const { session, api } = useAdmin();
  const { path } = useRoute();
  const [name = '', ...rest] = path;
  const stops = useLoad('stops', (signal) => api.get<WriteStops>('/admin/v1/writes', signal), STOPS_MS);
  const section = SECTIONS.find((one) => one.name === name) ?? SECTIONS[0];
  if (section === undefined) return null;
  return (
    <Shell
      product="console"
      sections={SECTIONS}
      current={section.name}
      who={{ name: session.name, role: session.role }}
      links={LINKS}
    >
      <StopBanner stops={stops.value} changed={stops.reload} />
      {section.view(rest, stops.reload)}
    </Shell>
  );
}
