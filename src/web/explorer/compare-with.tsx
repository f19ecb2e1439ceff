/** Chooses what a report is held against; the address has it. */
import { useEffect, useState } from 'preact/hooks';
import { Field } from '../ui/parts.js';
import { periodAgainst } from './compare.js';
import type { ViewState } from './question.js';
import type { SetView } from './report.js';
import type { Shown } from './use-report.js';

interface CompareWithProps {
  readonly report: Shown;
  readonly view: ViewState;
  readonly setView: SetView;
}

export function CompareWith({ report, view: { against }, setView }: CompareWithProps) {
  const { from = null, to = null } = report.meta.period ?? {};
  const own = against.includes(',');
  const start = from === null || to === null ? null : periodAgainst('previous', { from, to });
  return (
    <div class="row">
      <label class="row">
        <span class="small quiet">Compare with</span>
        <select
          value={own ? 'own' : against}
          onChange={({ currentTarget: { value } }) =>
            setView({ against: value === 'own' && start !== null ? `${start.from},${start.to}` : value })
          }
        >
          <option value="">nothing</option>
          <option value="previous">the days before</option>
          <option value="year">a year before</option>
          <option value="own">own days …</option>
        </select>
      </label>
      {own ? <OwnDays against={against} choose={(next) => setView({ against: next })} /> : null}
    </div>
  );
}

interface OwnDaysProps {
  readonly against: string;
  readonly choose: (against: string) => void;
}

function OwnDays({ against, choose }: OwnDaysProps) {
  const [days, setDays] = useState(against.split(','));
  useEffect(() => setDays(against.split(',')), [against]);
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        choose(days.join(','));
      }}
    >
      {['First day before', 'Last day before'].map((label, index) => (
        <Field key={label} label={label}>
          <input
            type="date"
            required
            value={days[index] ?? ''}
            onInput={({ currentTarget: { value } }) =>
              setDays(days.map((day, place) => (place === index ? value : day)))
            }
          />
        </Field>
      ))}
      <button type="submit">Compare</button>
    </form>
  );
}
