/** The field of the filter, with an example for its table. */
import { useEffect, useState } from 'preact/hooks';
import { Fields } from '../ui/fields.js';
import type { FieldSpec } from '../ui/form-values.js';
import type { ReportColumn } from './columns.js';

/** With columns of the table. */
function filterField(columns: readonly ReportColumn[]): FieldSpec {
  const titleOf = (column: ReportColumn | undefined) => column?.title;
  const date = titleOf(columns.find(({ name }) => name === 'date'));
  const measure = titleOf(columns.find(({ numeric }) => numeric));
  const text = titleOf(columns.find(({ name, numeric }) => !numeric && name.endsWith('Name')));
  const examples = [
    date && `${date} >= 2026-11-20`,
    measure && `${measure} between 10 and 999`,
    text && `${text} in "A", "B"`,
    text && `not ${text} contains brand`,
  ];
  const told = examples.flatMap((one) => one?.replaceAll(' ', NO_BREAK) ?? []).join(' and ');
  return { name: 'filter', label: 'Filter', is: 'search', help: `Text or conditions: ${told}` };
}

const NO_BREAK = '\u00a0';

interface FilterProps {
  /** Of the table. */
  readonly columns: readonly ReportColumn[];
  readonly value: string;
  /** What is not understood; null: all is. */
  readonly fault: string | null;
  readonly change: (filter: string) => void;
}

/** Applied after a pause in typing. */
export function Filter({ columns, value, fault, change }: FilterProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => change(text), 200);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <Fields
      fields={[filterField(columns)]}
      values={{ filter: text }}
      set={({ filter }) => setText(String(filter))}
      faults={fault === null ? [] : [{ param: 'filter', message: fault }]}
    />
  );
}
