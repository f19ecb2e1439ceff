/** Cache state of a report, its reason, and the cost of an answer now; for both pages. */
import { count, counted, span, toldTimes } from './format.js';
import { EntryWords, HeatMap } from './heat-map.js';
import './kept.css';
import type { Kept, KeptDay } from './kept-days.js';
import { Empty, Figure, Figures } from './parts.js';

/** The members that both planes answer. */
export interface Explained {
  readonly inWords: { readonly kept: string; readonly price: string };
  readonly price: { readonly calls: number; readonly behind: number };
  readonly policy: { readonly mode: string; readonly because: string; readonly restatementDays: number };
  readonly days: readonly KeptDay[] | null;
  readonly whole: Kept | null;
  readonly refusal: { readonly status: number; readonly ttlSeconds: number } | null;
  readonly storeAway: boolean;
}

interface ExplainedProps {
  readonly explained: Explained;
}

export function KeptFigures({ explained: { price, policy, days } }: ExplainedProps) {
  const isByDay = policy.mode === 'days';
  const kept = days?.filter(({ state }) => state !== 'missing').length ?? 0;
  return (
    <Figures>
      <Figure
        label="Cost of an answer now"
        value={counted(price.calls, 'platform call')}
        tone={price.calls === 0 ? 'good' : 'warn'}
        note={
          price.behind === 0
            ? 'no refresh after it'
            : `${counted(price.behind, 'refresh', 'refreshes')} after it`
        }
      />
      <Figure label="Cached" value={isByDay ? 'day by day' : 'as one period'} />
      {days === null ? null : (
        <Figure
          label="Cached days"
          value={isByDay || kept > 0 ? `${count(kept)} of ${count(days.length)}` : 'none by itself'}
          note={isByDay ? undefined : toldTimes(policy.because)}
        />
      )}
      <Figure
        label="May still change"
        value={counted(policy.restatementDays, 'day')}
        note="before today; older days count as final"
      />
    </Figures>
  );
}

export const KeptWords = ({ explained: { inWords, storeAway, refusal } }: ExplainedProps) => (
  <>
    <p>{toldTimes(inWords.kept)}</p>
    <p>{toldTimes(inWords.price)}</p>
    {storeAway ? (
      <p class="note bad">The store is unavailable, so what other processes have cached is unknown.</p>
    ) : null}
    {refusal === null ? null : (
      <p class="note warn">
        The platform refused it with {refusal.status}; this refusal is served for another{' '}
        {span(refusal.ttlSeconds)}.
      </p>
    )}
  </>
);

export function KeptDays({ explained: { days, whole, policy } }: ExplainedProps) {
  if (days?.length === 0) return <Empty>The report has no days.</Empty>;
  if (days !== null)
    return (
      <>
        {policy.mode === 'days' ? null : (
          <p>
            The period is cached as one, as shown here ({toldTimes(policy.because)}). What is cached for other
            periods does not answer it.
          </p>
        )}
        <HeatMap days={days} />
      </>
    );
  return (
    <p>
      The report is not by date, so it is cached as one period.{' '}
      {whole === null ? null : <EntryWords entry={whole} />}
    </p>
  );
}
