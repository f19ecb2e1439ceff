/** Pins the report as it is shown: if the platform has said something else since, the gateway refuses. */
import { useState } from 'preact/hooks';
import { wordsOf } from '../ui/api.js';
import { Dialog } from '../ui/dialog.js';
import { Field } from '../ui/fields.js';
import { type Question, queryOf } from './question.js';
import { useTeam } from './team.js';

interface PinProps {
  readonly question: Question;
  /** `meta.revision` of what is shown; null where it is not kept by days. */
  readonly revision: string | null;
}

const SCOPE = 'report:pin';

export function PinButton({ question, revision }: PinProps) {
  const { session } = useTeam();
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Pin
      </button>
      {open ? (
        <Dialog title="Pin this report" close={() => setOpen(false)}>
          {session.scopes.includes(SCOPE) ? (
            <PinForm question={question} revision={revision} />
          ) : (
            <p>
              This key may not pin: it lacks the scope <code>{SCOPE}</code>. Ask your operator to give it to
              the team.
            </p>
          )}
        </Dialog>
      ) : null}
    </>
  );
}

type State = 'asked' | 'sent' | 'done';

function PinForm({ question, revision }: PinProps) {
  const { api } = useTeam();
  const [note, setNote] = useState('');
  const [state, setState] = useState<State>('asked');
  const [fault, setFault] = useState<string | null>(null);
  const pin = async (event: SubmitEvent) => {
    event.preventDefault();
    setState('sent');
    setFault(null);
    const named = { endpoint: question.endpoint, query: queryOf(question).toString() };
    try {
      await api.send('POST', '/gateway/v1/pins', {
        ...named,
        ...(revision === null ? {} : { revision }),
        ...(note.trim() === '' ? {} : { note: note.trim() }),
      });
      setState('done');
    } catch (error) {
      setFault(wordsOf(error));
      setState('asked');
    }
  };
  if (state === 'done')
    return (
      <p role="status">
        It is pinned, and stays as it is now. <a href="#/pins">See all pins</a>
      </p>
    );
  return (
    <form onSubmit={(event) => void pin(event)} class="notes">
      <p>The rows stay byte for byte the same, whatever the platform says of these days later.</p>
      <Field label="Note" help="For whoever reads the list of pins; may be left empty.">
        <input
          type="text"
          maxLength={1000}
          value={note}
          onInput={(event) => setNote(event.currentTarget.value)}
        />
      </Field>
      <p class="fault" role="alert">
        {fault}
      </p>
      <div class="row end">
        <button type="submit" class="primary" disabled={state === 'sent'}>
          Pin it
        </button>
      </div>
    </form>
  );
}
