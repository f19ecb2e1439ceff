/** One measure over time: a chart, or bars with their values where a chart would have one or two dots. */
import { useMemo } from 'preact/hooks';
import { Chart, type ChartProps } from '../ui/chart.js';
import type { ReportColumn } from './columns.js';
import { numbers } from './numbers.js';
import { SPANS, type SpanName } from './spans.js';

/** A chart of fewer times says less than their numbers. */
const FEWEST_TIMES = 3;

interface MeasureChartProps
  extends Pick<ChartProps, 'label' | 'lines' | 'kind' | 'height' | 'partial' | 'shaded'> {
  readonly column: ReportColumn;
  /** Of money; null: unknown. */
  readonly currency: string | null;
  readonly by: SpanName;
  readonly steps: readonly { readonly start: string; readonly title: string; readonly short: string }[];
}

export const isFew = (steps: readonly unknown[]): boolean => steps.length < FEWEST_TIMES;

export function MeasureChart(props: MeasureChartProps) {
  const { column, currency, by, steps, ...chart } = props;
  const { unit, noSum, ratio } = column;
  const times = useMemo(() => steps.map(({ start }) => secondsOf(start)), [steps]);
  const exact = (value: number) => numbers.full(value, unit, currency);
  const absent = noSum === null && ratio === null ? 'no row' : 'no value';
  if (isFew(steps)) return <FewBars {...props} exact={exact} absent={absent} />;
  return (
    <Chart
      {...chart}
      times={times}
      steps={{ title: SPANS.find(({ value }) => value === by)?.title ?? '', of: steps }}
      format={(value) => numbers.short(value, unit, currency)}
      exact={exact}
      absent={absent}
      whole={unit === 'number' && chart.lines.every(({ values }) => values.every(isWhole))}
    />
  );
}

export const secondsOf = (day: string): number => Date.parse(day) / 1000;
const isWhole = (value: number | null): boolean => value === null || Number.isInteger(value);

type FewProps = MeasureChartProps & { readonly exact: (value: number) => string; readonly absent: string };

function FewBars({ label, steps, lines, exact, absent }: FewProps) {
  const most = Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  return (
    <figure aria-label={label} class="few">
      {steps.map(({ start, title }, place) => (
        <ul key={start} class="plain-list" aria-label={title}>
          {steps.length === 1 ? null : <li class="small quiet">{title}</li>}
          {lines.map(({ title: line, color, values }) => {
            const value = values[place] ?? null;
            const share = value === null || most === 0 ? 0 : Math.max(0, value / most);
            return (
              <li key={line} class="few-bar">
                <bdi>{line}</bdi>
                <span class={value === null ? 'quiet' : undefined}>
                  {value === null ? absent : exact(value)}
                </span>
                <span style={{ width: `${100 * share}%`, background: `var(${color})` }} />
              </li>
            );
          })}
        </ul>
      ))}
    </figure>
  );
}
