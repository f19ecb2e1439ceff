/** Chooses the other period of a comparison. */
import { SelectLine } from '../ui/fields.js';
import { choicesOf } from './against.js';
import { DayInput } from './day-input.js';
import type { Period, Viewed } from './question.js';

/** What only a comparison has does not stay. */
const NOTHING = { against: '', weekdays: '', otherFrom: '', otherTo: '', finals: '' };

interface LineProps extends Pick<Viewed, 'view' | 'setView'> {
  /** Of the report; null: unknown. */
  readonly now: Period | null;
}

export function AgainstLine({ view, setView, now }: LineProps) {
  const { against, weekdays } = view;
  return (
    <div class="row">
      <SelectLine
        label="Compare with"
        options={choicesOf(view, now)}
        value={against}
        choose={(against) => setView(against === '' ? NOTHING : { against })}
      />
      {against === 'custom' ? (
        <>
          <DayLine label="First day" value={view.otherFrom} set={(otherFrom) => setView({ otherFrom })} />
          <DayLine label="Last day" value={view.otherTo} set={(otherTo) => setView({ otherTo })} />
          <span class="small quiet">Without a last day it is as long as this period.</span>
        </>
      ) : null}
      {against === '' ? null : (
        <label class="row small">
          <input
            type="checkbox"
            checked={weekdays !== ''}
            onChange={({ currentTarget }) => setView({ weekdays: currentTarget.checked ? '1' : '' })}
          />
          Align by weekday
        </label>
      )}
    </div>
  );
}

interface DayProps {
  readonly label: string;
  readonly value: string;
  readonly set: (day: string) => void;
}

const DayLine = ({ label, value, set }: DayProps) => (
  // biome-ignore lint/a11y/noLabelWithoutControl: the control is in it
  <label class="row">
    <span class="small quiet">{label}</span>
    <DayInput is="date" {...{ value, set }} />
  </label>
);
