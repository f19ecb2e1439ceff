/** In place of numbers as they were at a time when not all of their days were known: those that were, as links. */
import { Refused } from '../ui/api.js';
import { Looking } from '../ui/parts.js';
import { useGet } from '../ui/session.js';
import { sortedBy } from '../ui/sort.js';
import type { Revisions } from './changed.js';
import { KnownDays } from './known-days.js';
import { knownThen } from './known-then.js';
import { counted, numbers } from './numbers.js';
import {
  aboutPath,
  DATE,
  daysOf,
  instantOf,
  keptOf,
  ofNow,
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
  <a class="button" href={reportHref(ofNow(question), view)}>
    Show the numbers of now
  </a>
);

interface NotKnownProps extends Viewed {
  readonly error: Refused;
}

/** More are not worth a choice. */
const MOST_LINKS = 5;

/** The first of them, earliest first. */
const listedOf = (known: readonly Period[]): Period[] =>
  sortedBy(known.slice(0, MOST_LINKS), ({ from }) => from, false);

export function NotKnownThen({ error, ...viewed }: NotKnownProps) {
  const { question, view } = viewed;
  const revisions = useGet<Revisions>(aboutPath('revisions', question));
  if (revisions.loading) return <Looking>Looking up which days were known then …</Looking>;
  const then = thenWords(question.asOf);
  const isDay = DATE.test(question.asOf);
  // Only the gateway knows when a day of the account ends: not before this time, in whichever zone.
  const atMs = Date.parse(isDay ? `${question.asOf}T10:00:00Z` : instantOf(question.asOf));
  const { known, gaps, allFrom } = knownThen({ data: revisions.value?.data ?? [] }, atMs);
  if (view.gaps === '1' && known.length > 0) return <KnownDays {...viewed} {...{ known, gaps }} />;
  const count = known.flatMap((days) => daysOf(days)).length;
  const isSaid = known.length > 0 || allFrom !== null;
  return (
    <div class="note warn stack" role="alert">
      <p>
        <strong>Not known then.</strong>{' '}
        {!isSaid
          ? error.problem.detail
          : known.length === 0
            ? `None of these days was known on ${then}.`
            : `${isDay ? 'These days were' : toldCount(count)} known on ${then}: ${toldRuns(known)}.`}
        {allFrom === null ? '' : ` All of them are known from ${thenWords(allFrom)} on.`}
      </p>
      <p class="row">
        {known.length < 2 ? (
          <Runs {...{ known, question, view }} />
        ) : (
          <a class="button" href={reportHref(question, { ...view, gaps: '1' })}>
            Show the {numbers.whole(count)} days that were known
          </a>
        )}
        {allFrom === null ? null : (
          <a class="button" href={reportHref({ ...question, asOf: allFrom }, view)}>
            Show all as they were on {thenWords(allFrom)}
          </a>
        )}
        {question.splits.length > 1 ? <ByDateOnly {...{ question, view, atMs, count }} /> : null}
        <NumbersOfNow {...{ question, view }} />
      </p>
    </div>
  );
}

interface ByDateProps extends Pick<Viewed, 'question' | 'view'> {
  readonly atMs: number;
  /** Days that were known of the split that was asked for. */
  readonly count: number;
}

/** History is kept for each split apart: that by date only is the longest. Shown if more of its days were known. */
function ByDateOnly({ question, view, atMs, count }: ByDateProps) {
  const byDate = { ...question, splits: ['byDate'] };
  const { value } = useGet<Revisions>(aboutPath('revisions', byDate));
  if (value === null) return null;
  const { isWhole, known } = knownThen(value, atMs);
  const more = known.flatMap(daysOf).length;
  if (!isWhole && more <= count) return null;
  return (
    <a class="button" href={reportHref(byDate, { ...keptOf(view, byDate), gaps: isWhole ? '' : '1' })}>
      Show {isWhole ? 'all days' : counted(more, 'day')} by date only, as they were then
    </a>
  );
}

interface RunsProps extends Pick<Viewed, 'question' | 'view'> {
  readonly known: readonly Period[];
  /** Behind the days, ` for all`. */
  readonly behind?: string;
  /** Compares with the days; default: they are shown. */
  readonly hrefOf?: (days: Period) => string;
}

/** Links to the days that are known. */
export const Runs = ({ known, question, view, behind = '', hrefOf }: RunsProps) => (
  <>
    {listedOf(known).map((days) => (
      <a
        key={days.from}
        class="button"
        href={
          hrefOf?.(days) ??
          reportHref({ ...question, period: '', dateFrom: days.from, dateTo: days.to }, view)
        }
      >
        {hrefOf ? 'Compare with' : 'Show'} {periodWords(days)}
        {behind}
      </a>
    ))}
  </>
);

export const toldRuns = (known: readonly Period[]): string =>
  listedOf(known)
    .map((days) => periodWords(days))
    .join('; ') + (known.length > MOST_LINKS ? ` and ${numbers.whole(known.length - MOST_LINKS)} more` : '');

/** `Only 2 of these days were` */
function toldCount(count: number): string {
  return count === 1 ? 'Only 1 of these days was' : `Only ${numbers.whole(count)} of these days were`;
}
