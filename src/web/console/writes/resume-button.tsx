/** A button that asks why, and lifts a stop. */
import { Name } from '../../ui/parts.js';
import { FormButton } from '../../ui/schema-form.js';
import { useAdmin } from '../admin.js';
import type { FieldsOf } from '../fields-of.js';

interface ResumeButtonProps {
  /** Null: of all teams. */
  readonly team: string | null;
  readonly changed: () => void;
}

const REASON: FieldsOf<'POST /admin/v1/writes/resume'> = [
  { name: 'reason', label: 'Reason', help: 'For the audit.', required: true, maxLength: 300 },
];

/** Not for those who may not do it. */
export function ResumeButton({ team, changed }: ResumeButtonProps) {
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
      done="That stop is lifted; writes go on within a second."
    >
      <p>
        Writes of {team === null ? 'all teams' : <Name>{team}</Name>} go on, on every replica, within a
        second. Other stops stay in force.
      </p>
    </FormButton>
  );
}
