/** The explorer, for teams. */

import { writeDays } from '../ui/format.js';
import { Looking } from '../ui/parts.js';
import { type SectionView, Shell } from '../ui/shell.js';
import { start } from '../ui/start.js';
import { Access } from './access.js';
import { ChooseTeam, SwitchTeam, useChoice } from './choose-team.js';
import { dates } from './dates.js';
import './explorer.css';
import { MyKeys } from './my-keys.js';
import { Pins } from './pins.js';
import { ReportSection } from './report.js';
import { useTeam } from './team.js';

const SECTIONS: readonly SectionView[] = [
  { name: 'report', title: 'Report', view: () => <ReportSection /> },
  { name: 'pins', title: 'Pins', view: () => <Pins /> },
  { name: 'access', title: 'My access', view: () => <Access /> },
];

const OF_MAKERS: readonly SectionView[] = [
  ...SECTIONS,
  { name: 'keys', title: 'My keys', view: () => <MyKeys /> },
];

function Explorer() {
  const { team, person } = useTeam().session;
  const { busy, choose } = useChoice();
  if (busy) return <Looking />;
  if (person === null)
    return <Shell product="explorer" sections={SECTIONS} who={{ name: team?.name ?? '', role: 'team' }} />;
  const { name, teams, keys } = person;
  if (team === null) {
    const view = () => <ChooseTeam person={person} choose={choose} />;
    return (
      <Shell product="explorer" sections={[{ name: '', title: 'Choose a team', view }]} who={{ name }} />
    );
  }
  const own =
    teams.length > 1 ? { more: <SwitchTeam person={person} choose={choose} /> } : { role: team.name };
  // A switch begins anew, as all that was loaded is of the other team.
  return (
    <Shell key={team.id} product="explorer" sections={keys ? OF_MAKERS : SECTIONS} who={{ name, ...own }} />
  );
}

// In the reader's language, as numbers are.
writeDays(dates.full);

start({
  path: '/gateway/v1/session',
  member: 'key',
  title: 'Explorer',
  label: 'Team key',
  about: 'Your operator issues keys. The key is checked',
  unknown: 'This key is not known. Copy it again, or ask whoever gave it to you.',
  children: <Explorer />,
});
