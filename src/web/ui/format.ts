/** Numbers and times as text, independent of the browser's language but for days where a page wants that. */
import { span } from '../../lib/words.js';

export { bytes, span } from '../../lib/words.js';

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const exact = new Intl.NumberFormat('en-US', { maximumFractionDigits: 6 });
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

/** `12,345` */
export const count = (value: number): string => whole.format(value);

/** `1,200.5 EUR`; up to 6 decimals, like limits of writes. */
export function amount(value: number, currency?: string): string {
  const text = exact.format(value);
  return currency === undefined ? text : `${text} ${currency}`;
}

/** `12.3K`, for axes and tiles. */
export const compact = (value: number): string => short.format(value);

/** @param share 0 to 1. @returns `97.3 %` */
export function percent(share: number | null): string {
  if (share === null || !Number.isFinite(share)) return '–';
  const value = share * 100;
  // 99.96 % must not become 100 %.
  const digits = value > 0 && value < 100 ? 1 : 0;
  const rounded = value < 100 ? Math.min(value, 99.9) : value;
  return `${rounded.toFixed(digits)} %`;
}

/** `0.8 ms`, `42 ms`, `1.3 s` */
export function duration(ms: number | null): string {
  if (ms === null || !Number.isFinite(ms)) return '–';
  if (ms === 0) return '0 ms';
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return span(ms / 1000);
}

/** How this page writes a day; @param iso a day, or a time of it. */
let dayOf = (iso: string): string => iso.slice(0, 10);

/** @param write how the page, from its start on, writes days */
export function writeDays(write: typeof dayOf): void {
  dayOf = write;
}

/** `2026-11-22 09:30 UTC`; an invalid time is unchanged */
export function moment(iso: string): string {
  const atMs = Date.parse(iso);
  return Number.isNaN(atMs) ? iso : `${dayOf(new Date(atMs).toISOString())} ${clock(atMs)} UTC`;
}

const clock = (atMs: number): string => new Date(atMs).toISOString().slice(11, 16);

/** Not of a parameter, `dateTo=2026-11-22`. */
const TIMES = /(?<![=\w-])\d{4}-\d\d-\d\d(?:([T ])\d\d:\d\d(:\d\d(\.\d+)?)?(?:Z| UTC))?(?![\w-])/g;

/** What the gateway says, with its days and times as this page writes them. */
export const toldTimes = (text: string): string =>
  text.replace(TIMES, (told, joint?: string) =>
    joint === undefined ? dayOf(told) : moment(told.replace(' UTC', 'Z').replace(' ', 'T')),
  );

/** `between 2026-11-22 02:00 and 14:00 UTC` */
export function between(from: string, to: string): string {
  const last = moment(to);
  const isOneDay = from.slice(0, 10) === to.slice(0, 10);
  return `between ${moment(from).replace(/ UTC$/, '')} and ${isOneDay ? `${clock(Date.parse(to))} UTC` : last}`;
}

const FAR_S = 366 * 86_400;

/** `5 min ago`, `in 3 d 4 h`; `on 2199-01-01` beyond {@link FAR_S} */
export function fromNow(iso: string, nowMs: number): string {
  const seconds = (Date.parse(iso) - nowMs) / 1000;
  if (Number.isNaN(seconds)) return iso;
  const length = Math.abs(seconds);
  if (length < 5) return 'just now';
  if (length > FAR_S) return `on ${dayOf(new Date(iso).toISOString())}`;
  // `2 d`, not `2 d 6 s`.
  const step = length >= 86_400 ? 3600 : length >= 600 ? 60 : 1;
  const words = span(Math.floor(length / step) * step);
  return seconds < 0 ? `${words} ago` : `in ${words}`;
}

/** UTC days up to today, oldest first. */
export function lastDays(length: number): string[] {
  const dayOf = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
  return Array.from({ length }, (_, index) => dayOf(length - 1 - index));
}

/** `1 call`, `2 calls` */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
