/** The last changes of known days by advertiser: day × time seen, as a picture and as a table. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Column, DataTable, timeColumn } from '../../ui/data-table.js';
import { amount, counted, moment, percent } from '../../ui/format.js';
import { Card, Empty, Name, Wait } from '../../ui/parts.js';
import { useGet } from '../../ui/session.js';
import { useAdvertisers } from '../teams/advertisers.js';
import { type ChangePoint, groupsOf, type LastChanges, pointOf, scaleOf } from './last-changes.js';

const LIVE_MS = 30_000;
const COLORS = ['--c1', '--c3', '--c2', '--c4', '--c5'];
const REST = '--c6';

export function LastChangesCard() {
  const found = useGet<LastChanges>('/admin/v1/changes?limit=500', LIVE_MS);
  return (
    <Card title="Last changes">
      <Wait of={found}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>No day has changed yet since it was first known.</Empty>
          ) : (
            <Picture data={data} />
          )
        }
      </Wait>
    </Card>
  );
}

function Picture({ data }: Pick<LastChanges, 'data'>) {
  const { nameOf } = useAdvertisers();
  const [asTable, setAsTable] = useState(false);
  const points = useMemo(() => data.map(pointOf), [data]);
  const groups = useMemo(() => groupsOf(points, COLORS.length), [points]);
  const titleOf = (id: string | null) =>
    id === null ? 'others' : (nameOf(Number(id)) ?? `advertiser ${id}`);
  const places = new Map(groups.map(({ id }, index) => [id, index]));
  const placeOf = ({ advertiser }: ChangePoint) => places.get(advertiser) ?? groups.length - 1;
  const colors = groups.map(({ id }, index) => (id === null ? REST : (COLORS[index] ?? REST)));
  const largest = Math.max(...points.map(({ most }) => most?.share ?? 0));
  const label = `Last ${counted(points.length, 'change')}: the day that changed by the time it was seen, by advertiser`;
  return (
    <figure>
      <p class="small quiet">
        Upwards the day that changed, to the right when it was seen (UTC). The larger a circle, the larger the
        change of the measure that changed most: {percent(largest)} at most.
      </p>
      {asTable ? (
        <DataTable
          caption={label}
          short
          rows={points}
          keyOf={({ key }) => key}
          columns={[
            {
              title: 'Advertiser',
              cell: ({ advertiser }) => <Name>{advertiser === null ? '–' : titleOf(advertiser)}</Name>,
              by: ({ advertiser }) => (advertiser === null ? null : titleOf(advertiser)),
            },
            ...COLUMNS,
          ]}
        />
      ) : (
        <Points
          {...{ label, points, colors, largest, placeOf }}
          titleOf={({ advertiser }) => (advertiser === null ? 'advertiser not named' : titleOf(advertiser))}
        />
      )}
      <figcaption>
        {groups.map(({ id, number }, index) => (
          <span key={id ?? ''}>
            <span class="swatch" style={{ '--swatch': `var(${colors[index]})` }} />
            <bdi>{titleOf(id)}</bdi>: {number}
          </span>
        ))}
        <button type="button" class="plain small" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          {asTable ? 'Show chart' : 'Show table'}
        </button>
      </figcaption>
    </figure>
  );
}

const COLUMNS: readonly Column<ChangePoint>[] = [
  { title: 'Day', cell: ({ date }) => <span class="nowrap">{date}</span>, by: ({ date }) => date },
  {
    title: 'Old → new',
    cell: ({ most }) => (most === null ? '–' : wordsOf(most)),
  },
  {
    title: 'Change',
    numeric: true,
    cell: ({ most }) => percent(most?.share ?? null),
    by: ({ most }) => most?.share ?? null,
  },
  timeColumn('Seen', ({ seenAt }) => seenAt, '–'),
  { title: 'Why', cell: ({ why }) => why, by: ({ why }) => why },
  { title: 'Report', cell: ({ report }) => <Name>{report}</Name>, by: ({ report }) => report },
];

const wordsOf = ({ name, before, now }: NonNullable<ChangePoint['most']>): string =>
  `${name} ${amount(before)} → ${amount(now)}`;

const HEIGHT = 300;
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 16, 8, 24];
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Room of a mark, pixels. */
const [MARK_WIDTH, MARK_HEIGHT] = [90, 40];
/** Radius of circles, and their distance where several stand at one place. */
const [SMALL, LARGE, BESIDE] = [2, 8, 6];

interface PointsProps {
  readonly label: string;
  readonly points: readonly ChangePoint[];
  readonly colors: readonly string[];
  /** Which colour a point has. */
  readonly placeOf: (point: ChangePoint) => number;
  /** Share of the largest circle. */
  readonly largest: number;
  readonly titleOf: (point: ChangePoint) => string;
}

function Points({ label, points, colors, placeOf, largest, titleOf }: PointsProps) {
  const [frame, width] = useWidth();
  const [inner, high] = [Math.max(1, width - LEFT - RIGHT), HEIGHT - TOP - BOTTOM];
  const times = points.map(({ seenAt }) => Date.parse(seenAt));
  const isShort = Math.max(...times) - Math.min(...times) < 3 * DAY_MS;
  const seen = scaleOf(times, isShort ? HOUR_MS : DAY_MS, Math.max(1, Math.floor(inner / MARK_WIDTH)));
  const days = scaleOf(
    points.map(({ date }) => Date.parse(date)),
    DAY_MS,
    Math.floor(high / MARK_HEIGHT),
  );
  const x = (ms: number) => LEFT + seen.at(ms) * inner;
  const y = (ms: number) => TOP + (1 - days.at(ms)) * high;
  const isWhole = (mark: number) => x(mark) >= LEFT && x(mark) <= width - MARK_WIDTH / 2;
  // Advertisers of one day and moment stand side by side.
  const beside = (point: ChangePoint) => BESIDE * (placeOf(point) - (colors.length - 1) / 2);
  const radius = ({ most }: ChangePoint) =>
    SMALL + (LARGE - SMALL) * Math.sqrt((most?.share ?? 0) / (largest || 1));
  const bySize = points.toSorted((a, b) => (b.most?.share ?? 0) - (a.most?.share ?? 0));
  return (
    <div ref={frame} style={{ minHeight: `${HEIGHT}px` }}>
      <svg class="points" role="img" aria-label={label} width={width} height={HEIGHT}>
        {days.marks.map((mark) => (
          <g key={mark}>
            <line x1={LEFT} x2={width - RIGHT} y1={y(mark)} y2={y(mark)} />
            <text x={LEFT - 8} y={y(mark) + 4} text-anchor="end">
              {dayOf(mark)}
            </text>
          </g>
        ))}
        {seen.marks.filter(isWhole).map((mark) => (
          <text key={mark} x={x(mark)} y={HEIGHT - 6} text-anchor="middle">
            {isShort ? `${dayOf(mark)} ${new Date(mark).toISOString().slice(11, 16)}` : dayOf(mark)}
          </text>
        ))}
        {bySize.map((point) => (
          <circle
            key={point.key}
            cx={x(Date.parse(point.seenAt)) + beside(point)}
            cy={y(Date.parse(point.date))}
            r={radius(point)}
            style={{ '--swatch': `var(${colors[placeOf(point)]})` }}
          >
            <title>
              {`${titleOf(point)}, ${point.date}: ${point.most === null ? '' : `${wordsOf(point.most)}, `}${point.why}; seen ${moment(point.seenAt)}`}
            </title>
          </circle>
        ))}
      </svg>
    </div>
  );
}

/** `11-18` */
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(5, 10);

/** @returns the width of an element, followed */
function useWidth() {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const look = () => setWidth(element.clientWidth);
    look();
    const watcher = new ResizeObserver(look);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  return [frame, width] as const;
}
