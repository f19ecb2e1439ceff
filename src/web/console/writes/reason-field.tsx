/** Why writes are stopped, or go on: asked of everybody who does either. */
import { Field } from '../../ui/parts.js';

interface ReasonFieldProps {
  readonly value: string;
  /** Who will read it. */
  readonly help: string;
  readonly onInput: (reason: string) => void;
}

export function ReasonField({ value, help, onInput }: ReasonFieldProps) {
  return (
    <Field label="Reason" help={help}>
      <input
        required
        maxLength={300}
        value={value}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </Field>
  );
}
