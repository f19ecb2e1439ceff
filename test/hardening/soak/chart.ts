/** Samples as a plain SVG picture: one panel for each quantity, one line for each gateway. Numbers in, text out. */

/** One look at all gateways. */
export interface Sample {
  /** Since the first, seconds. */
  readonly at: number;
  /** Of each gateway, in their order. */
  readonly values: readonly Readonly<Record<Quantity, number>>[];
}

export type Quantity = 'memory' | 'heap' | 'outside' | 'handles' | 'delay';

/** Title with unit, and what the number is divided by to have it. */
const PANELS: { readonly [Name in Quantity]: readonly [title: string, unit: number] } = {
  memory: ['resident memory, MiB', 2 ** 20],
  heap: ['JavaScript heap in use, MiB', 2 ** 20],
  outside: ['resident memory outside of the heap, MiB', 2 ** 20],
  handles: ['open files and sockets', 1],
  delay: ['event-loop delay, 99th percentile, ms', 0.001],
};
const COLOURS = ['#1f6feb', '#c2410c', '#15803d', '#7c3aed'];
const [WIDTH, PANEL, TOP, LEFT, GAP] = [720, 110, 24, 56, 34];

/** @returns an SVG document; panels without a sample are empty */
export function chartOf(samples: readonly Sample[], title: string): string {
  const names = Object.keys(PANELS) as Quantity[];
  const height = TOP + names.length * (PANEL + GAP);
  const longest = Math.max(1, ...samples.map(({ at }) => at));
  const panels = names.map((name, at) => panelOf(name, samples, longest, TOP + at * (PANEL + GAP)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    ...panels,
    '</svg>',
    '',
  ].join('\n');
}

function panelOf(name: Quantity, samples: readonly Sample[], longest: number, top: number): string {
  const [title, unit] = PANELS[name];
  const lines = (samples[0]?.values ?? []).map((_, gateway) =>
    samples.map(({ at, values }) => [at, (values[gateway]?.[name] ?? 0) / unit] as const),
  );
  const highest = Math.max(1, ...lines.flat().map(([, value]) => value)) * 1.1;
  const [inner, bottom] = [top + 16, top + PANEL];
  const x = (at: number) => (LEFT + (at / longest) * (WIDTH - LEFT - 12)).toFixed(1);
  const y = (value: number) => (bottom - (value / highest) * (bottom - inner)).toFixed(1);
  return [
    `<text x="${LEFT}" y="${top + 10}" font-weight="bold">${title}</text>`,
    `<path d="M${LEFT} ${inner}V${bottom}H${WIDTH - 12}" fill="none" stroke="#888"/>`,
    `<text x="${LEFT - 6}" y="${inner + 8}" text-anchor="end">${Math.round(highest)}</text>`,
    `<text x="${LEFT - 6}" y="${bottom}" text-anchor="end">0</text>`,
    `<text x="${WIDTH - 12}" y="${bottom + 13}" text-anchor="end">${Math.round(longest)} s</text>`,
    ...lines.map(
      (points, at) =>
        `<polyline fill="none" stroke="${COLOURS[at % COLOURS.length]}" points="${points.map(([when, value]) => `${x(when)},${y(value)}`).join(' ')}"/>`,
    ),
  ].join('\n');
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/**
 * Whether memory still grew when it should have come to rest: what garbage there is lies above the least.
 * @returns the least of the last quarter over that of the second one; 1 for fewer than 8 samples
 */
export function growthOf(values: readonly number[]): number {
  if (values.length < 8) return 1;
  const quarter = Math.floor(values.length / 4);
  const before = Math.min(...values.slice(quarter, 2 * quarter));
  return before === 0 ? 1 : Math.min(...values.slice(values.length - quarter)) / before;
}
