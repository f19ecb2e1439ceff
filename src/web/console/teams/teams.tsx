/** The section of teams: list, team, form of a new team, file of teams. */
import { go, hrefOf, useRoute } from '../../ui/route.js';
import { View } from '../../ui/shell.js';
import { useAdmin } from '../admin.js';
import { APPLY, ApplyForm } from './apply-form.js';
import { TeamForm } from './team-form.js';
import { TeamList } from './team-list.js';
import { TeamPage } from './team-page.js';

/** @param path of a team: its id */
export function Teams({ path: [id] }: { readonly path: readonly string[] }) {
  const { may } = useAdmin();
  const { query } = useRoute();
  if (id !== undefined) return <TeamPage key={id} id={id} />;
  if (query.get('form') === 'new' && may('POST /admin/v1/teams')) return <NewTeam />;
  if (query.get('form') === 'apply' && may(APPLY)) return <ApplyForm />;
  return <TeamList />;
}

function NewTeam() {
  return (
    <View title="New team" lead="A team has keys, advertisers and limits.">
      <TeamForm
        team={null}
        saved={({ id }) => go(hrefOf(['teams', id]), true)}
        leave={() => go(hrefOf(['teams']))}
      />
    </View>
  );
}
