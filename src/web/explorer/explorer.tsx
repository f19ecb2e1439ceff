/** The sections of the explorer, and which one the address names. */
import type { ComponentChildren } from 'preact';
import { useRoute } from '../ui/route.js';
import { Shell } from '../ui/shell.js';
import { Access } from './access.js';
import { Pins } from './pins.js';
import { ReportSection } from './report.js';
import { useTeam } from './team.js';

interface ExplorerSection {
  readonly name: string;
  readonly title: string;
  readonly view: (path: readonly string[]) => ComponentChildren;
}

const SECTIONS: readonly ExplorerSection[] = [
  { name: 'report', title: 'Report', view: () => <ReportSection /> },
  { name: 'pins', title: 'Pins', view: () => <Pins /> },
  { name: 'access', title: 'My access', view: () => <Access /> },
];

const LINKS = [
  { href: '/docs', title: 'Documentation' },
  { href: '/docs/errors', title: 'Errors' },
];

export function Explorer() {
  const { session } = useTeam();
  const { path } = useRoute();
  const [name = '', ...rest] = path;
  const section = SECTIONS.find((one) => one.name === name) ?? SECTIONS[0];
  if (section === undefined) return null;
  return (
    <Shell
      product="explorer"
      sections={SECTIONS}
      current={section.name}
      who={{ name: session.team.name, role: 'team' }}
      links={LINKS}
    >
      {section.view(rest)}
    </Shell>
  );
}
