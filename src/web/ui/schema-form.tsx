/** A form out of a table of fields. The gateway judges what is typed; what it says of a field stands at the field. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Fault, Refused, wordsOf } from './api.js';
import { Dialog } from './dialog.js';
import { FieldGrid, type FieldsProps } from './fields.js';
import { bodyOf, type FieldSpec, type Values, valuesOf } from './form-values.js';
import { useNotices } from './notices.js';

type FormState = Required<Pick<FieldsProps, 'values' | 'set' | 'faults'>>;

interface SchemaFormProps {
  readonly label?: string;
  /** Left out where `children` draw the fields. */
  readonly fields?: readonly FieldSpec[];
  readonly start?: Values;
  /** On the button that sends. */
  readonly submit: string;
  readonly look?: string;
  readonly disabled?: boolean;
  /** Closes the form without sending, by this button. */
  readonly leave?: { readonly label: string; readonly act: () => void };
  /** Sends. @throws what is shown: at the fields, or beside the buttons. @param set for what is to be typed anew */
  readonly send: (values: Values, set: FieldsProps['set']) => Promise<unknown>;
  /** Found by the page itself. */
  readonly check?: (values: Values) => readonly Fault[];
  /** Called with each change. */
  readonly changed?: () => void;
  /** Said beside the buttons where fields are wrong. */
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
  // The first field that is wrong is where to go on.
  useEffect(() => form.current?.querySelector<HTMLElement>(FIRST_WRONG)?.focus(), [refusal]);
  const set = (part: Values) => {
    setValues((was) => ({ ...was, ...part }));
    changed?.();
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
        {leave === undefined ? null : (
          <button type="button" onClick={leave.act}>
            {leave.label}
          </button>
        )}
        <button type="submit" class={look} disabled={busy || disabled}>
          {submit}
        </button>
        {buttons}
      </div>
    </form>
  );
}

interface FormButtonProps {
  /** On the button, above the form, and on the button that sends. */
  readonly label: string;
  /** For a screen reader, where the label alone does not tell buttons apart. */
  readonly name?: string;
  readonly look?: string;
  readonly fields: readonly FieldSpec[];
  readonly start?: Values;
  /** @param body of what is typed. @throws what is shown in the dialog */
  readonly send: (body: Record<string, unknown>) => Promise<unknown>;
  /** Said when it is done. */
  readonly done?: string;
  /** Above the fields. */
  readonly children?: ComponentChildren;
}

/** A button that opens a form. */
export function FormButton({ label, name, look = '', fields, start, send, done, children }: FormButtonProps) {
  const [open, setOpen] = useState(false);
  const notices = useNotices();
  const close = () => setOpen(false);
  const sent = async (values: Values) => {
    await send(bodyOf(fields, values));
    close();
    if (done !== undefined) notices.done(done);
  };
  return (
    <>
      <button type="button" class={look} aria-label={name} onClick={() => setOpen(true)}>
        {label}
      </button>
      {open ? (
        <Dialog title={label} close={close}>
          <SchemaForm
            submit={label}
            leave={{ label: 'Cancel', act: close }}
            start={{ ...valuesOf(fields), ...start }}
            send={sent}
          >
            {(form) => (
              <>
                {children}
                <FieldGrid fields={fields} {...form} />
              </>
            )}
          </SchemaForm>
        </Dialog>
      ) : null}
    </>
  );
}
