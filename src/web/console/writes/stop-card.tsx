/** Stops writes, of all teams or of one. */
import { bodyOf } from '../../ui/form-values.js';
import { useNotices } from '../../ui/notices.js';
import { Card } from '../../ui/parts.js';
import { SchemaForm } from '../../ui/schema-form.js';
import { useGet } from '../../ui/session.js';
import { useAdmin } from '../admin.js';
import type { FieldsOf } from '../fields-of.js';
import type { Team } from '../teams/team.js';

const stopFields = (teams: readonly Team[]): FieldsOf<'POST /admin/v1/writes/stop'> => [
  {
    ...{ name: 'team', label: 'Of' },
    options: [['', 'all teams'], ...teams.map(({ id }) => id)],
  },
  {
    ...{ name: 'reason', label: 'Reason', required: true, maxLength: 300 },
    help: 'Shown on every page, and to those whose writes are refused.',
  },
];

/** Not for those who may not do it. */
export function StopCard({ changed }: { readonly changed: () => void }) {
  const { api, may } = useAdmin();
  const { done } = useNotices();
  const teams = useGet<{ teams: readonly Team[] }>('/admin/v1/teams');
  if (!may('POST /admin/v1/writes/stop')) return null;
  const fields = stopFields(teams.value?.teams ?? []);
  return (
    <Card title="Stop writes">
      <p class="quiet">
        Writes are refused until somebody resumes them; reports go on. What is under way is not recalled.
      </p>
      <SchemaForm
        fields={fields}
        submit="Stop writes"
        look="grave primary"
        send={async (values, set) => {
          await api.send('POST', '/admin/v1/writes/stop', bodyOf(fields, values));
          set({ reason: '' });
          done('Writes are stopped, on every replica within a second.');
          changed();
        }}
      />
    </Card>
  );
}
