/** In place of numbers as they were at a time when not all of their days were known: those that were, as links. */
import { Refused } from '../ui/api.js';
import { Looking } from '../ui/parts.js';
import { useGet } from '../ui/session.js';
import type { Revisions } from './changed.js';
import { knownThen } from './known-then.js';
import { numbers } from './numbers.js';
import {
  aboutPath,
  DATE,
  daysOf,
  instantOf,
  keptOf,
  type Period,
  reportHref,
  thenWords,
  type Viewed,
} from './question.js';
import { periodWords } from './spans.js';

/** Asking again does not help. */
export const isNotKnownThen = (error: unknown): error is Refused =>
  error instanceof Refused && error.problem.code === 'not_known_then';

/** Whether the gateway refused the time: a day that is not over by its clock, or a later time. */
export const isNotYet = (error: unknown, { asOf }: Viewed['question']): boolean =>
  error instanceof Refused &&
  error.problem.errors?.[0]?.param === '_asOf' &&
  Number.isFinite(Date.parse(instantOf(asOf)));

export const NotYet = ({ question, view }: Pick<Viewed, 'question' | 'view'>) => (
  <div class="note warn stack" role="alert">
    <p>
      {DATE.test(question.asOf)
        ? 'That day is not over: choose an earlier one, or leave it empty for the numbers of now.'
        : 'That time has not come: choose an earlier one, or leave it empty for the numbers of now.'}
    </p>
    <p class="row">
      <NumbersOfNow {...{ question, view }} />
    </p>
  </div>
);

const NumbersOfNow = ({ question, view }: Pick<Viewed, 'question' | 'view'>) => (
  <a class="button" href={reportHref({ ...question, asOf: '' }, view)}>
    Show the numbers of now
  </a>
);

interface NotKnownProps extends Pick<Viewed, 'question' | 'view'> {
  readonly error: Refused;
}

/** More are not worth a choice. */
const MOST_LINKS = 5;

export function NotKnownThen({ question, view, error }: NotKnownProps) {
  const revisions = useGet<Revisions>(aboutPath('revisions', { ...question, asOf: '' }));
  if (revisions.loading) return <Looking>Looking up which days were known then …</Looking>;
  const then = thenWords(question.asOf);
  const isDay = DATE.test(question.asOf);
  // Only the gateway knows when a day of the account ends: not before this time, in whichever zone.
  const atMs = Date.parse(isDay ? `${question.asOf}T10:00:00Z` : instantOf(question.asOf));
  const found = knownThen({ data: revisions.value?.data ?? [] }, atMs);
  const { known, allFrom } = isDay ? { ...found, allFrom: null } : found;
  const isSaid = known.length > 0 || allFrom !== null;
  return (
    <div class="note warn stack" role="alert">
      <p>
        <strong>Not known then.</strong>{' '}
        {!isSaid
          ? error.problem.detail
          : known.length === 0
            ? `None of these days was known on ${then}.`
            : `${isDay ? 'These days were' : toldCount(known)} known on ${then}: ${toldRuns(known)}.`}
        {allFrom === null ? '' : ` All of them are known from ${thenWords(allFrom)} on.`}
      </p>
      <p class="row">
        <Runs {...{ known, question, view }} />
        {allFrom === null ? null : (
          <a class="button" href={reportHref({ ...question, asOf: allFrom }, view)}>
            Show all as they were on {thenWords(allFrom)}
          </a>
        )}
        {question.splits.length > 1 ? <ByDateOnly {...{ question, view, atMs }} /> : null}
        <NumbersOfNow {...{ question, view }} />
      </p>
    </div>
  );
}

/** History is kept for each split apart: that by date only is the longest. Shown if it has all days of the time. */
function ByDateOnly({ question, view, atMs }: Pick<Viewed, 'question' | 'view'> & { readonly atMs: number }) {
  const byDate = { ...question, splits: ['byDate'] };
  const { value } = useGet<Revisions>(aboutPath('revisions', { ...byDate, asOf: '' }));
  if (value === null || !knownThen(value, atMs).isWhole) return null;
  return (
    <a class="button" href={reportHref(byDate, keptOf(view, byDate))}>
      Show all days by date only, as they were then
    </a>
  );
}

interface RunsProps extends Pick<Viewed, 'question' | 'view'> {
  readonly known: readonly Period[];
}

/** Links to the days that are known. */
export const Runs = ({ known, question, view }: RunsProps) => (
  <>
    {known.slice(0, MOST_LINKS).map((days) => (
      <a
        key={days.from}
        class="button"
        href={reportHref({ ...question, period: '', dateFrom: days.from, dateTo: days.to }, view)}
      >
        Show {periodWords(days)}
      </a>
    ))}
  </>
);

export const toldRuns = (known: readonly Period[]): string =>
  known
    .slice(0, MOST_LINKS)
    .map((days) => periodWords(days))
    .join(', ') + (known.length > MOST_LINKS ? ` and ${numbers.whole(known.length - MOST_LINKS)} more` : '');

/** `Only 2 of these days were` */
function toldCount(known: readonly Period[]): string {
  const count = known.flatMap((days) => daysOf(days)).length;
  return count === 1 ? 'Only 1 of these days was' : `Only ${numbers.whole(count)} of these days were`;
}
