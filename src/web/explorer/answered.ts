/** How old the numbers of an answer are, and what may still change, in words. Pure. */
import { span } from '../ui/format.js';
import { dates } from './dates.js';
import type { Meta } from './parse.js';
import { closedPeriod, periodWords } from './spans.js';

export interface Answered {
  /** When the oldest of the numbers that may still change was fetched; if none may, the oldest of all. By this clock. */
  readonly fetchedMs: number;
  /** From when on the gateway fetches some of them again, if it is asked. Null: not told, as they were fetched for this answer. */
  readonly nextMs: number | null;
  /** `away`: the platform failed; `refreshed`: newer ones are on their way, or the platform fails. */
  readonly is: 'fresh' | 'refreshed' | 'away';
}

/** @param headers `cache-status` (RFC 9211) and `age` are read */
export function answeredBy(
  headers: { get(name: string): string | null },
  { asOf, days = [] }: Pick<Meta, 'asOf' | 'days'>,
  nowMs: number,
): Answered {
  const age = Number(headers.get('age') ?? 0);
  const [open = asOf] = days.flatMap((day) => (day.final ? [] : day.asOf)).sort();
  const status = headers.get('cache-status') ?? '';
  const [, left] = /\bttl=(-?\d+)/.exec(status) ?? [];
  return {
    fetchedMs: nowMs - age * 1000 + Date.parse(open) - Date.parse(asOf),
    nextMs: left === undefined ? null : nowMs + Number(left) * 1000,
    is: /stale-if-error/.test(status) ? 'away' : /detail="?stale/.test(status) ? 'refreshed' : 'fresh',
  };
}

/** Of several together. @param answers at least one */
export function togetherOf(answers: readonly Answered[]): Answered {
  const is = (one: Answered['is']) => answers.some((answer) => answer.is === one);
  const next = answers.flatMap(({ nextMs }) => nextMs ?? []);
  return {
    fetchedMs: Math.min(...answers.map(({ fetchedMs }) => fetchedMs)),
    nextMs: next.length === 0 ? null : Math.min(...next),
    is: is('away') ? 'away' : is('refreshed') ? 'refreshed' : 'fresh',
  };
}

const MINUTE_MS = 60_000;

const minutes = (ms: number): string => span(Math.floor(ms / MINUTE_MS) * 60);

/** `14 min old` */
export const ageWords = ({ fetchedMs }: Answered, nowMs: number): string =>
  nowMs - fetchedMs < MINUTE_MS ? 'less than a minute old' : `${minutes(nowMs - fetchedMs)} old`;

/** Until the gateway fetches newer ones, `45 min`; null: it does if it is asked, or that is not told. */
export const leftWords = ({ nextMs }: Answered, nowMs: number): string | null =>
  nextMs === null || nextMs - nowMs < MINUTE_MS ? null : minutes(nextMs - nowMs);

/** Between its end and the next reading a day may change unseen. */
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Of an earlier time, `12 of 30 days last read between Nov 19, 2026 and Nov 24, 2026`; null: all were read less than a day before it, or again later with the same numbers. */
export function lastReadWords({ knownAt = '', days = [] }: Pick<Meta, 'knownAt' | 'days'>): string | null {
  const read = days.flatMap(({ date, knownFrom = '', confirmedUntil = '' }) => {
    const [, last = ''] = [knownFrom, confirmedUntil].sort();
    return Date.parse(knownAt) - Date.parse(last) < DAY_MS ? [] : { date, last };
  });
  const lasts = read.map(({ last }) => last).sort();
  const [first = '', last = ''] = [lasts[0], lasts.at(-1)].map((iso = '') => dates.full(iso));
  if (read.length === 0) return null;
  const of = (some: readonly { readonly date: string }[]) => new Set(some.map(({ date }) => date)).size;
  const which = of(read) === of(days) ? 'numbers' : `${of(read)} of ${of(days)} days`;
  return `${which} last read ${first === last ? `on ${first}` : `between ${first} and ${last}`}`;
}

/** `Nov 24 – 28, 2026`; null: nothing may still change. */
export function openWords({ final, firstProvisionalDate: first, period }: Meta): string | null {
  if (final || period === null) return null;
  const { to } = closedPeriod(period) ?? {};
  if (first === undefined) return 'Some of these days';
  return to === undefined
    ? `Days from ${periodWords({ from: first, to: first })} on`
    : periodWords({ from: first, to });
}
