/** Where a new token comes from: pasted, or asked of the platform. */
import { bodyOf, type Values } from '../ui/form-values.js';
import { SchemaForm } from '../ui/schema-form.js';
import type { FieldsOf } from './fields-of.js';
import type { Take } from './rotation.js';

const TOKEN: FieldsOf<'POST /admin/v1/token/stage'> = [
  {
    ...{ name: 'token', label: 'Token', is: 'password', required: true },
    help: "Copied from the platform's dashboard, whole.",
  },
  {
    ...{ name: 'expiresAt', label: 'Ends on', is: 'date' },
    help: 'Empty: a year from now, as the platform promises.',
  },
];

interface NewTokenFormProps {
  readonly take: Take;
  /** The step that is under way. */
  readonly busy: string | null;
}

export function NewTokenForm({ take, busy }: NewTokenFormProps) {
  const stage = async (values: Values, set: (part: Values) => void) => {
    // Whatever comes of it: a secret does not stay in a page.
    set({ token: '' });
    if (await take('stage', bodyOf(TOKEN, values))) set({ expiresAt: '' });
  };
  return (
    <SchemaForm
      label="A new token"
      fields={TOKEN}
      submit="Stage it beside the active one"
      disabled={busy !== null}
      send={stage}
      buttons={
        <button type="button" disabled={busy !== null} onClick={() => void take('mint')}>
          {busy === 'mint' ? 'Asking the platform …' : 'Ask the platform for one'}
        </button>
      }
    />
  );
}
