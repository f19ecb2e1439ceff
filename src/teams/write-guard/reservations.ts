/**
 * Reservations of a day's budget in the store: one durable charge per write, before anything is sent. The outcome is
 * recorded afterwards; until then the amount stays charged.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import { GatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import { recordForm } from '../../lib/record.js';
import { repeat } from '../../lib/repeat.js';
import { dayAt, isoDay } from '../../reports/query/days.js';
import type { Charge, ChargeAnswer, ChargeAsk, Charges } from '../../store/charges-port.js';
import { type Leases, StoreUnavailable, whenAway } from '../../store/port.js';
import { teamOfName } from '../auth/team.js';

export interface ReserveAsk {
  readonly team: string;
  /** E.g. `POST /api/v1/campaign/create`. */
  readonly route: string;
  /** Millionths of the rule's currency, a safe integer; null: the rule has no budget. */
  readonly amount: number | null;
  /** Daily limit in millionths; null: none. */
  readonly max: number | null;
  readonly currency?: string | undefined;
}

export interface Reservation {
  readonly id: string;
  /** As `nameInLife` writes it during the write; the id in lists. */
  readonly team: string;
  readonly route: string;
  /** The charged day, e.g. `2026-11-23`, by `platform.timezone`. */
  readonly day: string;
  /** Null: the rule has no budget. */
  readonly amount: number | null;
  /** Null: the rule has no currency. */
  readonly currency: string | null;
  readonly atMs: number;
}

/** A guarded write that stays charged until an operator records its outcome. */
interface UnknownWrite extends Reservation {
  /** For operators. */
  readonly why: string;
}

/** `left`: rest of the day in millionths; below 0 if the limit was lowered. */
type Reserved =
  | { readonly kind: 'reserved'; readonly reservation: Reservation }
  | { readonly kind: 'over'; readonly day: string; readonly left: number };

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
  readonly leases: Pick<Leases, 'claim' | 'release'>;
  readonly now: () => number;
  /** Of the platform's day, IANA name. */
  readonly timezone: string;
  /** Maximum time of a write: `platform.timeoutMs`. */
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
     * Atomically and durably, even without a daily limit, so that the outcome can be recorded.
     * @throws GatewayError `write_guard_unavailable`
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
      // Too large to count, on a day without limit.
      await makeCharge({ ...ask, amount: 0, max: Number.MAX_SAFE_INTEGER }, charges, outcomes);
      return { kind: 'reserved', reservation };
    },
    // These three never reject, as the caller must get the platform's answer. The store is retried; the amount stays charged
    // until then.
    /** The platform has certainly not executed the write: the amount returns to its day. */
    giveBack: ({ id }: Reservation): Promise<void> => outcomes.record(id, { how: 'back' }),
    /** The platform has executed the write. */
    keep: ({ id }: Reservation): Promise<void> => outcomes.record(id, { how: 'kept' }),
    /** The outcome is unknown: the amount stays charged, and the write is listed until settled. */
    keepUnknown: (write: Reservation, why: string): Promise<void> =>
      outcomes.record(write.id, { anew: { ...chargeOf(write), note: noteOf(write, why) } }),
    /** See {@link Reserved}. @throws GatewayError `write_guard_unavailable` */
    async left(
      team: string,
      route: string,
      max: number,
    ): Promise<{ readonly day: string; readonly left: number }> {
      const day = today();
      const charged = await charges.charged(purseOf({ team: nameOf(team), route, day })).catch(
        whenAway((error): never => {
          throw guardUnavailable(
            'The store does not respond, so the remaining budget of the day is unknown.',
            error,
          );
        }),
      );
      return { day, left: max - charged };
    },
    /** @returns writes of unknown outcome, oldest first. @throws StoreUnavailable */
    unknown,
    /**
     * Records the outcome of an unknown write: its amount stays charged, or returns to its day.
     * @param note called before, when the write is found and locked; its errors prevent the settlement
     * @throws GatewayError `not_found` if the write is not unknown; `conflict` if another request settles it, or it becomes
     *   known; StoreUnavailable
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
    /** Tries once more to record waiting outcomes. */
    settled: (): Promise<void> => outcomes.settled(),
  };
}

/** @throws GatewayError if it is not certain that the charge is durable */
async function makeCharge(ask: ChargeAsk, charges: Charges, outcomes: Outcomes): Promise<ChargeAnswer> {
  const answer = await charges.charge(ask).catch(
    whenAway((error): never => {
      if (error.why === 'no-room') throw guardUnavailable(NO_ROOM, error);
      // It may have been charged; nothing is sent, so the charge is returned.
      outcomes.recordLater(ask.id, { how: 'back' });
      throw guardUnavailable(AWAY, error);
    }),
  );
  if (answer.kind !== 'made' || answer.unconfirmed === undefined) return answer;
  await outcomes.record(ask.id, { how: 'back' });
  throw guardUnavailable(NOT_CONFIRMED);
}

/** Retention of a day without open charges, after its last charge. */
const PURSE_TTL_MS = 40 * 86_400_000;

/** The charge of a write, also of a day without a limit, which may get one. */
function chargeOf({ id, team, route, day, ...noted }: Reservation): ChargeAsk {
  const purse = purseOf({ team, route, day });
  const [amount, max] = [noted.amount ?? 0, Number.MAX_SAFE_INTEGER];
  return { id, purse, amount, max, note: noteOf(noted), ttlMs: PURSE_TTL_MS };
}

/**
 * Longer than a settlement, which has three store calls. After expiry, a second settlement adds an audit line and fails with
 * `conflict`, as a charge ends once. A process that dies while settling blocks others for this time.
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
/** Maximum waiting outcomes, equal to the maximum of open charges. */
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

  /** Never rejects: a failure is retried in the background. */
  async record(id: string, outcome: Outcome): Promise<void> {
    if (!(await this.#attempt(id, outcome))) this.recordLater(id, outcome);
  }

  /** Without a first attempt, as the store has just failed. */
  recordLater(id: string, outcome: Outcome): void {
    if (this.#waiting.size === 0)
      this.#logger.warn('failed to record outcomes of guarded writes; retrying until the store answers');
    if (this.#waiting.size < WAITING_MAX) this.#waiting.set(id, outcome);
    else this.#logger.error({ charge: id }, 'dropped the outcome of a guarded write: too many wait');
  }

  /** Retries once. Unrecorded writes stay charged, and are listed as unknown. */
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

  /** Stops at the first failure. */
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

// Stored texts: the name of a purse, and the note of an open charge.

const Purse = recordForm(Type.Tuple([Type.String(), Type.String(), Type.String()]));

const Note = recordForm(
  Type.Object({
    /** Epoch milliseconds. */
    atMs: Type.Number(),
    /** Why the outcome is unknown. */
    why: Type.Optional(Type.String()),
    /** Absent in notes of older releases, which had only charged amounts. */
    amount: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
    currency: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  }),
);

/** Time to record an outcome after the time limit of calls. */
const SETTLE_MS = 10_000;
const WHY_MAX = 300;

const UNREADABLE: ReturnType<typeof Note.parse> & object = { atMs: 0, why: 'its record is unreadable' };
const NOT_RECORDED = 'the gateway stopped or lost its store before recording the outcome';

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

/** @returns null while the call may be running. An unreadable charge is from another release, and counts as unknown */
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
