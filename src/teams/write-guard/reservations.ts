/**
 * Reservations of a day's budget, in the store that all replicas share: one durable step for each write, before anything
 * is sent. The outcome of the write is recorded afterwards; until then its amount is charged.
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

export interface ReserveAsk {
  readonly team: string;
  /** E.g. `POST /api/v1/campaign/create`. */
  readonly route: string;
  /** Millionths of the rule's currency, a safe integer; null where the rule has no budget. */
  readonly amount: number | null;
  /** The rule's limit for a day, in the same unit; null: none. */
  readonly max: number | null;
  readonly currency?: string | undefined;
}

export interface Reservation {
  readonly id: string;
  /** While the write is under way in the life it was reserved in, as `nameInLife` writes it; its id where it is listed. */
  readonly team: string;
  readonly route: string;
  /** The day it is taken from, e.g. `2026-11-23`, by `platform.timezone`. */
  readonly day: string;
  /** null where the rule has no budget. */
  readonly amount: number | null;
  /** null where the rule names none. */
  readonly currency: string | null;
  readonly atMs: number;
}

/** A guarded write that stays charged until an operator records its outcome. */
interface UnknownWrite extends Reservation {
  /** For operators. */
  readonly why: string;
}

/** `left` is what the day still allows, in the unit of the ask; below 0 where the limit was lowered since. */
type Reserved =
  | { readonly kind: 'reserved'; readonly reservation: Reservation }
  | { readonly kind: 'over'; readonly day: string; readonly left: number };

/** @param detail the unknown fact, for the caller */
export function guardUnavailable(detail: string, cause?: unknown): GatewayError {
  return new GatewayError('write_guard_unavailable', { detail, retryAfterS: 5, cause });
}

export type ReservationBook = ReturnType<typeof createReservations>;
/** The part of the book that a write uses. */
export type Reservations = Pick<ReservationBook, 'reserve' | 'giveBack' | 'keep' | 'keepUnknown' | 'left'>;

export function createReservations({
  charges,
  leases,
  now,
  timezone,
  callMs,
  logger,
  nameOf = (team) => team,
}: {
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
}) {
  const outcomes = new Outcomes(charges, logger);
  const today = () => isoDay(dayAt(now(), timezone));

  async function unknown(): Promise<UnknownWrite[]> {
    const found = (await charges.open()).map((charge) => unknownWrite(charge, now(), callMs));
    return found.filter((one) => one !== null).sort((one, other) => one.atMs - other.atMs);
  }

  return {
    /**
     * Atomically and durably, before anything is sent; also where the day has no limit, so that its outcome can be
     * recorded. @throws GatewayError `write_guard_unavailable`
     */
    async reserve({ max, currency, ...write }: ReserveAsk): Promise<Reserved> {
      const team = nameOf(write.team);
      const at = { day: today(), atMs: now() };
      const reservation = { id: randomId(), ...write, team, currency: currency ?? null, ...at };
      const ask = chargeOf(reservation);
      const whole = { ...ask, max: max ?? Number.MAX_SAFE_INTEGER };
      const { kind, charged } = await makeCharge(whole, charges, outcomes);
      if (kind === 'made') return { kind: 'reserved', reservation };
      if (max !== null) return { kind: 'over', day: reservation.day, left: max - charged };
      // Too large to count, on a day without limit: noted, but not counted.
      await makeCharge({ ...ask, amount: 0, max: Number.MAX_SAFE_INTEGER }, charges, outcomes);
      return { kind: 'reserved', reservation };
    },
    // These three never reject: the caller is owed the platform's answer. What the store does not take is tried again,
    // and the amount stays charged until it is taken.
    /** The platform certainly did not act: the amount goes back to its day. */
    giveBack: ({ id }: Reservation): Promise<void> => outcomes.record(id, { how: 'back' }),
    /** The platform answered that it acted. */
    keep: ({ id }: Reservation): Promise<void> => outcomes.record(id, { how: 'kept' }),
    /** The outcome is unknown: the amount stays charged, and is listed until settled. */
    keepUnknown: (write: Reservation, why: string): Promise<void> =>
      outcomes.record(write.id, { anew: { ...chargeOf(write), note: noteOf(write, why) } }),
    /** As {@link Reserved} tells it. @throws GatewayError `write_guard_unavailable` */
    async left(
      team: string,
      route: string,
      max: number,
    ): Promise<{ readonly day: string; readonly left: number }> {
      const day = today();
      try {
        const charged = await charges.charged(purseOf({ team: nameOf(team), route, day }));
        return { day, left: max - charged };
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        throw guardUnavailable(
          'The store does not respond, so the remaining budget of the day is unknown.',
          error,
        );
      }
    },
    /** @returns writes of unknown outcome, oldest first. @throws StoreUnavailable */
    unknown,
    /**
     * Ends one of {@link unknown}: it stays charged, or is given back to its day.
     * @param note called first, once the write is found and locked
     * @throws GatewayError `not_found` for one that is not unknown (any more), `conflict` while another settles it, or when it became known;
     *   StoreUnavailable; whatever `note` throws, and then nothing is done
     */
    async settle(
      id: string,
      outcome: 'happened' | 'not',
      note: (write: UnknownWrite) => Promise<void>,
    ): Promise<UnknownWrite> {
      const [lease, owner] = [`settle:${id}`, randomId()];
      const [isMine] = await leases.claim([lease], owner, SETTLE_LEASE_MS);
      if (isMine !== true) throw new GatewayError('conflict', { detail: SETTLED_BY_ANOTHER });
      try {
        const write = (await unknown()).find((one) => one.id === id);
        if (write === undefined) throw new GatewayError('not_found', { detail: NOT_LISTED });
        await note(write);
        if (await charges.end(id, outcome === 'happened' ? 'kept' : 'back')) return write;
        throw new GatewayError('conflict', { detail: KNOWN_MEANWHILE });
      } finally {
        // Expires by itself if the store is unavailable.
        await leases.release([lease], owner).catch(() => {});
      }
    },
    /** Waits for outcomes that are still to be recorded, as far as the store takes them now. */
    settled: (): Promise<void> => outcomes.settled(),
  };
}

/** @throws GatewayError when it is not certain that the charge is made, and will last */
async function makeCharge(ask: ChargeAsk, charges: Charges, outcomes: Outcomes): Promise<ChargeAnswer> {
  let answer: ChargeAnswer;
  try {
    answer = await charges.charge(ask);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    if (error.why === 'no-room') throw guardUnavailable(NO_ROOM, error);
    // It may have been charged; nothing is sent, so the charge is returned.
    outcomes.recordLater(ask.id, { how: 'back' });
    throw guardUnavailable(AWAY, error);
  }
  if (answer.kind !== 'made' || answer.unconfirmed === undefined) return answer;
  await outcomes.record(ask.id, { how: 'back' });
  throw guardUnavailable(NOT_CONFIRMED);
}

/** Days without an open charge are forgotten so long after the last charge to them. */
const PURSE_TTL_MS = 40 * 86_400_000;

/** The charge of a write. A day without a limit counts, too: it may get one before it is over. */
function chargeOf({ id, team, route, day, ...noted }: Reservation): ChargeAsk {
  const purse = purseOf({ team, route, day });
  const [amount, max] = [noted.amount ?? 0, Number.MAX_SAFE_INTEGER];
  return { id, purse, amount, max, note: noteOf(noted), ttlMs: PURSE_TTL_MS };
}

/**
 * Longer than a settlement takes: three calls of the store. The charge does not depend on it, for a charge is ended
 * once: two who settle the same after it has lapsed leave two lines in the audit, and the later one is told `conflict`.
 * A process that dies while settling holds up others for so long.
 */
const SETTLE_LEASE_MS = 30_000;

const AWAY = 'The store of write budgets does not respond. Nothing was sent to the platform.';
const NO_ROOM =
  'The store of write budgets is full (memory, disk, or too many unsettled unknown writes). Nothing was sent to the platform.';
const NOT_CONFIRMED =
  'Too few store replicas confirmed the charge of this write. Nothing was sent to the platform.';
const SETTLED_BY_ANOTHER = 'Another request is settling this write; check the result.';
const KNOWN_MEANWHILE = 'The outcome of this write has become known and was recorded.';
const NOT_LISTED =
  'There is no unknown write with this id: it was settled, its outcome became known, or its call is still running.';

/** The end of a charge; or a complete open charge, because the store may have lost it. */
type Outcome = { readonly how: 'kept' | 'back' } | { readonly anew: ChargeAsk };

const AGAIN_MS = 2_000;
/** So many wait for the store at most; as many charges may be open. */
const WAITING_MAX = 10_000;

/** Records outcomes in the store, and retries while it does not respond. */
class Outcomes {
  readonly #charges: Pick<Charges, 'charge' | 'end' | 'note'>;
  readonly #logger: Logger;
  readonly #waiting = new Map<string, Outcome>();
  readonly #again = repeat(AGAIN_MS, () => this.#attemptAll());

  constructor(charges: Pick<Charges, 'charge' | 'end' | 'note'>, logger: Logger) {
    this.#charges = charges;
    this.#logger = logger;
  }

  /** Never rejects: what the store does not take now is tried again behind the caller's back. */
  async record(id: string, outcome: Outcome): Promise<void> {
    if (!(await this.#attempt(id, outcome))) this.recordLater(id, outcome);
  }

  /** The same, but not now: the store has just failed. */
  recordLater(id: string, outcome: Outcome): void {
    if (this.#waiting.size === 0)
      this.#logger.warn('failed to record outcomes of guarded writes; retrying until the store answers');
    if (this.#waiting.size < WAITING_MAX) this.#waiting.set(id, outcome);
    else this.#logger.error({ charge: id }, 'dropped the outcome of a guarded write: too many wait');
  }

  /** Tries the waiting outcomes once more. Those that the store does not take stay charged, and are listed as unknown. */
  async settled(): Promise<void> {
    await this.#again.stop();
    await this.#attemptAll();
    const charges = this.#waiting.size;
    if (charges === 0) return;
    this.#logger.error(
      { charges },
      'could not record outcomes of guarded writes: they stay charged, and are listed as unknown',
    );
  }

  /** One after the other, until the store does not answer. */
  async #attemptAll(): Promise<void> {
    for (const [id, outcome] of this.#waiting) {
      if (!(await this.#attempt(id, outcome))) return;
      this.#waiting.delete(id);
    }
  }

  /** @returns whether the store took it */
  async #attempt(id: string, outcome: Outcome): Promise<boolean> {
    try {
      if ('how' in outcome) await this.#charges.end(id, outcome.how);
      else if (!(await this.#charges.note(id, outcome.anew.note))) await this.#restore(outcome.anew);
      return true;
    } catch (error) {
      if (!(error instanceof StoreUnavailable))
        this.#logger.error({ err: error, charge: id }, 'failed to record the outcome of a guarded write');
      return false;
    }
  }

  /** An unknown write must not be lost with its charge; a settled one is not charged again. */
  async #restore(charge: ChargeAsk): Promise<void> {
    const { kind } = await this.#charges.charge(charge);
    if (kind === 'made')
      this.#logger.warn({ charge: charge.id }, 'restored a write of unknown outcome that the store had lost');
  }
}

// Stored texts: the name of a purse, and a note beside each open charge.

const Purse = recordForm(Type.Tuple([Type.String(), Type.String(), Type.String()]));

const Note = recordForm(
  Type.Object({
    /** Epoch milliseconds. */
    atMs: Type.Number(),
    /** Set once it is known that the outcome is not. */
    why: Type.Optional(Type.String()),
    /** Amount of the write; absent in notes of releases that only had charged amounts. */
    amount: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
    currency: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  }),
);

/** A write is answered, or given up, within the time limit of calls; a little later its outcome is recorded. */
const SETTLE_MS = 10_000;
const WHY_MAX = 300;

const UNREADABLE: ReturnType<typeof Note.parse> & object = { atMs: 0, why: 'its record is unreadable' };
const NOT_RECORDED = 'the gateway stopped or lost its store before recording the outcome';

/** @returns the purse that a team's writes of one route are charged to on one day */
export function purseOf({ team, route, day }: Pick<Reservation, 'team' | 'route' | 'day'>): string {
  return JSON.stringify([team, route, day]);
}

/** @param why absent while the call may be running */
export function noteOf(
  { atMs, amount, currency }: Pick<Reservation, 'atMs' | 'amount' | 'currency'>,
  why?: string,
): string {
  return JSON.stringify({ atMs, why: why?.slice(0, WHY_MAX), amount, currency });
}

/**
 * @param callMs longest time of a call
 * @returns null while its call may be running. An unreadable charge is from another release, and counts as unknown
 */
export function unknownWrite(
  { id, purse, amount: charged, note }: Charge,
  nowMs: number,
  callMs: number,
): UnknownWrite | null {
  const [name, route, day] = Purse.parse(purse) ?? ['', '', ''];
  const { atMs, why, amount = charged, currency = null } = Note.parse(note) ?? UNREADABLE;
  if (why === undefined && nowMs - atMs < callMs + SETTLE_MS) return null;
  return { id, team: teamOfName(name), route, day, amount, currency, atMs, why: why ?? NOT_RECORDED };
}
