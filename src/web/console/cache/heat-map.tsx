/** Days as a calendar: what is kept of each, by colour and by mark. One stop for the Tab key, arrows within. */
import { useRef, useState } from 'preact/hooks';
import { count } from '../../ui/format.js';
import { byMonth, type ExplainedDay, STATES, stepOf, weekday } from './explained.js';
import { EntryWords, entryInWords } from './report-card.js';

interface HeatMapProps {
  readonly days: readonly ExplainedDay[];
}

export function HeatMap({ days }: HeatMapProps) {
  const [at, setAt] = useState(days.length - 1);
  const frame = useRef<HTMLDivElement>(null);
  const current = days[Math.min(at, days.length - 1)];
  const move = (event: KeyboardEvent) => {
    // From the day that has the focus: the pointer may lie on another one.
    const focused = event.target instanceof HTMLElement ? event.target.dataset.date : undefined;
    const from = days.findIndex(({ date }) => date === focused);
    const to = stepOf(event.key, from < 0 ? at : from, days.length);
    if (to === null) return;
    event.preventDefault();
    setAt(to);
    frame.current?.querySelector<HTMLElement>(`[data-date="${days[to]?.date}"]`)?.focus();
  };
  const looked = (date: string) => setAt(days.findIndex((day) => day.date === date));
  return (
    <>
      <Legend days={days} />
      {/* biome-ignore lint/a11y/useSemanticElements: the months are groups, each with a heading */}
      <div ref={frame} class="calendar" role="group" aria-label="Days, by arrow keys" onKeyDown={move}>
        {byMonth(days).map(([month, own]) => (
          <Month key={month} month={month} days={own} current={current?.date ?? ''} looked={looked} />
        ))}
      </div>
      {current === undefined ? null : (
        <p class="day-words">
          <strong>{current.date}</strong> <EntryWords entry={current} />
        </p>
      )}
    </>
  );
}

function Legend({ days }: HeatMapProps) {
  return (
    <ul class="legend">
      {STATES.map(({ state, mark, says }) => (
        <li key={state}>
          <span class={`day ${state}`} aria-hidden="true">
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
}

const DAY = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
});
const MONTH = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });

interface MonthProps {
  readonly month: string;
  readonly days: readonly ExplainedDay[];
  readonly current: string;
  readonly looked: (date: string) => void;
}

function Month({ month, days, current, looked }: MonthProps) {
  const title = MONTH.format(new Date(`${month}-01T00:00:00Z`));
  return (
    <section class="month" aria-label={title}>
      <h3>{title}</h3>
      <div class="month-days">
        {days.map((day, index) => (
          <Day
            key={day.date}
            day={day}
            first={index === 0}
            isCurrent={day.date === current}
            looked={looked}
          />
        ))}
      </div>
    </section>
  );
}

interface DayProps {
  readonly day: ExplainedDay;
  /** Of its month: the days after it follow by themselves. */
  readonly first: boolean;
  readonly isCurrent: boolean;
  readonly looked: (date: string) => void;
}

function Day({ day, first, isCurrent, looked }: DayProps) {
  const { date, state } = day;
  // Where the page moves under a mouse that lies still, nobody looks at another day.
  const look = () => looked(date);
  return (
    <button
      type="button"
      class={`day ${state}`}
      data-date={date}
      tabIndex={isCurrent ? 0 : -1}
      aria-current={isCurrent ? 'date' : undefined}
      aria-label={`${DAY.format(new Date(`${date}T00:00:00Z`))}, ${state}. ${entryInWords(day)}`}
      style={first ? { gridColumnStart: String(weekday(date)) } : undefined}
      onFocus={look}
      onMouseMove={look}
      onClick={look}
    >
      <span class="date">{Number(date.slice(8))}</span>
      <span>{STATES.find((one) => one.state === state)?.mark}</span>
    </button>
  );
}
