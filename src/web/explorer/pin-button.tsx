/** Pins the shown report; the gateway refuses if its data has changed since. */
import { useState } from 'preact/hooks';
import { DialogButton } from '../ui/dialog.js';
import { bodyOf, type FieldSpec } from '../ui/form-values.js';
import { SchemaForm } from '../ui/schema-form.js';
import { counted } from './numbers.js';
import type { Meta } from './parse.js';
import { splitWords } from './pinned.js';
import { type Question, queryOf } from './question.js';
import { useTeam } from './team.js';

interface PinProps {
  readonly question: Question;
  /** Of the shown report. */
  readonly meta: Meta;
}

const SCOPE = 'report:pin';

export function PinButton(props: PinProps) {
  const { session } = useTeam();
  return (
    <DialogButton label="Pin" title="Pin this report">
      {() =>
        session.scopes.includes(SCOPE) ? (
          <PinForm {...props} />
        ) : (
          <p>
            This key cannot pin: its team lacks the scope <code>{SCOPE}</code>. Ask your operator for it.
          </p>
        )
      }
    </DialogButton>
  );
}

const NOTE: readonly FieldSpec[] = [
  { name: 'note', label: 'Note', maxLength: 1000, help: 'Shown in the list of pins; optional.' },
];

function PinForm({ question, meta: { revision, rowCount, split } }: PinProps) {
  const { api } = useTeam();
  const [done, setDone] = useState(false);
  if (done)
    return (
      <p role="status">
        Pinned. It will not change. <a href="#/pins">See all pins</a>
      </p>
    );
  return (
    <div class="stack">
      <p>
        A pin keeps the {counted(rowCount, 'row')} {splitWords(split)} as the platform sent them, without
        filter, weeks and calculated columns of this page, and without the platform’s own totals: what does
        not add up, such as reach, has none.
      </p>
      <SchemaForm
        fields={NOTE}
        submit="Pin"
        send={async (values) => {
          const named = { endpoint: question.endpoint, query: queryOf(question).toString() };
          const body = { ...named, revision, ...bodyOf(NOTE, values) };
          await api.send('POST', '/gateway/v1/pins', body);
          setDone(true);
        }}
      />
    </div>
  );
}
