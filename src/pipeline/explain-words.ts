/** What an explanation comes to, in sentences for people. Pure. */
import type { Range } from '../report/period.js';
import type { Mode } from './mode.js';

const BY_DAY = 'Each day is kept by itself, so that another period costs the days alone that are missing.';
const AS_A_WHOLE =
  'The answer for the period is kept in one piece, so that another period, and each refresh, costs a call.';
const FROM_HISTORY =
  'Answered from history alone: what was known of each day at a past moment. The cache is not looked at.';

export function keptInWords({ mode, because }: Mode, isPast: boolean): string {
  if (isPast) return FROM_HISTORY;
  return mode === 'days'
    ? `Answered by day: ${because}. ${BY_DAY}`
    : `Answered as a whole: ${because}. ${AS_A_WHOLE}`;
}

/** @param before calls that an answer waits for. @param behind those made after it. */
export function priceInWords(before: readonly Range[], behind: readonly Range[]): string {
  const waits =
    before.length === 0
      ? 'Answering it now makes no platform call'
      : `Answering it now makes ${counted(before)}`;
  return behind.length === 0
    ? `${waits}.`
    : `${waits}. Behind the answer it makes ${counted(behind)}, to refresh what is stale.`;
}

function counted(ranges: readonly Range[]): string {
  const list = ranges.slice(0, MOST_NAMED).map(showRange);
  const more = ranges.length > MOST_NAMED ? [`and ${ranges.length - MOST_NAMED} more`] : [];
  return `${ranges.length} platform ${ranges.length === 1 ? 'call' : 'calls'} (${[...list, ...more].join('; ')})`;
}

const MOST_NAMED = 5;

function showRange({ from, to }: Range): string {
  if (from === null && to === null) return 'the period is left to the platform';
  return from === to ? (from as string) : `${from ?? 'open'} to ${to ?? 'open'}`;
}
