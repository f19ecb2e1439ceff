/** A calendar of cached days, by colour and mark. One tab stop; arrow keys move between days. */
import { useRef, useState } from 'preact/hooks';
import { count, toldTimes } from './format.js';
import { byMonth, entryInWords, type Kept, type KeptDay, STATES, stepOf, weekday } from './kept-days.js';
import { Tag } from './parts.js';

interface HeatMapProps {
  readonly days: readonly KeptDay[];
}

export function HeatMap({ days }: HeatMapProps) {
  const [at, setAt] = useState(days.length - 1);
  const frame = useRef<HTMLDivElement>(null);
  const current = days[Math.min(at, days.length - 1)];
  const placeOf = (element: EventTarget | null) => {
    const day = element instanceof Element ? element.closest<HTMLElement>('[data-date]') : null;
    return days.findIndex(({ date }) => date === day?.dataset.date);
  };
  // A page that scrolls under the mouse may put no day there.
  const look = ({ target }: Event) => setAt((was) => (placeOf(target) < 0 ? was : placeOf(target)));
  const move = (event: KeyboardEvent) => {
    // From the focused day: the pointer may be on another one.
    const to = stepOf(event.key, placeOf(event.target), days.length);
    if (to === null) return;
    event.preventDefault();
    setAt(to);
    frame.current?.querySelector<HTMLElement>(`[data-date="${days[to]?.date}"]`)?.focus();
  };
  return (
    <>
      <Legend days={days} />
      {/* biome-ignore lint/a11y/useSemanticElements: the months are groups, each with a heading */}
      <div
        ref={frame}
        class="calendar"
        role="group"
        aria-label="Days, by arrow keys"
        onKeyDown={move}
        onFocusCapture={look}
        onMouseMove={look}
        onClick={look}
      >
        {byMonth(days).map(([month, own]) => (
          <Month key={month} month={month} days={own} current={current?.date ?? ''} />
        ))}
      </div>
      {current === undefined ? null : (
        <p class="day-words">
          <strong>{toldTimes(current.date)}</strong> <EntryWords entry={current} />
        </p>
      )}
    </>
  );
}

const Legend = ({ days }: HeatMapProps) => (
  <ul class="legend">
    {STATES.map(({ state, mark, says }) => (
      <li key={state}>
        <span class={`day ${state} ${TONES[state]}`} aria-hidden="true">
          {mark}
        </span>
        <span>
          <strong>
            {count(days.filter((day) => day.state === state).length)} {state}
          </strong>
          <span class="small quiet">{says}</span>
        </span>
      </li>
    ))}
  </ul>
);

const MONTH = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });

interface MonthProps extends HeatMapProps {
  readonly month: string;
  /** The day described below the calendar. */
  readonly current: string;
}

function Month({ month, days, current }: MonthProps) {
  const title = MONTH.format(new Date(month));
  return (
    <section class="month" aria-label={title}>
      <h3>{title}</h3>
      <div class="month-days">
        {days.map((day, index) => (
          <button
            key={day.date}
            type="button"
            class={`day ${day.state} ${TONES[day.state]}`}
            data-date={day.date}
            tabIndex={day.date === current ? 0 : -1}
            aria-current={day.date === current ? 'date' : undefined}
            aria-label={`${Number(day.date.slice(8))} ${title}, ${day.state}. ${entryInWords(day)}`}
            style={index === 0 ? { gridColumnStart: String(weekday(day.date)) } : undefined}
          >
            <span class="date">{Number(day.date.slice(8))}</span>
            <span>{STATES.find((one) => one.state === day.state)?.mark}</span>
          </button>
        ))}
      </div>
    </section>
  );
}

const TONES = { final: 'good', fresh: 'info', stale: 'warn', missing: 'quiet' } as const;

export const EntryWords = ({ entry }: { readonly entry: Kept }) => (
  <>
    <Tag tone={TONES[entry.state]}>{entry.state}</Tag> {entryInWords(entry)}
  </>
);
