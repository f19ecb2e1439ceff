/** Usage of a team: charts by hour or day, a table by day. */
import type { AnswerTo } from '../../../api/operations/table.js';
import { type Column, DataTable, numberColumn } from '../../ui/data-table.js';
import { bytes, moment } from '../../ui/format.js';
import { Card, Choice, Empty, Together, Wait } from '../../ui/parts.js';
import { go, hrefOf, useRoute } from '../../ui/route.js';
import { useGet } from '../../ui/session.js';
import { CALLS, NEW_ONES, OverviewFigures, REQUESTS, SeriesChart } from '../overview-charts.js';
import { inPeriod, RANGES, type Range, type SeriesAnswer, sum } from '../series.js';

type Usage = AnswerTo<'GET /admin/v1/usage'>;
type UsageDay = Usage['usage'][number];

/** Teams are counted by hour, so one hour would have one point. */
const TEAM_RANGES = RANGES.filter(({ value }) => value !== '1h');

const LIVE_MS = 10_000;

export function TeamUsage({ id }: { readonly id: string }) {
  const { query } = useRoute();
  const range = TEAM_RANGES.find(({ value }) => value === query.get('range'))?.value ?? '30d';
  const series = useGet<SeriesAnswer>(`/admin/v1/series?range=${range}&team=${id}`, LIVE_MS);
  const days = useGet<Usage>(`/admin/v1/usage?team=${id}`, LIVE_MS);
  const choose = (value: Range) => go(hrefOf(['teams', id], { range: value }), true);
  return (
    <Card
      title={inPeriod('Usage', range)}
      tools={<Choice label="Range" options={TEAM_RANGES} value={range} choose={choose} />}
    >
      <Together of={[series, days]}>
        <Wait of={series}>
          {(answer) =>
            sum(answer.series.requests) === 0 ? (
              <Empty>The team made no requests in this period. {NEW_ONES}</Empty>
            ) : (
              <>
                <OverviewFigures answer={answer} leftOf="the day's share" />
                <BudgetEnd of={answer.forecast} />
                <div class="grid">
                  <SeriesChart chart={REQUESTS} answer={answer} />
                  <SeriesChart chart={CALLS} answer={answer} />
                </div>
              </>
            )
          }
        </Wait>
        <h3>Usage by day, last 30 days</h3>
        <Wait of={days}>
          {({ usage }) => (
            <DataTable
              caption="Usage by day, last 30 days"
              columns={COLUMNS}
              rows={usage}
              keyOf={({ day }) => day}
              sorted={{ index: 0, down: true }}
              empty="No day with requests yet."
            />
          )}
        </Wait>
      </Together>
    </Card>
  );
}

function BudgetEnd({ of }: { readonly of: SeriesAnswer['forecast'] }) {
  if (of === undefined || (of.exhaustedAt === null && of.used < 100)) return null;
  return (
    <p class="note warn">
      {of.used} % of today's platform calls are used
      {of.exhaustedAt === null ? '.' : `; at this pace the rest ends at ${moment(of.exhaustedAt)}.`}
    </p>
  );
}

const COLUMNS: readonly Column<UsageDay>[] = [
  { title: 'Day (UTC)', by: ({ day }) => day, cell: ({ day }) => day },
  numberColumn('Requests', ({ requests }) => requests),
  numberColumn('Hits', ({ hits }) => hits),
  numberColumn('Misses', ({ misses }) => misses),
  numberColumn('Platform calls', ({ upstreamCalls }) => upstreamCalls),
  numberColumn('Saved', ({ upstreamCallsSaved }) => upstreamCallsSaved),
  numberColumn('Rows', ({ rows }) => rows),
  numberColumn('Sent', ({ bytesOut }) => bytesOut, bytes),
  numberColumn('Errors', ({ errors }) => errors),
  numberColumn('Rate limited', ({ rateLimited }) => rateLimited),
];
