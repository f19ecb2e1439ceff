/** A chart over time by uPlot, in the page's colours, with its numbers as a table. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import UPlot from 'uplot';
import { DataTable, numberColumn } from './data-table.js';
import { compact } from './format.js';
import { DARK, useMedia } from './media.js';
import { alone, isStacked, type Kind, piecesOf, plotted, shadedParts } from './plotted.js';

export interface Line {
  readonly title: string;
  /** A custom property of the style sheet, `--c1`. */
  readonly color: string;
  /** One per time; null: unknown. */
  readonly values: readonly (number | null)[];
  readonly dashed?: boolean;
}

export interface ChartProps {
  /** For screen readers. */
  readonly label: string;
  /** Ascending: seconds since 1970, or ages in days. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly along?: keyof typeof ALONG;
  readonly kind?: Kind;
  readonly height?: number;
  /** Of the axis. */
  readonly format?: (value: number) => string;
  /** Of one value; default: as on the axis. */
  readonly exact?: (value: number) => string;
  /** What the tooltip says of a line without a value; default: the line is left out. */
  readonly absent?: string;
  /** Whether values are whole numbers; default: unless there is a format. */
  readonly whole?: boolean;
  /** What each time is, in words; default: a time or an age. */
  readonly steps?: Steps;
  /** One per time: whether it is shaded. */
  readonly shaded?: readonly boolean[];
  /** Times that are not whole, `not over yet` by its time: their bars are hatched, the pieces of lines that lead to them dashed. */
  readonly partial?: ReadonlyMap<number, string>;
}

export interface Steps {
  /** `Week` */
  readonly title: string;
  /** One per time; `short` is for the axis. */
  readonly of: readonly { readonly title: string; readonly short: string }[];
}

export function Chart(props: ChartProps) {
  const { label, times, lines, height = 200, format = compact, exact = format, partial = NONE } = props;
  const frame = useRef<HTMLDivElement>(null);
  const scheme = useMedia(DARK);
  const [asTable, setAsTable] = useState(false);
  const isBars = props.kind?.endsWith('bars') ?? false;
  const drawn = useMemo(() => drawnOf(props), [times, lines, props.kind, partial, props.shaded]);
  useEffect(() => {
    const element = frame.current;
    if (element === null || asTable) return;
    const data = [[...times], ...drawn.map(({ values }) => values)] as UPlot.AlignedData;
    const plot = new UPlot(optionsOf(props, drawn, element, height), data, element);
    element.style.color = '';
    const watcher = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [scheme, drawn, asTable, height]);
  return (
    <figure>
      {asTable ? (
        <ValuesTable {...props} format={exact} />
      ) : (
        <div ref={frame} role="img" aria-label={label} style={{ minHeight: `${height}px` }} />
      )}
      <figcaption>
        {lines.map(({ title, color, dashed = false }) => (
          <span key={title}>
            <span class={dashed ? 'swatch dashed' : 'swatch'} style={{ '--swatch': `var(${color})` }} />
            <bdi>{title}</bdi>
          </span>
        ))}
        {partial.size === 0 ? null : (
          <span>
            <span class={`swatch ${isBars ? 'hatched' : 'dashed'}`} style={{ '--swatch': 'var(--quiet)' }} />
            {isBars ? 'hatched' : 'dashed'}: not complete ({[...partial.values()].join(', ')})
          </span>
        )}
        <button type="button" class="plain small" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          {asTable ? 'Show chart' : 'Show table'}
        </button>
      </figcaption>
    </figure>
  );
}

const NONE: ReadonlyMap<number, string> = new Map();

/** What is drawn of each line; a line with times that are not whole is two. */
function drawnOf(props: ChartProps): Pick<Line, 'color' | 'values' | 'dashed'>[] {
  const { times, lines, kind = 'lines', partial = NONE } = props;
  const heights = plotted(props);
  if (kind !== 'lines' || partial.size === 0)
    return lines.map((line, index) => ({ ...line, values: heights[index] ?? [] }));
  const isWhole = times.map((time) => !partial.has(time));
  return lines.flatMap((line) => {
    const { whole, rest } = piecesOf(line.values, isWhole);
    return [
      { ...line, values: whole },
      { ...line, values: rest, dashed: true },
    ];
  });
}

/** What a time is in words. */
function shownBy({
  steps,
  along = 'time',
  partial = NONE,
}: ChartProps): (time: number, index: number) => string {
  return (time, index) =>
    [steps?.of[index]?.title ?? ALONG[along].shown(time), partial.get(time) ?? []].flat().join(', ');
}

function ValuesTable(props: ChartProps & { readonly format: (value: number) => string }) {
  const { label, times, lines, format, steps, along = 'time' } = props;
  const shown = shownBy(props);
  const rows = times.map((time, index) => ({ time, index }));
  const columns = lines.map(({ title: name, values }) =>
    numberColumn<(typeof rows)[number]>(name, ({ index }) => values[index] ?? null, format),
  );
  return (
    <DataTable
      caption={label}
      short
      columns={[
        {
          title: steps?.title ?? ALONG[along].title,
          cell: ({ time, index }) => shown(time, index),
          by: ({ time }) => time,
        },
        ...columns,
      ]}
      rows={rows}
      keyOf={({ time }) => String(time)}
    />
  );
}

function optionsOf(
  props: ChartProps,
  drawn: ReturnType<typeof drawnOf>,
  element: HTMLElement,
  height: number,
): UPlot.Options {
  const { kind = 'lines', format = compact, shaded = [], times, along = 'time' } = props;
  const { steps, whole = props.format === undefined } = props;
  const style = getComputedStyle(element);
  // The computed value: dark mode has others.
  const color = (name: string) => {
    element.style.color = `var(${name})`;
    return style.color;
  };
  const axis = {
    stroke: color('--quiet'),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  };
  const isByDay = along === 'time' && times.length > 1 && times.every((time) => time % 86_400 === 0);
  const bars = kind.endsWith('bars') && UPlot.paths.bars ? UPlot.paths.bars({ size: [0.7, 40] }) : undefined;
  // Room for the whole of the first and last bar.
  const half = bars === undefined ? 0 : ((times[1] ?? 0) - (times[0] ?? 0)) / 2;
  return {
    width: element.clientWidth,
    height,
    tzDate: (ts) => UPlot.tzDate(new Date(ts * 1000), 'Etc/UTC'),
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    scales: {
      x: { time: along === 'time', range: (_plot, min, max) => [min - half, max + half] },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        space: 70,
        size: 32,
        grid: { show: false },
        values: ALONG[along].marks,
        ...(steps !== undefined ? marksOf(steps, times) : isByDay ? DAYS : {}),
      },
      {
        ...axis,
        size: (_plot, marks) =>
          Math.max(AXIS_PX, 16 + 7 * Math.max(0, ...(marks ?? []).map(({ length }) => length))),
        values: (_plot, ticks) => ticks.map(format),
        ...(whole ? WHOLE : {}),
      },
    ],
    series: [
      {},
      ...drawn.map((line): UPlot.Series => {
        const stroke = color(line.color);
        return {
          stroke,
          width: isStacked(kind) ? 0 : 2,
          points: {
            show: bars === undefined && (times.length < 3 || alone(line.values).length > 0),
            ...(times.length < 3 ? {} : { filter: () => alone(line.values) }),
            size: 5,
            fill: stroke,
          },
          ...(kind === 'lines' ? {} : { fill: stroke }),
          ...(line.dashed === true ? { dash: [6, 4] } : {}),
          ...(bars === undefined ? {} : { paths: bars }),
        };
      }),
    ],
    hooks: {
      drawClear: [(plot) => shade(plot, shadedParts(times, shaded), color('--shade'))],
      draw: [(plot) => hatch(plot, [...(props.partial ?? NONE).keys()], half, color('--card'))],
    },
    plugins: [tooltip(props)],
  };
}

/** Of the vertical axis, at least. */
const AXIS_PX = 56;

/** Marks at the times themselves, as many as there is room for. */
function marksOf({ of }: Steps, times: readonly number[]): Pick<UPlot.Axis, 'splits' | 'values'> {
  return {
    splits: (plot) => {
      // By the new width: the plot itself follows it only when it is drawn.
      const room = Math.max(1, Math.floor((plot.width - AXIS_PX) / 70));
      const step = Math.ceil(times.length / room);
      return times.filter((_, index) => index % step === 0);
    },
    values: (_plot, marks) => marks.map((mark) => of[times.indexOf(mark)]?.short ?? ''),
  };
}

function shade(plot: UPlot, parts: readonly [from: number, to: number][], fill: string): void {
  const { left, top, width, height } = plot.bbox;
  const pixel = (time: number) => Math.min(left + width, Math.max(left, plot.valToPos(time, 'x', true)));
  plot.ctx.fillStyle = fill;
  for (const [from, to] of parts) plot.ctx.fillRect(pixel(from), top, pixel(to) - pixel(from), height);
}

/** Lines in the colour of the ground over whole bars. @param half of a bar's width, in units of the axis */
function hatch(plot: UPlot, at: readonly number[], half: number, stroke: string): void {
  const { ctx, bbox } = plot;
  for (const time of at) {
    const [left, right] = [plot.valToPos(time - half, 'x', true), plot.valToPos(time + half, 'x', true)];
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, bbox.top, right - left, bbox.height);
    ctx.clip();
    ctx.beginPath();
    for (let from = left - bbox.height; from < right; from += HATCH_PX) {
      ctx.moveTo(from, bbox.top + bbox.height);
      ctx.lineTo(from + bbox.height, bbox.top);
    }
    ctx.strokeStyle = stroke;
    ctx.lineWidth = HATCH_PX / 2;
    ctx.stroke();
    ctx.restore();
  }
}

const HATCH_PX = 6;

/** The lines' values at the pointer, as text, never as markup. */
function tooltip(props: ChartProps): UPlot.Plugin {
  const { lines, kind = 'lines', format = compact, exact = format, absent } = props;
  const shown = shownBy(props);
  const box = document.createElement('div');
  box.className = 'tooltip';
  box.hidden = true;
  return {
    hooks: {
      init: [(plot) => plot.over.append(box)],
      setCursor: [
        (plot) => {
          const { idx, left = 0 } = plot.cursor;
          box.hidden = idx === null || idx === undefined || left < 0;
          if (box.hidden || idx === null || idx === undefined) return;
          const head = document.createElement('strong');
          head.textContent = shown(plot.data[0][idx] ?? 0, idx);
          const told = lines.filter(({ values }) => (values[idx] ?? null) !== null);
          const rows = lines.flatMap(({ title, color, values }) => {
            const value = values[idx] ?? null;
            const text = value === null ? absent : exact(value);
            return text === undefined ? [] : valueLine(title, text, color);
          });
          if (isStacked(kind) && told.length > 1)
            rows.push(
              valueLine('Total', exact(told.reduce((sum, { values }) => sum + (values[idx] ?? 0), 0))),
            );
          box.replaceChildren(head, ...rows);
          // Beside the pointer, as far as there is room.
          const { clientWidth: room } = plot.over;
          const at = left < room / 2 ? left + 12 : left - 12 - box.offsetWidth;
          box.style.left = `${Math.max(-plot.over.offsetLeft, Math.min(at, room - box.offsetWidth))}px`;
        },
      ],
    },
  };
}

function valueLine(title: string, value: string, color?: string): HTMLElement {
  const row = document.createElement('div');
  if (color !== undefined) {
    const swatch = document.createElement('span');
    swatch.className = 'swatch';
    swatch.style.setProperty('--swatch', `var(${color})`);
    row.append(swatch);
  }
  // A right-to-left name must not move the number.
  const name = document.createElement('bdi');
  name.textContent = title;
  row.append(name, `: ${value}`);
  return row;
}

// The horizontal axis: times or ages of days.

/** Title of the column in the table, one value in words, and the marks. */
const ALONG = {
  /** UTC, seconds. */
  time: {
    title: 'Time (UTC)',
    shown: (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' '),
    marks: (_plot: UPlot, marks: number[], _axis: number, _space: number, step: number) =>
      marks.map((mark) => {
        const iso = new Date(mark * 1000).toISOString();
        return step >= 86_400 || mark % 86_400 === 0 ? iso.slice(5, 10) : iso.slice(11, 16);
      }),
  },
  age: {
    title: 'Age of the day',
    shown: (days: number) => `${days} d`,
    marks: (_plot: UPlot, marks: number[]) =>
      marks.map((days) => (Number.isInteger(days) ? `${days} d` : '')),
  },
};

/** Marks of daily values: whole days. */
const DAYS = { incrs: [1, 2, 7, 14, 28, 91, 182, 364].map((days) => days * 86_400) };

/** Marks of counts: whole numbers. */
const WHOLE = {
  incrs: Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat(),
};
