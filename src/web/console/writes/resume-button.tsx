/** A button that asks why, and lifts a stop. */
import { useState } from 'preact/hooks';
import { Dialog } from '../../ui/dialog.js';
import { useNotices } from '../../ui/notices.js';
import { Name } from '../../ui/parts.js';
import { useAdmin } from '../admin.js';
import { ReasonField } from './reason-field.js';

interface ResumeButtonProps {
  /** Null: of all teams. */
  readonly team: string | null;
  readonly changed: () => void;
}

/** Not for those who may not do it. */
export function ResumeButton({ team, changed }: ResumeButtonProps) {
  const { api, may } = useAdmin();
  const { act } = useNotices();
  const [reason, setReason] = useState<string | null>(null);
  if (!may('POST /admin/v1/writes/resume')) return null;
  const label = 'Resume writes';
  const close = () => setReason(null);
  const resume = async (event: SubmitEvent) => {
    event.preventDefault();
    const order = { ...(team === null ? {} : { team }), reason };
    const words = 'That stop is lifted; writes go on within a second.';
    close();
    if (await act(() => api.send('POST', '/admin/v1/writes/resume', order), words)) changed();
  };
  return (
    <>
      <button type="button" onClick={() => setReason('')}>
        {label}
      </button>
      {reason === null ? null : (
        <Dialog title={label} close={close}>
          <form class="stack" onSubmit={(event) => void resume(event)}>
            <p>
              Writes of {team === null ? 'all teams' : <Name>{team}</Name>} go on, on every replica, within a
              second. Other stops stay in force.
            </p>
            <ReasonField value={reason} help="For the audit." onInput={setReason} />
            <div class="row end">
              <button type="button" onClick={close}>
                Leave it
              </button>
              <button type="submit" class="primary">
                {label}
              </button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  );
}
