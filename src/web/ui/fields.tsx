/** Form fields with labels, from their descriptions. */
import type { ComponentChildren, TargetedEvent } from 'preact';
import type { Fault } from './api.js';
import { type FieldSpec, faultAt, linesOf, type Values } from './form-values.js';

interface FieldProps {
  readonly label: string;
  readonly help?: ComponentChildren;
  readonly fault?: string | undefined;
  readonly children: ComponentChildren;
}

/** A label around its control, with its fault below. */
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

type Options = NonNullable<FieldSpec['options']>;

interface SelectProps {
  readonly options: Options;
  /** Further options below a title. */
  readonly more?: { readonly title: string; readonly options: Options } | undefined;
  readonly value: string;
  readonly choose: (value: string) => void;
}

export const Select = ({ options, more, value, choose }: SelectProps) => (
  <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
    {optionsOf(options)}
    {more === undefined || more.options.length === 0 ? null : (
      <optgroup label={more.title}>{optionsOf(more.options)}</optgroup>
    )}
  </select>
);

const optionsOf = (options: Options) =>
  options.map((option) => {
    const [one, title] = typeof option === 'string' ? [option, option] : option;
    return (
      <option key={one} value={one}>
        {title}
      </option>
    );
  });

/** A select with its label, in one line. */
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
  /** Name of a group of radio buttons; absent: a checkbox. */
  readonly group?: string;
}

/** A checkbox or radio button with its explanation. */
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
  /** Path of the fields in the body, ending in a dot. */
  readonly place?: string;
}

/** Fields in columns. */
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
              <Control field={field} value={String(values[name] ?? '')} choose={change} />
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

type OffersProps = Required<Pick<FieldSpec, 'offers'>> & { readonly list: string };

/** The browser's suggestions for the field with this `list`. */
export const Offers = ({ list, offers }: OffersProps) => (
  <datalist id={list}>
    {offers.map(({ id, name }) => (
      <option key={id} value={id}>
        {name ?? ''}
      </option>
    ))}
  </datalist>
);

function Control({ field, value, choose }: Omit<SelectProps, 'options'> & { readonly field: FieldSpec }) {
  const { is = 'text', options, offers, placeholder, required, maxLength, rows = 3 } = field;
  if (options !== undefined) return <Select options={options} value={value} choose={choose} />;
  const common = {
    value,
    placeholder,
    required,
    maxLength,
    spellcheck: false,
    onInput: (event: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) =>
      choose(event.currentTarget.value),
  };
  if (is === 'lines') return <textarea rows={rows} {...common} />;
  if (offers !== undefined)
    return (
      <>
        <input list={field.name} autocomplete="off" {...common} />
        <Offers list={field.name} offers={offers} />
      </>
    );
  if (is === 'decimal' || is === 'box') return <input inputMode="decimal" autocomplete="off" {...common} />;
  return (
    <input type={is as 'text'} step={is === 'number' ? 'any' : undefined} autocomplete="off" {...common} />
  );
}
