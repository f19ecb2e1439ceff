/** Which charges are of writes whose outcome nobody knows. Pure. */
import Type from 'typebox';
import { recordForm } from '../../lib/record.js';
import type { Charge } from '../../store/charges-port.js';
import { teamOfName } from '../team-life.js';
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
    /** What the write names; absent in notes of releases that had no other amounts than those charged. */
    amount: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
    currency: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  }),
);

/** What is noted of a write; the rest is the charge's. */
type Noted = Pick<Reservation, 'atMs' | 'amount' | 'currency'>;

/** A write is answered, or given up, within the time limit of calls; and a little later that is written down. */
const SETTLE_MS = 10_000;
const WHY_MAX = 300;

const UNREADABLE: ReturnType<typeof Note.parse> & object = { atMs: 0, why: 'its record cannot be read' };
const NOT_WRITTEN_DOWN = 'the gateway ended, or lost its store, before it was written down';

/** @returns the purse that a team's writes of one route are charged to on one day */
export function purseOf({ team, route, day }: Pick<Reservation, 'team' | 'route' | 'day'>): string {
  return JSON.stringify([team, route, day]);
}

/** @param why absent while the call may be under way */
export function noteOf({ atMs, amount, currency }: Noted, why?: string): string {
  return JSON.stringify({ atMs, why: why?.slice(0, WHY_MAX), amount, currency });
}

/**
 * @param callMs longest time of a call
 * @returns null while its call may be under way. A charge that cannot be read is of another release, and unknown here
 */
export function unknownWrite(
  { id, purse, amount: charged, note }: Charge,
  nowMs: number,
  callMs: number,
): UnknownWrite | null {
  const [name, route, day] = Purse.parse(purse) ?? ['', '', ''];
  const { atMs, why, amount = charged, currency = null } = Note.parse(note) ?? UNREADABLE;
  if (why === undefined && nowMs - atMs < callMs + SETTLE_MS) return null;
  const team = teamOfName(name);
  return { id, team, route, day, amount, currency, atMs, why: why ?? NOT_WRITTEN_DOWN };
}
