/** In place of a report that the platform does not give: what is known of it, as links. */
import { Refused, wordsWithId } from '../ui/api.js';
import type { Explained } from '../ui/kept.js';
import type { Loaded } from '../ui/load.js';
import { TryAgain } from '../ui/parts.js';
import { useGet } from '../ui/session.js';
import type { Answered } from './answered.js';
import { commonRuns } from './known-then.js';
import { Runs, toldRuns } from './not-known-then.js';
import { aboutPath, keptOf, type Period, reportHref, runsOf, type Viewed } from './question.js';
import type { Load } from './use-several.js';

const AWAY: ReadonlySet<string> = new Set([
  'upstream_error',
  'upstream_timeout',
  'upstream_rate_limited',
  'upstream_circuit_open',
]);

/** Whether the platform failed a report of now. */
export const isAway = (error: unknown, { asOf }: Viewed['question']): error is Refused =>
  error instanceof Refused && AWAY.has(error.problem.code) && asOf === '';

const ASK_MS = 10_000;

/** Why an answer is older than it should be. While it is being refreshed, only the gateway knows whether the platform fails. */
export function useStaleWhy({ is }: Answered): Answered['is'] {
  const { value } = useGet<{ readonly platform: string }>(is === 'refreshed' ? '/readyz' : null, ASK_MS);
  return value !== null && /fail/.test(value.platform) ? 'away' : is;
}

const titleOf = ({ problem }: Refused): string =>
  problem.code === 'upstream_rate_limited'
    ? 'The platform takes no more calls for now.'
    : 'The platform does not answer.';

/** Its words for programs. */
const Details = ({ error }: { readonly error: Refused }) => (
  <details class="small quiet">
    <summary>Details</summary>
    {error.problem.title}. <bdi>{wordsWithId(error)}</bdi>
  </details>
);

/** Beside the name of one of several advertisers. */
export const AwayWords = ({ error }: { readonly error: Refused }) => (
  <>
    {titleOf(error)} {knownWords(error.problem.known ?? [])} <Details error={error} />
  </>
);

const knownWords = (known: readonly Period[]): string =>
  known.length === 0
    ? 'No numbers of these days are kept that could be shown instead.'
    : `Known: ${toldRuns(known)}.`;

interface AwayProps extends Pick<Viewed, 'question' | 'view'> {
  readonly error: Refused;
  readonly again: Loaded<unknown>['reload'];
  /** Compares with the days that are known; default: they are shown. */
  readonly hrefOf?: (days: Period) => string;
}

export function PlatformAway({ question, view, error, again, hrefOf }: AwayProps) {
  const { known = [] } = error.problem;
  const isByDate = question.splits.includes('byDate');
  return (
    <div class="note bad stack" role="alert">
      <p>
        <strong>{titleOf(error)}</strong> {isByDate ? knownWords(known) : null}
      </p>
      {isByDate || hrefOf !== undefined ? null : <ByDateToo {...{ question, view }} />}
      <p class="row">
        <Runs {...{ known, question, view }} {...(hrefOf && { hrefOf })} />
        <TryAgain error={error} again={again} />
      </p>
      <Details error={error} />
    </div>
  );
}

/** A period is kept as one; by date its days may be known. */
function ByDateToo({ question, view }: Pick<Viewed, 'question' | 'view'>) {
  const byDate = { ...question, splits: ['byDate', ...question.splits] };
  const { value } = useGet<Explained>(aboutPath('explain', byDate));
  if (value === null) return null;
  const { days, policy } = value;
  const kept = days?.flatMap(({ date, state }) => (state === 'missing' ? [] : date)) ?? [];
  if (policy.mode !== 'days' || kept.length === 0)
    return <p>No numbers of this period are kept that could be shown instead.</p>;
  const shown = keptOf(view, byDate);
  const known = runsOf(kept);
  return (
    <>
      <p>This period is not kept as a whole. By date as well it is: {toldRuns(known)}.</p>
      <p class="row">
        {kept.length === days?.length ? (
          <a class="button" href={reportHref(byDate, shown)}>
            Show it by date as well
          </a>
        ) : (
          <Runs question={byDate} view={{ ...view, ...shown }} known={known.reverse()} behind=" by date" />
        )}
      </p>
    </>
  );
}

/** Links to the days that the gateway has of all advertisers, if the platform failed some of them. */
export function KnownOfAll({
  question,
  view,
  loads,
}: Pick<Viewed, 'question' | 'view'> & { readonly loads: readonly Load[] }) {
  const lists = loads.flatMap((load) =>
    load.is === 'failed' && isAway(load.error, question) ? [load.error.problem.known ?? []] : [],
  );
  const known = commonRuns(lists);
  if (known.length === 0) return null;
  return (
    <p class="row">
      <Runs {...{ question, view, known }} behind=" for all" />
    </p>
  );
}
