/** The origin of an answer, by its headers, in words. Pure. */
import { span } from '../ui/format.js';
import { counted } from './numbers.js';

export interface Answered {
  readonly words: string;
  readonly tone: 'good' | 'warn' | 'info';
  /** What it is if the platform fails: it is being refreshed, and does not tell. */
  readonly ifAway?: Answered;
}

/** Of an older answer, as the platform failed. */
export const isAwayIn = ({ tone }: Answered): boolean => tone === 'warn';

/** @param headers `cache-status` (RFC 9211) and `age` are read. @param all days of the report; 0: not known */
export function answeredBy(headers: { get(name: string): string | null }, all = 0): Answered {
  const status = headers.get('cache-status') ?? '';
  const detail = /detail=("?)([^";]*)\1/.exec(status)?.[2] ?? '';
  const age = Number(headers.get('age') ?? 0);
  const old = age > 0 ? `, ${span(age)} old` : '';
  const away: Answered = { words: `from the cache${old}: the platform does not answer`, tone: 'warn' };
  if (/stale-if-error/.test(detail)) return away;
  if (/stale/.test(detail))
    return { words: `from the cache${old}; being refreshed`, tone: 'info', ifAway: away };
  if (/;\s*hit\b/.test(status))
    return { words: `${all > 0 ? `${counted(all, 'day')} ` : ''}from the cache${old}`, tone: 'good' };
  const days = /days=(\d+)\/(\d+)/.exec(detail);
  if (days !== null) return { words: byDays(Number(days[1]), Number(days[2]), old), tone: 'info' };
  if (status === '') return { words: 'answered', tone: 'info' };
  return { words: FETCHED, tone: 'info' };
}

/** Of numbers as they were at an earlier time, whose age now says nothing. @param day of their oldest fetch, `2 Nov 2026` */
export const answeredThen = (day: string): Answered => ({
  words: `fetched on ${day} or later`,
  tone: 'info',
});

const FETCHED = 'fetched from the platform now';

/** @param fetched days fetched from the platform, of `total` */
function byDays(fetched: number, total: number, old: string): string {
  // A running call of another request had the missing days.
  if (fetched === 0) return `already fetched for another report${old}; no extra call`;
  if (fetched === total) return FETCHED;
  return `${counted(fetched, 'day')} fetched now, ${total - fetched} from the cache${old && `, the oldest${old.slice(1)}`}`;
}
