/** How a report is kept, why, and what an answer costs now. */
import { count, counted, moment, span } from '../../ui/format.js';
import { Card, Empty, Figure, Figures, Tag } from '../../ui/parts.js';
import type { Entry, Explained } from './explained.js';
import { HeatMap } from './heat-map.js';

export function ReportCard({ explained }: { readonly explained: Explained }) {
  const { inWords, price, canonical, policy, days, warnings, passedOn } = explained;
  const kept = days?.filter(({ state }) => state !== 'missing').length;
  return (
    <>
      <Figures>
        <Figure
          label="An answer now costs"
          value={counted(price.calls, 'platform call')}
          tone={price.calls === 0 ? 'good' : 'warn'}
          note={price.behind === 0 ? 'and none behind it' : `and ${count(price.behind)} behind it`}
        />
        <Figure label="Answered" value={policy.mode === 'days' ? 'by day' : 'as a whole'} />
        {days === null || kept === undefined ? null : (
          <Figure label="Days kept" value={`${count(kept)} of ${count(days.length)}`} />
        )}
        <Figure
          label="May still change"
          value={counted(policy.restatementDays, 'day')}
          note="back from today; what is older is final"
        />
      </Figures>
      <Card title="How it is kept">
        <p>{inWords.kept}</p>
        <p>{inWords.price}</p>
        <Refusal explained={explained} />
        {warnings.map(({ code, message }) => (
          <p key={code} class="note warn">
            {message}
          </p>
        ))}
        {passedOn.length === 0 ? null : (
          <p class="note warn">Unknown to the gateway, and passed on as given: {passedOn.join(', ')}</p>
        )}
        <h3>Canonical form</h3>
        <p class="small quiet">Whoever asks the same in other words gets the same answer from the cache.</p>
        <pre>
          {canonical.method} {canonical.target}
          {canonical.body === null ? '' : `\n\n${canonical.body}`}
        </pre>
      </Card>
    </>
  );
}

function Refusal({ explained: { refusal, storeAway } }: { readonly explained: Explained }) {
  return (
    <>
      {storeAway ? (
        <p class="note bad">The store is away: what other processes keep is not known now.</p>
      ) : null}
      {refusal === null ? null : (
        <p class="note warn">
          The platform refused it with {refusal.status}; that is the answer for another{' '}
          {span(refusal.ttlSeconds)}.
        </p>
      )}
    </>
  );
}

/** Each day of a report by date; the one entry of another. */
export function DaysCard({ explained: { days, whole } }: { readonly explained: Explained }) {
  if (days !== null)
    return (
      <Card title="Its days">
        {days.length === 0 ? <Empty>The report has no days.</Empty> : <HeatMap days={days} />}
      </Card>
    );
  return (
    <Card title="Its entry">
      <p>
        The report is not by date: it is kept in one piece.{' '}
        {whole === null ? null : <EntryWords entry={whole} />}
      </p>
    </Card>
  );
}

export function EntryWords({ entry }: { readonly entry: Entry }) {
  const { state, asOf, ttlSeconds, rows } = entry;
  const tones = { final: 'good', fresh: 'info', stale: 'warn', missing: 'quiet' } as const;
  return (
    <>
      <Tag tone={tones[state]}>{state}</Tag> {entryInWords({ asOf, ttlSeconds, rows })}
    </>
  );
}

export function entryInWords({
  asOf,
  ttlSeconds,
  rows,
}: Pick<Entry, 'asOf' | 'ttlSeconds' | 'rows'>): string {
  if (asOf === null) return 'Nothing is kept.';
  const left =
    ttlSeconds === null
      ? ''
      : ttlSeconds < 0
        ? `, fresh until ${span(-ttlSeconds)} ago`
        : `, fresh for another ${span(ttlSeconds)}`;
  return `${rows === null ? 'Rows' : counted(rows, 'row')} as of ${moment(asOf)}${left}.`;
}
