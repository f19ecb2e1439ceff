/** Where in a recording the power is lost, and what has to be there then. Pure. */
import { type Diary, newDiary } from '../works.js';
import type { Expected } from './judge.js';
import type { Recording } from './record.js';

export interface Point extends Expected {
  /** A place of the trace. */
  readonly at: number;
}

/** One point in so many lies anywhere, and half of these while the gateway starts; the others where something was acknowledged just now. */
const ANYWHERE = 4;

type Recorded = Pick<Recording, 'trace' | 'moments' | 'last' | 'calls'>;

/** @param chance from 0 to 1, by seed */
export function pointOf({ trace, moments, last, calls }: Recorded, chance: () => number): Point {
  const { sent, length } = trace;
  // The answer that a moment tells of was sent before it, and so no later than what was sent last by then.
  const placed = moments.map((moment) => ({
    ...moment,
    at: sent.findLast(({ ms }) => ms <= moment.ms)?.at ?? length,
  }));
  const isAnywhere = chance() * ANYWHERE < 1;
  const moment = placed[Math.floor(chance() * placed.length)];
  const most = chance() < 0.5 ? (placed[0]?.at ?? length) : length;
  const at = isAnywhere || moment === undefined ? Math.floor(chance() * (most + 1)) : moment.at;
  const known = placed.findLast((one) => one.at <= at)?.diary ?? newDiary();
  const next = placed.find((one) => one.at > at);
  // Not the next itself: moments are known to a millisecond.
  const later = next && moments.find(({ ms }) => ms > next.ms + 1);
  const sentMs = sent.findLast((one) => one.at <= at)?.ms ?? 0;
  return {
    at,
    diary: surely(known, later?.diary ?? last),
    // Those of the next millisecond may have come later.
    calls: calls.filter((call) => call.at + 1 <= sentMs),
  };
}

/**
 * What is certain between two moments.
 * @param known at the earlier one
 * @param later at the later one: what has changed by then may have been changed already
 */
function surely(known: Diary, later: Diary): Diary {
  const keys: Diary['keys'] = new Map(
    [...known.keys].map(([key, state]) => [key, later.keys.get(key) === state ? state : 'in doubt']),
  );
  const isTheSame = later.token.acknowledged === known.token.acknowledged && !later.token.isInDoubt;
  return {
    ...known,
    keys,
    name: { ...known.name, sent: later.name.sent },
    token: { ...known.token, isInDoubt: known.token.isInDoubt || !isTheSame },
  };
}
