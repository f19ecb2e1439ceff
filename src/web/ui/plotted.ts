/** What a chart draws of its lines: sums where they are stacked, gaps where there is no value. Pure. */

export type Kind = 'lines' | 'bars' | 'stacked bars';

interface Plotted {
  readonly times: readonly number[];
  readonly lines: readonly { readonly values: readonly (number | null)[] }[];
  readonly kind?: Kind;
}

export const isStacked = (kind: Kind) => kind === 'stacked bars';

/**
 * @returns the heights of each line; a stacked line is the sum of itself and all below it. Null: a gap, in a stack only where no
 *   line has a value, as the total of the others is one
 */
export function plotted({ times, lines, kind = 'lines' }: Plotted): (number | null)[][] {
  if (!isStacked(kind)) return lines.map(({ values }) => [...values]);
  let below: (number | null)[] = times.map((_, index) =>
    lines.some(({ values }) => (values[index] ?? null) !== null) ? 0 : null,
  );
  return [...lines]
    .reverse()
    .map(({ values }) => {
      below = below.map((sum, index) => (sum === null ? null : sum + (values[index] ?? 0)));
      return below;
    })
    .reverse();
}

/** The places of values between two gaps, which no line leads to. */
export const alone = (values: readonly (number | null)[]): number[] =>
  values.flatMap((value, index) => {
    const isGap = (place: number) => (values[place] ?? null) === null;
    return value !== null && isGap(index - 1) && isGap(index + 1) ? index : [];
  });

/**
 * A line in two: between whole times, and the pieces to and from those that are not.
 * @param isWhole by place
 */
export function piecesOf(values: readonly (number | null)[], isWhole: readonly boolean[]) {
  const isRest = (place: number) => isWhole[place] === false;
  return {
    whole: values.map((value, place) => (isRest(place) ? null : value)),
    rest: values.map((value, place) => ([place - 1, place, place + 1].some(isRest) ? value : null)),
  };
}

/**
 * The shaded parts of the axis, each from the middle before its first time to that after its last, so that one time alone is
 * shaded, too.
 * @param isShaded by place. @returns their ends; infinite beyond the first and the last time
 */
export function shadedParts(times: readonly number[], isShaded: readonly boolean[]): [number, number][] {
  const before = (place: number) => {
    const [one, other] = [times[place - 1], times[place]];
    if (one === undefined) return Number.NEGATIVE_INFINITY;
    return other === undefined ? Number.POSITIVE_INFINITY : (one + other) / 2;
  };
  return isShaded.flatMap((isHere, place): [number, number][] => {
    if (!isHere || isShaded[place - 1] === true) return [];
    const end = isShaded.indexOf(false, place);
    return [[before(place), before(end < 0 ? times.length : end)]];
  });
}
