/** Stops of writes: the card that stops, and the banner that resumes. */
import { useState } from 'preact/hooks';
import type { AnswerTo } from '../../../api/operations/table.js';
import { bodyOf } from '../../ui/form-values.js';
import { moment } from '../../ui/format.js';
import { useNotices } from '../../ui/notices.js';
import { Card, Name } from '../../ui/parts.js';
import { FormButton, SchemaForm } from '../../ui/schema-form.js';
import { useGet } from '../../ui/session.js';
import { useAdmin } from '../admin.js';
import type { FieldsOf } from '../fields-of.js';
import type { Team } from '../teams/team.js';

export type WritesAnswer = AnswerTo<'GET /admin/v1/writes'>;

/** Called after writes were stopped or resumed. */
type Changed = { readonly changed: () => void };

/** The active stops; that of all teams first. */
export function StopBanner({ stops, changed }: Changed & { readonly stops: WritesAnswer | null }) {
  const { all = null, teams = [] } = stops ?? {};
  const shown = [...(all === null ? [] : [{ ...all, team: null }]), ...teams];
  return (
    <div role="status">
      {shown.map(({ team, at, by, reason }) => (
        <div key={team ?? ''} class="stop-banner note bad row">
          <p>
            <strong>Writes of {team === null ? 'all teams' : <Name>{team}</Name>} are stopped</strong> since{' '}
            {moment(at)} by <bdi>{by}</bdi>: <bdi>{reason}</bdi>
          </p>
          <ResumeButton team={team} changed={changed} />
        </div>
      ))}
    </div>
  );
}

const REASON: FieldsOf<'POST /admin/v1/writes/resume'> = [
  { name: 'reason', label: 'Reason', help: 'Recorded in the audit.', required: true, maxLength: 300 },
];

function ResumeButton({ team, changed }: Changed & { readonly team: string | null }) {
  const { api, may } = useAdmin();
  if (!may('POST /admin/v1/writes/resume')) return null;
  const resume = async (body: object) => {
    await api.send('POST', '/admin/v1/writes/resume', { ...body, ...(team !== null && { team }) });
    changed();
  };
  return (
    <FormButton
      label="Resume writes"
      fields={REASON}
      send={resume}
      done="Resumed: writes are possible again within a second."
    >
      <p>
        Writes of {team === null ? 'all teams' : <Name>{team}</Name>} resume on all replicas within a second.
        Other stops stay in force.
      </p>
    </FormButton>
  );
}

const stopFields = (teams: readonly Team[]): FieldsOf<'POST /admin/v1/writes/stop'> => [
  {
    name: 'team',
    label: 'Team',
    options: [['', 'all teams'], ...teams.map(({ id, name }) => [id, `${name} (${id})`] as const)],
  },
  {
    name: 'reason',
    label: 'Reason',
    required: true,
    maxLength: 300,
    help: 'Shown on every page, and to callers whose writes are refused.',
  },
];

export function StopCard({ changed }: Changed) {
  const { api, may } = useAdmin();
  const { done } = useNotices();
  const teams = useGet<{ teams: readonly Team[] }>('/admin/v1/teams');
  const [isOfOne, setIsOfOne] = useState(false);
  if (!may('POST /admin/v1/writes/stop')) return null;
  const fields = stopFields(teams.value?.teams ?? []);
  return (
    <Card title="Stop writes">
      <p class="quiet">
        Writes are refused until they are resumed. Reports continue, and running writes are not cancelled.
      </p>
      <SchemaForm
        fields={fields}
        submit={isOfOne ? 'Stop writes of this team' : 'Stop writes of all teams'}
        changed={({ team }) => setIsOfOne(team !== '')}
        look="grave primary"
        send={async (values, set) => {
          await api.send('POST', '/admin/v1/writes/stop', bodyOf(fields, values));
          set({ reason: '' });
          done('Writes are stopped on all replicas within a second.');
          changed();
        }}
      />
    </Card>
  );
}
