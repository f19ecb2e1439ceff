/** The explorer, for teams. */
import { type SectionView, Shell } from '../ui/shell.js';
import { start } from '../ui/start.js';
import { Access } from './access.js';
import './explorer.css';
import { Pins } from './pins.js';
import { ReportSection } from './report.js';
import { useTeam } from './team.js';

const SECTIONS: readonly SectionView[] = [
  { name: 'report', title: 'Report', view: () => <ReportSection /> },
  { name: 'pins', title: 'Pins', view: () => <Pins /> },
  { name: 'access', title: 'My access', view: () => <Access /> },
];

function Explorer() {
  const { session } = useTeam();
  return (
    <Shell product="explorer" sections={SECTIONS} who={{ name: session.team?.name ?? '', role: 'team' }} />
  );
}

start({
  path: '/gateway/v1/session',
  member: 'key',
  title: 'Explorer',
  label: 'Team key',
  about: 'Your operator issues keys. The key is checked',
  children: <Explorer />,
});
