/** Actions on a team, each with a confirmation. */
import { ConfirmButton } from '../../ui/dialog.js';
import { useNotices } from '../../ui/notices.js';
import { Name } from '../../ui/parts.js';
import { hrefOf } from '../../ui/route.js';
import { useAdmin } from '../admin.js';
import { isDeclared, type Team } from './team.js';

type TeamActionsProps = Readonly<{ team: Team; changed: () => void; removed: () => void }>;

/** None for declared teams: the gateway would refuse them. */
export function TeamActions({ team, changed, removed }: TeamActionsProps) {
  const { api, may } = useAdmin();
  const { act, fault } = useNotices();
  if (isDeclared(team)) return null;
  const path = `/admin/v1/teams/${team.id}`;
  const set = async (disabled: boolean) => {
    const words = disabled ? 'The team is disabled: all its calls are refused.' : 'The team may call again.';
    if (await act(() => api.send('PATCH', path, { disabled }), words)) changed();
  };
  return (
    <>
      {may('PATCH /admin/v1/teams/:id') ? (
        <>
          <a class="button" href={hrefOf(['teams', team.id], { form: 'edit' })}>
            Edit
          </a>
          <ConfirmButton
            label={team.disabled ? 'Enable' : 'Disable'}
            question={
              team.disabled ? (
                <p>The team may call again at once, with its existing keys.</p>
              ) : (
                <p>
                  Within a second all replicas refuse all calls of <Name>{team.name}</Name>. Keys and settings
                  stay, and the team can be enabled again.
                </p>
              )
            }
            act={() => set(!team.disabled)}
          />
        </>
      ) : null}
      {may('DELETE /admin/v1/teams/:id') ? (
        <ConfirmButton
          label="Delete"
          grave
          question={
            <p>
              <Name>{team.name}</Name> is deleted, and its keys are revoked for good: a team of the same id
              made later does not bring them back. What it used stays in the usage. To stop it for a while,
              disable it.
            </p>
          }
          act={() => api.send('DELETE', path).then(removed, fault)}
        />
      ) : null}
    </>
  );
}
