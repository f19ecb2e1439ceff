/** The sections of the explorer, and who is signed in. */
import { Sections, type SectionView } from '../ui/sections.js';
import { Access } from './access.js';
import { Pins } from './pins.js';
import { ReportSection } from './report.js';
import { useTeam } from './team.js';

const SECTIONS: readonly SectionView[] = [
  { name: 'report', title: 'Report', view: () => <ReportSection /> },
  { name: 'pins', title: 'Pins', view: () => <Pins /> },
  { name: 'access', title: 'My access', view: () => <Access /> },
];

export function Explorer() {
  const { session } = useTeam();
  return <Sections product="explorer" sections={SECTIONS} who={{ name: session.team.name, role: 'team' }} />;
}
