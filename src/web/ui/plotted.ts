/** What a chart draws of its lines: sums where they are stacked, gaps where there is no value. Pure. */

export type Kind = 'lines' | 'stacked' | 'bars' | 'stacked bars';

interface Plotted {
  readonly times: readonly number[];
  readonly lines: readonly { readonly values: readonly (number | null)[] }[];
  readonly kind?: Kind;
}

export const isStacked = (kind: Kind) => kind.startsWith('stacked');

/** @returns the heights of each line; a stacked line is the sum of itself and all below it. Null: a gap */
export function plotted({ times, lines, kind = 'lines' }: Plotted): (number | null)[][] {
  if (!isStacked(kind)) return lines.map(({ values }) => [...values]);
  const sums = new Array<number>(times.length).fill(0);
  return [...lines]
    .reverse()
    .map(({ values }) =>
      sums.map((below, index) => {
        const value = values[index] ?? null;
        if (value !== null) sums[index] = below + value;
        return value === null ? null : below + value;
      }),
    )
    .reverse();
}

/** The places of values between two gaps, which no line leads to. */
export const alone = (values: readonly (number | null)[]): number[] =>
  values.flatMap((value, index) => {
    const isGap = (place: number) => (values[place] ?? null) === null;
    return value !== null && isGap(index - 1) && isGap(index + 1) ? index : [];
  });
