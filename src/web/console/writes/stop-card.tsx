/** Stops writes, of all teams or of one. */
import { useState } from 'preact/hooks';
import { useLoad } from '../../ui/load.js';
import { useNotices } from '../../ui/notices.js';
import { Card, Field } from '../../ui/parts.js';
import { useAdmin } from '../admin.js';
import type { Team } from '../teams/team.js';
import { ReasonField } from './reason-field.js';

interface StopCardProps {
  readonly changed: () => void;
}

/** Not for those who may not do it. */
export function StopCard({ changed }: StopCardProps) {
  const { api, may } = useAdmin();
  const { act } = useNotices();
  const [team, setTeam] = useState('');
  const [reason, setReason] = useState('');
  const teams = useLoad('teams', (signal) => api.get<{ teams: readonly Team[] }>('/admin/v1/teams', signal));
  if (!may('POST /admin/v1/writes/stop')) return null;
  const stop = async (event: SubmitEvent) => {
    event.preventDefault();
    const order = { ...(team === '' ? {} : { team }), reason };
    const words = 'Writes are stopped, on every replica within a second.';
    if (!(await act(() => api.send('POST', '/admin/v1/writes/stop', order), words))) return;
    setReason('');
    changed();
  };
  return (
    <Card title="Stop writes">
      <p class="quiet">
        Writes are refused until somebody resumes them; reports go on. What is under way is not recalled.
      </p>
      <form class="stack" onSubmit={(event) => void stop(event)}>
        <div class="form-grid">
          <Field label="Of">
            <select value={team} onChange={({ currentTarget: { value } }) => setTeam(value)}>
              <option value="">all teams</option>
              {(teams.value?.teams ?? []).map(({ id }) => (
                <option key={id} value={id}>
                  {id}
                </option>
              ))}
            </select>
          </Field>
          <ReasonField
            value={reason}
            help="Shown on every page, and to those whose writes are refused."
            onInput={setReason}
          />
        </div>
        <div class="row">
          <button type="submit" class="grave primary">
            Stop writes
          </button>
        </div>
      </form>
    </Card>
  );
}
