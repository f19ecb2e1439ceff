/** Requests by outcome, hits by tier, platform calls made and saved, latency, errors, queue and budget. */
import { useMemo } from 'preact/hooks';
import { Chart, type ChartProps, type Line } from '../ui/chart.js';
import { compact, count, counted, duration, percent } from '../ui/format.js';
import { Card, Empty, Figure, Figures } from '../ui/parts.js';
import {
  allCounts,
  byBar,
  inPeriod,
  percentile,
  type Series,
  type SeriesAnswer,
  sum,
  timesOf,
} from './series.js';

/** In stacking order, from the top. */
const OUTCOMES = [
  { name: 'failed', title: 'failed', color: '--bad' },
  { name: 'hit', title: 'hit', color: '--c2' },
  { name: 'collapsed', title: 'collapsed', color: '--c7' },
  { name: 'stale', title: 'stale', color: '--c3' },
  { name: 'stale-if-error', title: 'stale if error', color: '--c10' },
  { name: 'refresh', title: 'refresh', color: '--c5' },
  { name: 'miss', title: 'miss', color: '--c1' },
  { name: 'other', title: 'passed through, replayed or refused', color: '--c6' },
] as const;

/** Processes write their counts within a second, and the page reloads every ten. */
export const NEW_ONES = 'Charts appear within twenty seconds of the first request.';

/** Share of reports answered without waiting for the platform. Failed ones were not answered. */
function hitRatio({ outcomes }: Series): number | null {
  const of = (name: keyof Series['outcomes']) => sum(outcomes[name]);
  const served = of('hit') + of('stale') + of('stale-if-error');
  const all = served + of('miss') + of('refresh') + of('collapsed') + of('failed');
  return all === 0 ? null : served / all;
}

interface OverviewFiguresProps {
  readonly answer: SeriesAnswer;
  /** Name of a team's limit of platform calls; absent: of all teams, with the calls that the gateway makes by itself. */
  readonly leftOf?: string;
}

export function OverviewFigures({ answer, leftOf }: OverviewFiguresProps) {
  const { series } = answer;
  const counts = allCounts(series.latency);
  const longestMs = Math.max(0, ...series.latency.longestMs);
  const errors = sum(series.errors);
  const failed = sum(series.outcomes.failed);
  const left = series.budgetLeft.findLast((value) => value !== null);
  return (
    <Figures>
      <Figure label="Requests" value={compact(sum(series.requests))} />
      <Figure label="Cache hits" value={percent(hitRatio(series))} note="of reports" />
      <Figure
        label="Platform calls"
        value={compact(sum(series.platformCalls))}
        note={[
          ...(left === undefined ? [] : [`${count(left)} left of ${leftOf ?? "the platform's rate"}`]),
          ...(leftOf === undefined ? ["the gateway's own too"] : []),
        ].join('; ')}
      />
      <Figure label="Calls saved" value={compact(sum(series.platformCallsSaved))} tone="good" />
      <Figure
        label="Latency, median"
        value={duration(percentile(series.latency, counts, longestMs, 0.5))}
        note={`p99 ${duration(percentile(series.latency, counts, longestMs, 0.99))}`}
      />
      <Figure
        label="Errors"
        value={compact(errors)}
        note={errorsNote(errors - failed, failed, answer)}
        tone={failed > 0 ? 'bad' : errors > 0 ? 'warn' : 'good'}
      />
    </Figures>
  );
}

/** Errors that are no failed reports were refused. Requests over a limit are counted apart from errors. */
function errorsNote(refused: number, failed: number, answer: SeriesAnswer): string | undefined {
  const limited = sum(answer.series.rateLimited);
  const all = [
    ...(failed > 0 ? [`${counted(failed, 'failed report')}${ofThem(answer)}`] : []),
    ...(refused > 0 ? [`${count(refused)} refused`] : []),
    ...(limited > 0 ? [`${count(limited)} more over a limit`] : []),
  ];
  return all.join('; ') || undefined;
}

/** Of the failed reports: how many are of the incidents above. */
function ofThem({ failedReports: failed }: SeriesAnswer): string {
  if (failed === undefined) return '';
  if (failed.outside === 0) return failed.ofIncidents === 1 ? ', in an incident' : ', all in incidents';
  return `, ${count(failed.ofIncidents)} in incidents, ${count(failed.outside)} outside`;
}

export function OverviewCharts({ answer }: { readonly answer: SeriesAnswer }) {
  if (sum(answer.series.requests) === 0)
    return <Empty>No requests yet: issue a key under Teams, and request a report. {NEW_ONES}</Empty>;
  return (
    <div class="grid charts">
      {[REQUESTS, CALLS, ...OTHERS].map((chart) => (
        <SeriesChart key={chart.title} chart={chart} answer={answer} />
      ))}
      <PlatformRoom answer={answer} />
    </div>
  );
}

interface SeriesChartProps extends Pick<ChartProps, 'height'> {
  readonly chart: ChartSpec;
  readonly answer: SeriesAnswer;
}

export function SeriesChart({ chart, answer, height = FULL }: SeriesChartProps) {
  const { title, lines, kind = 'stacked bars', ...look } = chart;
  const shown = useMemo(() => byBar(answer), [answer]);
  return (
    <Card title={inPeriod(title, answer.range)}>
      <Chart
        {...look}
        kind={kind}
        times={timesOf(shown)}
        lines={lines(shown.series)}
        partial={shown.partial}
        height={height}
      />
    </Card>
  );
}

const latencyOf = ({ latency }: Series): Line[] => {
  const values = (share: number) =>
    latency.counts.map((counts, at) => percentile(latency, counts, latency.longestMs[at] ?? 0, share));
  return [
    { title: 'p99', color: '--c4', values: values(0.99) },
    { title: 'median', color: '--c1', values: values(0.5) },
  ];
};

interface ChartSpec extends Pick<ChartProps, 'label' | 'kind' | 'format'> {
  readonly title: string;
  readonly lines: (series: Series) => Line[];
}

export const REQUESTS: ChartSpec = {
  title: 'Requests by outcome',
  label: 'Requests over time, by outcome',
  /** Outcomes without requests are omitted. */
  lines: ({ outcomes }) =>
    OUTCOMES.map(({ name, ...look }) => ({ ...look, values: outcomes[name] ?? [] })).filter(
      ({ values }) => sum(values) > 0,
    ),
};
export const CALLS: ChartSpec = {
  title: 'Platform calls',
  label: 'Platform calls made and saved over time',
  lines: (series) => [
    { title: 'saved', color: '--c2', values: series.platformCallsSaved },
    { title: 'made', color: '--c1', values: series.platformCalls },
  ],
};
const OTHERS: readonly ChartSpec[] = [
  {
    title: 'Hits by tier',
    label: 'Hits over time, from memory and from the store',
    lines: ({ hitTiers }) => [
      { title: 'memory', color: '--c2', values: hitTiers.memory },
      { title: 'store', color: '--c7', values: hitTiers.store },
    ],
  },
  {
    title: 'Latency',
    label: 'Median and 99th percentile of latency over time',
    lines: latencyOf,
    kind: 'bars',
    format: duration,
  },
  {
    title: 'Errors and refusals',
    label: 'Errors and rate-limited requests over time',
    lines: ({ errors, rateLimited }) => [
      { title: 'errors', color: '--bad', values: errors },
      { title: 'rate limited', color: '--c3', values: rateLimited },
    ],
  },
];

/** Two charts, as the scales of queue and budget differ; each only if there is something to see. */
function PlatformRoom({ answer }: { readonly answer: SeriesAnswer }) {
  const { queue, budgetLeft } = answer.series;
  const isWaiting = sum(queue) > 0;
  const isTold = budgetLeft.some((value) => value !== null);
  const height = isWaiting && isTold ? HALF : FULL;
  const shown = useMemo(() => byBar(answer), [answer]);
  if (!isWaiting && !isTold) return null;
  const look = {
    kind: 'bars',
    times: timesOf(shown),
    partial: shown.partial,
    height,
  } as const;
  return (
    <Card title={inPeriod('Queue for the platform', answer.range)}>
      {isWaiting ? (
        <Chart
          {...look}
          label="Longest queue for platform calls, over time"
          lines={[{ title: 'waiting, maximum', color: '--c5', values: shown.series.queue }]}
        />
      ) : (
        <p class="quiet">No call waited in this period.</p>
      )}
      {isTold ? (
        <Chart
          {...look}
          label="Lowest remaining calls of the platform's rate limit, over time"
          lines={[
            {
              title: "left of the platform's rate, at least",
              color: '--c2',
              values: shown.series.budgetLeft,
            },
          ]}
        />
      ) : null}
    </Card>
  );
}

/** Two half charts with legends are as high as a full one. */
const FULL = 200;
const HALF = 82;
