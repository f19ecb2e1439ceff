/** The overview: verdict, charts, teams. */
import type { AnswerTo } from '../../api/operations/table.js';
import { type Column, DataTable, numberColumn, timeColumn } from '../ui/data-table.js';
import { duration, moment, percent } from '../ui/format.js';
import { Card, Choice, Together, Wait } from '../ui/parts.js';
import { go, hrefOf, useRoute } from '../ui/route.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import { IncidentsCard } from './incidents.js';
import { OverviewCharts, OverviewFigures } from './overview-charts.js';
import { inPeriod, RANGES, type Range, type SeriesAnswer } from './series.js';
import { TeamLink } from './team-link.js';
import { VerdictCard } from './verdict.js';
import type { Status } from './verdict-words.js';

export type LedgerAnswer = AnswerTo<'GET /admin/v1/series/teams'>;

const LIVE_MS = 10_000;

export function Overview() {
  const { query } = useRoute();
  const range = RANGES.find(({ value }) => value === query.get('range'))?.value ?? '1h';
  const status = useGet<Status>('/admin/v1/status', LIVE_MS);
  const series = useGet<SeriesAnswer>(`/admin/v1/series?range=${range}`, LIVE_MS);
  const ledger = useGet<LedgerAnswer>(`/admin/v1/series/teams?range=${range}`, LIVE_MS);
  const choose = (value: Range) => go(hrefOf(['overview'], { range: value }));
  const verdict = (
    <Wait of={status}>{(value, since) => <VerdictCard status={value} staleSince={since} />}</Wait>
  );
  const isKnown = status.error === null;
  return (
    <View
      title="Overview"
      lead="Current state of the gateway, refreshed every ten seconds."
      tools={<Choice label="Range" options={RANGES} value={range} choose={choose} />}
    >
      {/* Above errors of the rest, which it explains. */}
      {isKnown ? verdict : null}
      <Together of={[status, series, ledger]}>
        {isKnown ? null : verdict}
        <Wait of={status}>{({ incidents }) => <IncidentsCard incidents={incidents} />}</Wait>
        <Wait of={series}>
          {(value) => (
            <>
              <OverviewFigures answer={value} />
              <OverviewCharts answer={value} />
            </>
          )}
        </Wait>
        <Wait of={ledger}>{(value) => <Ledger answer={value} from={series.value?.from ?? null} />}</Wait>
      </Together>
    </View>
  );
}

/** Requests without a valid key have no team. */
type Row = Omit<LedgerAnswer['teams'][number], 'id'> & { readonly id: string | null };

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'Team',
    by: ({ name }) => name,
    cell: ({ id, name }) => (id === null ? name : <TeamLink id={id} name={name} />),
  },
  numberColumn('Requests', ({ requests }) => requests),
  numberColumn('Hits', ({ hitRatio }) => hitRatio, percent),
  numberColumn('Calls', ({ platformCalls }) => platformCalls),
  numberColumn('Saved', ({ platformCallsSaved }) => platformCallsSaved),
  numberColumn('Errors', ({ errors }) => errors),
  numberColumn('Limited', ({ rateLimited }) => rateLimited),
  numberColumn('Median', ({ p50Ms }) => p50Ms, duration),
  numberColumn('p99', ({ p99Ms }) => p99Ms, duration),
  timeColumn('Last seen', ({ lastSeenAt }) => lastSeenAt, '–'),
];

interface LedgerProps {
  readonly answer: LedgerAnswer;
  readonly from: string | null;
}

const Ledger = ({ answer: { range, teams, withoutKey }, from }: LedgerProps) => (
  <Card
    title={inPeriod('Teams', range)}
    tools={from === null ? null : <span class="small quiet">{moment(from)} until now</span>}
  >
    <DataTable
      caption="Teams and their usage"
      columns={COLUMNS}
      rows={[
        ...teams,
        ...(withoutKey === null ? [] : [{ ...withoutKey, id: null, name: 'without a valid key' }]),
      ]}
      keyOf={({ id }) => id ?? ''}
      sorted={{ index: 1, down: true }}
      empty="No team made a request: choose a longer range above, or issue a key under Teams."
    />
  </Card>
);
