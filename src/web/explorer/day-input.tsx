/** A field of a day or a time that is taken when it is whole. */
import { useState } from 'preact/hooks';

interface DayInputProps {
  readonly is: 'date' | 'time';
  readonly value: string;
  readonly set: (value: string) => void;
}

/** Keys that change a part of it: others open the browser's calendar. */
const TYPING = /^(\d|Backspace|Delete|Arrow(Up|Down))$/;

/**
 * A choice of the calendar is taken at once. What is typed is taken by the Enter key or when the field is left, as a browser
 * finds another valid day in each digit of a year.
 */
export function DayInput({ is, value, set }: DayInputProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const take = (text: string) => {
    setTyped(null);
    if (text !== value) set(text);
  };
  return (
    <input
      type={is}
      autocomplete="off"
      value={typed ?? value}
      onKeyDown={({ key, altKey, currentTarget }) => {
        if (key === 'Enter') take(currentTarget.value);
        else if (TYPING.test(key) && !altKey) setTyped(currentTarget.value);
      }}
      onInput={({ currentTarget }) => {
        if (typed !== null) setTyped(currentTarget.value);
      }}
      onChange={({ currentTarget }) => {
        if (typed === null) take(currentTarget.value);
      }}
      onBlur={() => {
        if (typed !== null) take(typed);
      }}
    />
  );
}
