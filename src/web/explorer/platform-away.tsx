/** In place of a report by date whose missing days the platform does not give: those that are known, as links. */
import { Refused, wordsWithId } from '../ui/api.js';
import type { Loaded } from '../ui/load.js';
import { TryAgain } from '../ui/parts.js';
import { Runs, toldRuns } from './not-known-then.js';
import type { Viewed } from './question.js';

const AWAY: ReadonlySet<string> = new Set([
  'upstream_error',
  'upstream_timeout',
  'upstream_rate_limited',
  'upstream_circuit_open',
]);

/** Whether the platform failed a report whose days are kept one by one. */
export const isAway = (error: unknown, { splits, asOf }: Viewed['question']): error is Refused =>
  error instanceof Refused && AWAY.has(error.problem.code) && splits.includes('byDate') && asOf === '';

interface AwayProps extends Pick<Viewed, 'question' | 'view'> {
  readonly error: Refused;
  readonly again: Loaded<unknown>['reload'];
}

export function PlatformAway({ question, view, error, again }: AwayProps) {
  const { known = [] } = error.problem;
  return (
    <div class="note bad stack" role="alert">
      <p>
        <strong>
          {error.problem.code === 'upstream_rate_limited'
            ? 'The platform takes no more calls for now.'
            : 'The platform does not answer.'}
        </strong>{' '}
        {known.length === 0
          ? 'No numbers of these days are kept that could be shown instead.'
          : `Known: ${toldRuns(known)}.`}
      </p>
      <p class="row">
        <Runs {...{ known, question, view }} />
        <TryAgain error={error} again={again} />
      </p>
      <p class="small quiet">
        {error.problem.title}. <bdi>{wordsWithId(error)}</bdi>
      </p>
    </div>
  );
}
