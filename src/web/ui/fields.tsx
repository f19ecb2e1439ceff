/** Fields with their labels, as a table of fields describes them. */
import type { ComponentChildren, TargetedEvent } from 'preact';
import type { Fault } from './api.js';
import { type FieldSpec, faultAt, linesOf, type Values } from './form-values.js';

interface FieldProps {
  readonly label: string;
  readonly help?: ComponentChildren;
  readonly fault?: string | undefined;
  readonly children: ComponentChildren;
}

/** A label around its control; what is wrong with it stands below. */
export function Field({ label, help, fault, children }: FieldProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
    <label class="field">
      <span>{label}</span>
      {children}
      {help === undefined ? null : (
        <span class="small quiet" dir="auto">
          {help}
        </span>
      )}
      {fault === undefined ? null : <span class="fault">{fault}</span>}
    </label>
  );
}

interface SelectProps {
  readonly options: NonNullable<FieldSpec['options']>;
  readonly value: string;
  readonly choose: (value: string) => void;
}

export const Select = ({ options, value, choose }: SelectProps) => (
  <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
    {options.map((option) => {
      const [one, title] = typeof option === 'string' ? [option, option] : option;
      return (
        <option key={one} value={one}>
          {title}
        </option>
      );
    })}
  </select>
);

/** A choice with its label before it, in one line. */
export const SelectLine = ({ label, ...select }: SelectProps & { readonly label: string }) => (
  // biome-ignore lint/a11y/noLabelWithoutControl: the control is in it
  <label class="row">
    <span class="small quiet">{label}</span>
    <Select {...select} />
  </label>
);

interface BoxProps {
  readonly title: string;
  readonly says: string;
  readonly checked: boolean;
  readonly choose: (checked: boolean) => void;
  /** Of a group of which one is chosen; a checkbox without it. */
  readonly group?: string;
}

/** A box or a radio button with what it means beside it. */
export const Box = ({ title, says, checked, choose, group }: BoxProps) => (
  <label>
    <input
      type={group === undefined ? 'checkbox' : 'radio'}
      name={group}
      checked={checked}
      onChange={(event) => choose(event.currentTarget.checked)}
    />
    <span>
      <strong>{title}</strong>
      <span class="small quiet">{says}</span>
    </span>
  </label>
);

export interface FieldsProps {
  readonly fields: readonly FieldSpec[];
  readonly values: Values;
  readonly set: (part: Values) => void;
  readonly faults?: readonly Fault[];
  /** Where the members stand in the body, with a dot at its end. */
  readonly place?: string;
}

/** Fields beside each other, as many as there is room for. */
export const FieldGrid = (props: FieldsProps) => (
  <div class="form-grid">
    <Fields {...props} />
  </div>
);

export function Fields({ fields, values, set, faults = [], place = '' }: FieldsProps) {
  return (
    <>
      {fields.map((field) => {
        const { name, label, help = '', is } = field;
        const items = is === 'lines' ? linesOf(values[name]) : [];
        const fault = faultAt(faults, place + name, items);
        const change = (value: unknown) => set({ [name]: value });
        if (is !== 'box')
          return (
            <Field key={name} label={label} help={help || undefined} fault={fault}>
              <Control field={field} value={String(values[name] ?? '')} change={change} />
            </Field>
          );
        return (
          <div key={name} class={fault === undefined ? 'boxes' : 'boxes wrong'}>
            <Box title={label} says={help} checked={values[name] === true} choose={change} />
            {fault === undefined ? null : <p class="fault">{fault}</p>}
          </div>
        );
      })}
    </>
  );
}

interface OffersProps extends Required<Pick<FieldSpec, 'offers'>> {
  readonly id: string;
}

/** What the browser offers in a field of this list. */
export const Offers = ({ id: list, offers }: OffersProps) => (
  <datalist id={list}>
    {offers.map(({ id, name }) => (
      <option key={id} value={id}>
        {name ?? ''}
      </option>
    ))}
  </datalist>
);

interface ControlProps {
  readonly field: FieldSpec;
  readonly value: string;
  readonly change: (value: string) => void;
}

function Control({ field, value, change }: ControlProps) {
  const { is = 'text', options, offers, placeholder, required, maxLength } = field;
  if (options !== undefined) return <Select options={options} value={value} choose={change} />;
  const common = {
    ...{ value, placeholder, required, maxLength, spellcheck: false },
    onInput: (event: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) =>
      change(event.currentTarget.value),
  };
  if (is === 'lines') return <textarea rows={3} {...common} />;
  if (offers !== undefined)
    return (
      <>
        <input list={field.name} autocomplete="off" {...common} />
        <Offers id={field.name} offers={offers} />
      </>
    );
  if (is === 'decimal' || is === 'box') return <input inputMode="decimal" autocomplete="off" {...common} />;
  return (
    <input type={is as 'text'} step={is === 'number' ? 'any' : undefined} autocomplete="off" {...common} />
  );
}
