/** How old the numbers of a report are, which may still change, and warnings about them. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { toldTimes } from '../ui/format.js';
import { Button } from '../ui/parts.js';
import { type Answered, ageWords, leftWords, openWords } from './answered.js';
import { type Later, marksThen } from './marks.js';
import { counted, numbers } from './numbers.js';
import type { Meta, Report } from './parse.js';
import { useStaleWhy } from './platform-away.js';
import { TOTALS_LATER } from './use-report.js';

interface KnownProps {
  readonly report: Report;
  /** Whether the numbers are those of an earlier time. */
  readonly isPast: boolean;
  /** Of an earlier time; null: not known. */
  readonly later: Later | null;
  /** Asks the gateway for the same report again. */
  readonly again?: (() => void) | undefined;
  /** More that can be done about the age. */
  readonly details?: ComponentChildren;
}

export function Known({ report: { meta, answered }, isPast, later, again, details }: KnownProps) {
  const { warnings = [] } = meta;
  const open = later === null ? openWords(meta) : null;
  const hasAge = !isPast && answered !== undefined;
  if (later === null && !hasAge && open === null && warnings.length === 0) return null;
  return (
    <ul class="notes">
      {later === null ? null : <LaterNote meta={meta} later={later} />}
      {hasAge ? <Age {...{ meta, answered, again, details }} /> : null}
      {isPast && open !== null ? (
        <li class="note warn">
          {open}: some numbers were fetched while the platform was still completing the day.
        </li>
      ) : null}
      {warnings.map(({ code, message }) => (
        <li key={code + message} class="note info">
          <bdi>{toldTimes(message)}</bdi>
          {code === TOTALS_LATER && again ? <Button label="Ask again" class="plain" act={again} /> : null}
        </li>
      ))}
    </ul>
  );
}

interface AgeProps extends Pick<KnownProps, 'again' | 'details'> {
  readonly meta: Meta;
  readonly answered: Answered;
}

/** `Numbers are 14 min old; newer ones in 45 min. Nov 24 – 28, 2026 may still change.` */
function Age({ meta, answered, again, details }: AgeProps) {
  const why = useStaleWhy(answered);
  const now = useMinute();
  const open = openWords(meta);
  const age = `Numbers are ${ageWords(answered, now)}`;
  const left = leftWords(answered, now);
  const words =
    why === 'away'
      ? `${age}: the platform does not answer. Newer ones are shown when it does.`
      : why === 'refreshed'
        ? `${age}, and are being refreshed.`
        : open === null
          ? 'Final: the platform is not expected to change these numbers.'
          : `${age}${left === null ? '' : `; newer ones in ${left}`}.`;
  const isOver = answered.nextMs !== null && left === null;
  const hasNewer = why === 'refreshed' || (why === 'fresh' && open !== null && isOver);
  return (
    <li class={`note ${why === 'fresh' && open === null ? 'info' : 'warn'}`}>
      {words}{' '}
      {open === null ? null : (
        <>
          <strong>{open}</strong> may still change.{' '}
        </>
      )}
      {hasNewer && again ? <Button label="Show newer ones" class="plain" act={again} /> : null}
      {details}
    </li>
  );
}

/** The time now, again each minute. */
function useMinute(): number {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((was) => was + 1), 60_000);
    return () => clearInterval(timer);
  }, []);
  return Date.now();
}

/** How many days of an earlier time have other numbers now. */
function LaterNote({ meta, later }: { readonly meta: Meta; readonly later: Later }) {
  const marks = [...later.keys()].map(marksThen(meta, later));
  const count = (mark: string) => marks.filter((one) => one === mark).length;
  const days = counted(later.size, 'day');
  const [changed, unknown] = [count('changed later'), count('may have changed later')];
  return (
    <li class={`note ${changed + unknown > 0 ? 'warn' : 'info'}`}>
      {changed === 0 ? '' : `${numbers.whole(changed)} of ${days} changed later; “What changed” tells how. `}
      {unknown === 0
        ? ''
        : `${numbers.whole(unknown)} of ${days} ${unknown === 1 ? 'was' : 'were'} not complete then, and not fetched again since: ${unknown === 1 ? 'it' : 'they'} may have changed later.`}
      {changed + unknown === 0 ? `None of ${days} changed later.` : ''}
    </li>
  );
}
