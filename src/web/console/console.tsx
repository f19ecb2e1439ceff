/** The sections of the console, and which one the address names. */
import type { ComponentChildren } from 'preact';
import { useRoute } from '../ui/route.js';
import { Shell } from '../ui/shell.js';
import { useAdmin } from './admin.js';
import { Audit } from './audit.js';
import { Cache } from './cache/cache.js';
import { Credential } from './credential.js';
import { Overview } from './overview.js';
import { Teams } from './teams/teams.js';

interface ConsoleSection {
  readonly name: string;
  readonly title: string;
  /** @param path what follows the section's name in the address */
  readonly view: (path: readonly string[]) => ComponentChildren;
}

const SECTIONS: readonly ConsoleSection[] = [
  { name: 'overview', title: 'Overview', view: () => <Overview /> },
  { name: 'teams', title: 'Teams', view: (path) => <Teams path={path} /> },
  { name: 'cache', title: 'Cache', view: () => <Cache /> },
  { name: 'credential', title: 'Credential', view: () => <Credential /> },
  { name: 'audit', title: 'Audit', view: () => <Audit /> },
];

const LINKS = [
  { href: '/docs', title: 'Documentation' },
  { href: '/docs/errors', title: 'Errors' },
];

export function Console() {
  const { session } = useAdmin();
  const { path } = useRoute();
  const [name = '', ...rest] = path;
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
      {section.view(rest)}
    </Shell>
  );
}
