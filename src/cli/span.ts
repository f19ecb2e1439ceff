/** Durations and counts as the commands say them. */
import { span } from '../lib/words.js';

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
