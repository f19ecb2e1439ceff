/**
 * What is reserved of a day, in the store that all replicas share: one durable step for each write, before anything is
 * sent. What becomes of it is written down afterwards; until then it is charged.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import { GatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import { recordForm } from '../../lib/record.js';
import { repeat } from '../../lib/repeat.js';
import { dayAt, isoDay } from '../../reports/query/days.js';
import type { Charge, ChargeAnswer, ChargeAsk, Charges } from '../../store/charges-port.js';
import { type Leases, StoreUnavailable } from '../../store/port.js';
import { teamOfName } from '../team-life.js';
import { guardUnavailable, type Reservation, type Reservations } from './types.js';

// Tells the store what became of charges, and goes on trying while it does not answer.

/** Its end; or one that stays open, with what is known of it, and whole, for the store may have lost it meanwhile. */
type Ending = { readonly how: 'kept' | 'back' } | { readonly anew: ChargeAsk };

interface Endings {
  /** Never rejects: what the store does not take now is tried again behind the caller's back. */
  write(id: string, ending: Ending): Promise<void>;
  /** The same, but not now: the store has just failed. */
  writeLater(id: string, ending: Ending): void;
  /** Tries what is left once more. What the store does not take then stays charged, and is listed as unknown. */
  settled(): Promise<void>;
}

interface EndingsOptions {
  readonly charges: Pick<Charges, 'charge' | 'end' | 'note'>;
  readonly logger: Logger;
}

const AGAIN_MS = 2_000;
/** So many wait for the store at most; as many charges may be open. */
const WAITING_MAX = 10_000;

function createEndings({ charges, logger }: EndingsOptions): Endings {
  const waiting = new Map<string, Ending>();

  /** A write that nobody knows the outcome of must not be lost with its charge; one that was settled is not charged anew. */
  async function putBack(charge: ChargeAsk): Promise<void> {
    const { kind } = await charges.charge(charge);
    if (kind === 'made')
      logger.warn(
        { charge: charge.id },
        'the store had lost a write of unknown outcome; it is charged and listed again',
      );
  }

  /** @returns whether the store took it */
  async function attempt(id: string, ending: Ending): Promise<boolean> {
    try {
      if ('how' in ending) await charges.end(id, ending.how);
      else if (!(await charges.note(id, ending.anew.note))) await putBack(ending.anew);
      return true;
    } catch (error) {
      if (!(error instanceof StoreUnavailable))
        logger.error({ err: error, charge: id }, 'what became of a guarded write could not be written down');
      return false;
    }
  }

  /** One after the other, until the store does not answer. */
  async function attemptAll(): Promise<void> {
    for (const [id, ending] of waiting) {
      if (!(await attempt(id, ending))) return;
      waiting.delete(id);
    }
  }

  const again = repeat(AGAIN_MS, attemptAll);

  function writeLater(id: string, ending: Ending): void {
    if (waiting.size === 0)
      logger.warn('the store does not take what became of guarded writes; trying again until it does');
    if (waiting.size < WAITING_MAX) waiting.set(id, ending);
    else logger.error({ charge: id }, 'what became of a guarded write is not written down: too many wait');
  }

  return {
    async write(id, ending) {
      if (!(await attempt(id, ending))) writeLater(id, ending);
    },
    writeLater,
    async settled() {
      await again.stop();
      await attemptAll();
      if (waiting.size === 0) return;
      logger.error(
        { charges: waiting.size },
        'the store did not take what became of guarded writes: they stay charged, and are listed as unknown',
      );
    },
  };
}

// Which charges are of writes whose outcome nobody knows. Pure.

/** A guarded write that stays charged until somebody says whether it happened. */
interface UnknownWrite extends Reservation {
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

/** Days of which nothing is open are forgotten so long after the last charge to them. */
const PURSE_TTL_MS = 40 * 86_400_000;

interface ReservationsOptions {
  readonly charges: Charges;
  /** Those of the registry. */
  readonly leases: Pick<Leases, 'claim' | 'release'>;
  /** Wall time, with an operator's offset. */
  readonly now: () => number;
  /** Where the platform begins its day (IANA name). */
  readonly timezone: string;
  /** Longest time of a write, milliseconds: `platform.timeoutMs`. */
  readonly callMs: number;
  readonly logger: Logger;
  /** A team in its present life, as `nameInLife` writes it. Absent: the id. */
  readonly nameOf?: (team: string) => string;
}

/**
 * The others of {@link Reservations} never reject: the caller is owed the platform's answer. What the store does not take
 * is tried again, and until it is taken the amount stays charged.
 */
export interface ReservationBook extends Reservations {
  /** @returns writes of which nobody knows whether they happened, oldest first. @throws StoreUnavailable */
  unknown(): Promise<UnknownWrite[]>;
  /**
   * Ends one of {@link unknown}: it stays charged, or is given back to its day.
   * @param note called before, when it is certain which one it is and that nobody else settles it
   * @throws GatewayError `not_found` for one that is not unknown (any more), `conflict` while another settles it, or when it became known;
   *   StoreUnavailable; whatever `note` throws, and then nothing is done
   */
  settle(
    id: string,
    outcome: 'happened' | 'not',
    note: (write: UnknownWrite) => Promise<void>,
  ): Promise<UnknownWrite>;
  /** Waits for what is still to be written down, as far as the store takes it now. */
  settled(): Promise<void>;
}

export function createReservations(options: ReservationsOptions): ReservationBook {
  const { charges, leases, now, timezone, callMs, logger, nameOf = (team) => team } = options;
  const endings = createEndings({ charges, logger });
  const today = () => isoDay(dayAt(now(), timezone));

  async function listUnknown(): Promise<UnknownWrite[]> {
    const found = (await charges.open()).map((charge) => unknownWrite(charge, now(), callMs));
    return found.filter((one) => one !== null).sort((one, other) => one.atMs - other.atMs);
  }

  /** @throws GatewayError when it is not certain that the charge is made, and will last */
  async function charge(ask: ChargeAsk): Promise<ChargeAnswer> {
    const { id } = ask;
    let answer: ChargeAnswer;
    try {
      answer = await charges.charge(ask);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      if (error.why === 'no-room') throw guardUnavailable(NO_ROOM, error);
      // It may have been charged all the same: nothing is sent, so it is to be taken back.
      endings.writeLater(id, { how: 'back' });
      throw guardUnavailable(AWAY, error);
    }
    if (answer.kind !== 'made' || answer.unconfirmed === undefined) return answer;
    await endings.write(id, { how: 'back' });
    throw guardUnavailable(NOT_CONFIRMED);
  }

  return {
    async reserve({ max, currency = null, ...write }) {
      const team = nameOf(write.team);
      const reservation = { id: randomId(), ...write, team, currency, day: today(), atMs: now() };
      const ask = chargeOf(reservation);
      const { kind, charged } = await charge({ ...ask, max: max ?? Number.MAX_SAFE_INTEGER });
      if (kind === 'made') return { kind: 'reserved', reservation };
      if (max !== null) return { kind: 'over', day: reservation.day, left: max - charged };
      // More than can be counted, on a day that has no limit: it is not counted, and noted all the same.
      await charge({ ...ask, amount: 0, max: Number.MAX_SAFE_INTEGER });
      return { kind: 'reserved', reservation };
    },
    giveBack: ({ id }) => endings.write(id, { how: 'back' }),
    keep: ({ id }) => endings.write(id, { how: 'kept' }),
    keepUnknown: (reservation, why) =>
      endings.write(reservation.id, { anew: { ...chargeOf(reservation), note: noteOf(reservation, why) } }),
    async left(team, route, max) {
      const day = today();
      try {
        const charged = await charges.charged(purseOf({ team: nameOf(team), route, day }));
        return { day, left: max - charged };
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        throw guardUnavailable('What is left of the day cannot be read: the store does not answer.', error);
      }
    },
    unknown: listUnknown,
    async settle(id, outcome, note) {
      const [lease, owner] = [`settle:${id}`, randomId()];
      const [isMine] = await leases.claim([lease], owner, SETTLE_LEASE_MS);
      if (isMine !== true) throw new GatewayError('conflict', { detail: SETTLED_BY_ANOTHER });
      try {
        const write = (await listUnknown()).find((one) => one.id === id);
        if (write === undefined) throw new GatewayError('not_found', { detail: NOT_LISTED });
        await note(write);
        if (await charges.end(id, outcome === 'happened' ? 'kept' : 'back')) return write;
        throw new GatewayError('conflict', { detail: KNOWN_MEANWHILE });
      } finally {
        // It ends by itself where the store is away.
        await leases.release([lease], owner).catch(() => {});
      }
    },
    settled: endings.settled,
  };
}

/** What is charged for a write. A day without a limit counts, too, for it may be given one before it is over. */
function chargeOf({ id, team, route, day, ...noted }: Reservation): ChargeAsk {
  const purse = purseOf({ team, route, day });
  const [amount, max] = [noted.amount ?? 0, Number.MAX_SAFE_INTEGER];
  return { id, purse, amount, max, note: noteOf(noted), ttlMs: PURSE_TTL_MS };
}

/**
 * Longer than a settlement takes: three calls of the store. What is charged does not hang on it, for a charge is ended
 * once: two who settle the same after it has lapsed leave two lines in the audit, and the later one is told `conflict`.
 * Whoever dies while settling holds up others for so long.
 */
const SETTLE_LEASE_MS = 30_000;

const AWAY =
  'The store that counts what writes may cost a day does not answer, so nothing was sent to the platform.';
const NO_ROOM =
  'The store that counts what writes may cost a day has no room for another one, so nothing was sent to the platform. Its memory or disk is full, or too many writes of unknown outcome wait to be settled.';
const NOT_CONFIRMED =
  'Too few replicas of the store have confirmed what this write may cost, so nothing was sent to the platform.';
const SETTLED_BY_ANOTHER = 'Somebody else is just settling this write; look whether that was done.';
const KNOWN_MEANWHILE = 'The outcome of this write became known meanwhile, and was written down.';
const NOT_LISTED =
  'No write of unknown outcome has this id: it was settled, or its outcome became known, or its call may still be under way.';
