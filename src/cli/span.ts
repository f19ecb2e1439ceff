/** Formats durations, counts and sizes. */

const UNITS: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** The two largest units, e.g. `2 h 5 min`. @param seconds an integer */
export function span(seconds: number | null): string | null {
  if (seconds === null) return null;
  if (seconds === 0) return '0 s';
  let rest = Math.abs(seconds);
  const parts = UNITS.flatMap(([size, name]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count === 0 ? [] : [`${count} ${name}`];
  });
  return `${seconds < 0 ? '-' : ''}${parts.slice(0, 2).join(' ')}`;
}

/** A duration such as `90s`, `30min`, `24h`, `7d`. @returns seconds, or null if invalid */
export function readSpan(text: string): number | null {
  const [, count, name] = /^([0-9]{1,9})(s|min|h|d)$/.exec(text) ?? [];
  const size = UNITS.find((unit) => unit[1] === name)?.[0];
  return size === undefined ? null : Number(count) * size;
}

/** Time until an ISO time, e.g. `in 364 d 23 h`, `3 d 2 h ago` or `now`; `never` for null. */
export function until(isoTime: string | null, nowMs: number): string {
  if (isoTime === null) return 'never';
  const seconds = Math.trunc((Date.parse(isoTime) - nowMs) / 1000);
  if (seconds === 0) return 'now';
  return seconds < 0 ? `${span(-seconds)} ago` : `in ${span(seconds)}`;
}

/** E.g. `1 answer` or `2 answers`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** E.g. `12.3 MiB`. */
export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const step = count < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(count) / 10));
  return `${(count / 1024 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}
