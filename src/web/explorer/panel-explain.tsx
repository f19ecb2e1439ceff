/** How the report on screen is kept, and what asking for it again would cost; the platform is not asked. */
import { type Column, DataTable } from '../ui/data-table.js';
import { count, counted, fromNow, span } from '../ui/format.js';
import { useLoad } from '../ui/load.js';
import { Card, Figure, Figures, Tag, type Tone, Wait } from '../ui/parts.js';
import { type Kept, type KeptDay, type KeptRun, runsOf } from './explained.js';
import { aboutPath, type Question } from './question.js';
import { useTeam } from './team.js';

interface Explained {
  readonly inWords: { readonly kept: string; readonly price: string };
  readonly price: { readonly calls: number; readonly behind: number };
  readonly days: readonly KeptDay[] | null;
  readonly whole: Kept | null;
  readonly refusal: { readonly status: number; readonly ttlSeconds: number } | null;
  readonly storeAway: boolean;
  readonly policy: { readonly restatementDays: number };
}

export function ExplainPanel({ question }: { readonly question: Question }) {
  const { api } = useTeam();
  const path = aboutPath('explain', question);
  const loaded = useLoad(path, (signal) => api.get<Explained>(path, signal));
  const again = (
    <button type="button" class="plain" onClick={loaded.reload}>
      Look again
    </button>
  );
  return (
    <Card title="Where it comes from" tools={again}>
      <Wait of={loaded}>{(explained) => <Told explained={explained} />}</Wait>
    </Card>
  );
}

function Told({ explained }: { readonly explained: Explained }) {
  const { inWords, price, days, whole, refusal, storeAway, policy } = explained;
  return (
    <>
      <p>{inWords.kept}</p>
      <p>{inWords.price}</p>
      <Figures>
        <Figure
          label="Calls before an answer"
          value={count(price.calls)}
          tone={price.calls === 0 ? 'good' : 'info'}
        />
        <Figure label="Calls behind it" value={count(price.behind)} />
        {days === null ? null : (
          <Figure
            label="Days at hand"
            value={`${count(days.filter(({ state }) => state !== 'missing').length)} of ${count(days.length)}`}
          />
        )}
      </Figures>
      {refusal === null ? null : (
        <p class="note warn">
          The platform refused this with status {refusal.status}. For {span(refusal.ttlSeconds)} that stays
          the answer, and the platform is not asked.
        </p>
      )}
      {storeAway ? (
        <p class="note warn">The store does not answer now, so that what it holds counts as missing.</p>
      ) : null}
      <KeptTable runs={runsToShow(days, whole)} />
      <p class="small quiet">
        Days younger than {counted(policy.restatementDays, 'day')} are asked for again when their freshness is
        over, because the platform still restates them.
      </p>
    </>
  );
}

function runsToShow(days: readonly KeptDay[] | null, whole: Kept | null): KeptRun[] {
  if (days !== null) return runsOf(days);
  return whole === null ? [] : [{ ...whole, from: '', to: '', days: 0 }];
}

const TONES: Readonly<Record<Kept['state'], Tone>> = {
  final: 'good',
  fresh: 'good',
  stale: 'warn',
  missing: 'info',
};

/** Not known of days while the report is kept as a whole. */
const ROWS: Column<KeptRun> = {
  title: 'Rows',
  numeric: true,
  cell: ({ rows }) => (rows === null ? '–' : count(rows)),
};

function KeptTable({ runs }: { readonly runs: readonly KeptRun[] }) {
  const now = Date.now();
  return (
    <DataTable
      caption="What is kept of the report"
      rows={runs}
      keyOf={({ from }) => from}
      columns={[
        { title: 'Days', cell: ({ from, to, days }) => daysInWords(from, to, days) },
        { title: 'State', cell: ({ state }) => <Tag tone={TONES[state]}>{state}</Tag> },
        {
          title: 'Fetched',
          cell: ({ asOf }) => (asOf === null ? '–' : fromNow(asOf, now)),
        },
        { title: 'Asked again', cell: askedAgain },
        ...(runs.every(({ rows }) => rows === null) ? [] : [ROWS]),
      ]}
    />
  );
}

function daysInWords(from: string, to: string, days: number): string {
  if (days === 0) return 'The whole period';
  return days === 1 ? from : `${from} to ${to} (${count(days)})`;
}

function askedAgain({ state, ttlSeconds }: KeptRun): string {
  if (state === 'missing') return 'with the next answer';
  if (ttlSeconds === null) return '–';
  return ttlSeconds > 0 ? `in ${span(ttlSeconds)} at the earliest` : 'with the next answer';
}
