/** One team: settings, keys and usage. */
import { useState } from 'preact/hooks';
import { Card, Empty, Tag, Wait } from '../../ui/parts.js';
import { go, hrefOf, useRoute } from '../../ui/route.js';
import { useGet } from '../../ui/session.js';
import { View } from '../../ui/shell.js';
import { useAdmin } from '../admin.js';
import { GuardCard } from './guard-card.js';
import { isDeclared, type Team } from './team.js';
import { TeamActions } from './team-actions.js';
import { TeamForm } from './team-form.js';
import { TeamKeys } from './team-keys.js';
import { SettingsCard } from './team-settings.js';
import { TeamUsage } from './team-usage.js';

export function TeamPage({ id }: { readonly id: string }) {
  const { may } = useAdmin();
  const { query } = useRoute();
  const [gone, setGone] = useState(false);
  const [saved, setSaved] = useState(false);
  const team = useGet<Team>(gone ? null : `/admin/v1/teams/${encodeURIComponent(id)}`);
  if (gone)
    return (
      <View title={id}>
        <Empty>
          The team is deleted and its keys are revoked. Its usage is kept.{' '}
          <a href={hrefOf(['teams'])}>All teams</a>
        </Empty>
      </View>
    );
  const { value } = team;
  const mayEdit = value !== null && !isDeclared(value) && may('PATCH /admin/v1/teams/:id');
  const here = hrefOf(['teams', id]);
  if (mayEdit && query.get('form') === 'edit') {
    const done = () => {
      setSaved(true);
      team.reload();
      go(here, true);
    };
    return (
      <View title={`Edit ${value.name}`} lead={<Lead team={value} />}>
        <TeamForm team={value} saved={done} leave={() => go(here, true)} />
      </View>
    );
  }
  return (
    <View
      title={value?.name ?? id}
      lead={value === null ? undefined : <Lead team={value} />}
      tools={
        value === null ? undefined : (
          <TeamActions team={value} changed={team.reload} removed={() => setGone(true)} />
        )
      }
    >
      <Wait of={team}>
        {(one) => (
          <>
            {saved ? (
              <p class="note good" role="status">
                Saved. All replicas follow within a second.
              </p>
            ) : null}
            {isDeclared(one) ? <ManagedCard team={one} /> : null}
            <SettingsCard team={one} />
            <GuardCard team={one} />
            <TeamKeys team={one} />
            <TeamUsage id={id} />
          </>
        )}
      </Wait>
    </View>
  );
}

function Lead({ team }: { readonly team: Team }) {
  return (
    <>
      {team.id} {team.disabled ? <Tag tone="bad">disabled</Tag> : null}{' '}
      {isDeclared(team) ? <Tag tone="info">declared in a file</Tag> : null}
    </>
  );
}

function ManagedCard({ team: { id } }: { readonly team: Team }) {
  return (
    <Card title="Declared in a file">
      <p>
        This team is declared in a file, applied by <code>dsp-gateway apply</code>. Other changes are refused:
        the next apply would undo them.
      </p>
      <p>
        To see what differs between the file and the gateway:{' '}
        <a href={hrefOf(['teams'], { form: 'apply' })}>compare the file here</a>, or{' '}
        <code>dsp-gateway apply -f teams.yaml --dry-run</code>. To manage it by hand, remove it from the file
        and apply that with <code>--release</code>.
      </p>
      <p>
        <a href={hrefOf(['audit'], { team: id })}>Changes in the audit</a>
      </p>
    </Card>
  );
}
