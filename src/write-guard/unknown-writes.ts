/** Which charges are of writes whose outcome nobody knows. Pure. */
import Type from 'typebox';
import { recordForm } from '../record.js';
import type { Charge } from '../store/charges-port.js';
import type { Reservation } from './types.js';

/** A guarded write that stays charged until somebody says whether it happened. */
export interface UnknownWrite extends Reservation {
  /** What is known of it, for operators. */
  readonly why: string;
}

/** What a purse is called by. */
const Purse = recordForm(Type.Tuple([Type.String(), Type.String(), Type.String()]));

/** What is kept beside an open charge. */
const Note = recordForm(
  Type.Object({
    /** Epoch milliseconds. */
    atMs: Type.Number(),
    /** Set once it is known that the outcome is not. */
    why: Type.Optional(Type.String()),
  }),
);

/** A write is answered, or given up, within the time limit of calls; and a little later that is written down. */
const SETTLE_MS = 10_000;
const WHY_MAX = 300;

const NOT_WRITTEN_DOWN = 'the gateway ended, or lost its store, before it was written down';

/** @returns the purse that a team's writes of one route are charged to on one day */
export function purseOf({ team, route, day }: Pick<Reservation, 'team' | 'route' | 'day'>): string {
  return JSON.stringify([team, route, day]);
}

/** @param why absent while the call may be under way */
export function noteOf(atMs: number, why?: string): string {
  return JSON.stringify(why === undefined ? { atMs } : { atMs, why: why.slice(0, WHY_MAX) });
}

/**
 * @param callMs longest time of a call
 * @returns null while its call may be under way. A charge that cannot be read is of another release, and unknown here
 */
export function unknownWrite(
  { id, purse, amount, note }: Charge,
  nowMs: number,
  callMs: number,
): UnknownWrite | null {
  const [team, route, day] = Purse.parse(purse) ?? ['', '', ''];
  const { atMs, why } = Note.parse(note) ?? { atMs: 0, why: 'its record cannot be read' };
  if (why === undefined && nowMs - atMs < callMs + SETTLE_MS) return null;
  return { id, team, route, day, amount, atMs, why: why ?? NOT_WRITTEN_DOWN };
}
