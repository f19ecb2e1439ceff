/** A form from a table of fields. The gateway validates; its faults are shown at the fields. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Fault, Refused, wordsOf } from './api.js';
import { DialogButton } from './dialog.js';
import { FieldGrid, type FieldsProps } from './fields.js';
import { bodyOf, type FieldSpec, type Values, valuesOf } from './form-values.js';
import { useNotices } from './notices.js';
import { Button } from './parts.js';

type FormState = Required<Pick<FieldsProps, 'values' | 'set' | 'faults'>>;

interface SchemaFormProps {
  readonly label?: string;
  /** Absent if `children` render the fields. */
  readonly fields?: readonly FieldSpec[];
  readonly start?: Values;
  /** Label of the submit button. */
  readonly submit: string;
  readonly look?: string;
  readonly disabled?: boolean;
  /** Adds a cancel button. */
  readonly leave?: () => void;
  /** @throws an error that is shown at the fields, or beside the buttons. @param set resets fields */
  readonly send: (values: Values, set: FieldsProps['set']) => Promise<unknown>;
  /** Validates before sending. */
  readonly check?: (values: Values) => readonly Fault[];
  readonly changed?: (values: Values, part: Values) => void;
  /** Shown beside the buttons if fields have faults. */
  readonly wrong?: string;
  /** Further buttons. */
  readonly buttons?: ComponentChildren;
  readonly children?: (form: FormState) => ComponentChildren;
}

const FIRST_WRONG = ':is(.field:has(> .fault), .wrong) :is(input, textarea, select)';

export function SchemaForm({ fields = [], submit, leave, send, children, ...rest }: SchemaFormProps) {
  const { label, start, look = 'primary', disabled = false, check, changed, wrong = '', buttons } = rest;
  const [values, setValues] = useState(start ?? valuesOf(fields));
  const [refusal, setRefusal] = useState<{ error?: unknown; faults: readonly Fault[] } | null>(null);
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  // Focuses the first faulty field.
  useEffect(() => form.current?.querySelector<HTMLElement>(FIRST_WRONG)?.focus(), [refusal]);
  const set = (part: Values) => {
    setValues((was) => ({ ...was, ...part }));
    changed?.({ ...values, ...part }, part);
  };
  const submitted = async (event: SubmitEvent) => {
    event.preventDefault();
    const found = check?.(values) ?? [];
    setRefusal(found.length === 0 ? null : { faults: found });
    if (found.length > 0) return;
    setBusy(true);
    try {
      await send(values, set);
    } catch (error) {
      setRefusal({ error, faults: error instanceof Refused ? (error.problem.errors ?? []) : [] });
    }
    setBusy(false);
  };
  const faults = refusal?.faults ?? [];
  const said = refusal === null ? '' : faults.length > 0 ? wrong : wordsOf(refusal.error);
  return (
    <form ref={form} class="stack" aria-label={label} onSubmit={(event) => void submitted(event)}>
      {children?.({ values, set, faults }) ?? <FieldGrid {...{ fields, values, set, faults }} />}
      <div class={leave === undefined ? 'row' : 'row end'}>
        <p class="fault" role="alert">
          {said}
        </p>
        {leave === undefined ? null : <Button label="Cancel" act={leave} />}
        <Button label={submit} class={look} disabled={busy || disabled} />
        {buttons}
      </div>
    </form>
  );
}

interface FormButtonProps {
  /** On the button and on the submit button. */
  readonly label: string;
  /** Above the form; by default the label. */
  readonly title?: string;
  readonly look?: string;
  readonly fields: readonly FieldSpec[];
  readonly start?: Values;
  /** @throws an error that is shown in the dialog */
  readonly send: (body: Record<string, unknown>) => Promise<unknown>;
  /** Notice of success. */
  readonly done?: string;
  /** Above the fields. */
  readonly children?: ComponentChildren;
}

/** A button that opens a form. */
export function FormButton({ label, title, look, fields, start, send, done, children }: FormButtonProps) {
  const notices = useNotices();
  const sent = async (values: Values, close: () => void) => {
    await send(bodyOf(fields, values));
    close();
    if (done !== undefined) notices.done(done);
  };
  return (
    <DialogButton label={label} title={title} look={look}>
      {(close) => (
        <SchemaForm
          submit={label}
          leave={close}
          start={{ ...valuesOf(fields), ...start }}
          send={(values) => sent(values, close)}
        >
          {(form) => (
            <>
              {children}
              <FieldGrid fields={fields} {...form} />
            </>
          )}
        </SchemaForm>
      )}
    </DialogButton>
  );
}
