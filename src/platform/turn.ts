/**
 * What a call needs before it may be sent:
 *
 *   pause → circuit → a turn in the budget → (pause and circuit again) → token → question → the team's daily share
 *
 * The share is charged with the call that is made, and with nobody who waits: most of those who ask the same find,
 * when their turn comes, that nothing is left to be asked.
 */
import { asGatewayError, GatewayError } from '../errors.js';
import type { Budget } from './budget.js';
import type { Circuit } from './circuit.js';
import { within } from './deadline.js';
import { asFailure } from './failure.js';
import type { Pace } from './pace.js';
import type { Pause } from './pause.js';

/** How many calls a team may cause. */
export interface Shares {
  /** `upstream_budget_exhausted` when nothing is left of a team's share, as far as is known; else null. */
  exhausted(team: string): Promise<GatewayError | null>;
  /** Charges a call that is about to be made. @throws GatewayError `upstream_budget_exhausted` */
  take(team: string): Promise<Charge>;
}

export interface Charge {
  /** Of a call that was not made after all; to be called once. */
  putBack(): void;
}

/** A call that may be sent now: with what token, and what it asks. */
export interface Turn<Token, Question> {
  /** To be called when the call is over; more than once does no harm. */
  readonly release: () => void;
  readonly charge: Charge;
  readonly active: Token;
  readonly what: Question;
}

export interface TurnOptions<Token> {
  readonly pause: Pause;
  readonly circuit: Pick<Circuit, 'check'>;
  readonly shares: Shares;
  readonly budget: Budget;
  readonly pace: Pick<Pace, 'waitMs'>;
  readonly tokens: { current(): Token | Promise<Token> };
}

/**
 * @param team who the call is charged to
 * @param asked called when it is the call's turn; null when nothing is left to be asked
 * @returns null then: the turn went to the next in line, and the call was not charged
 * @throws GatewayError why the call may not be made; it was not charged
 */
export type TakeTurn<Token> = <Question>(
  team: string,
  asked: () => Promise<Question | null>,
  signal: AbortSignal,
) => Promise<Turn<Token, Question> | null>;

export function createTakeTurn<Token>(options: TurnOptions<Token>): TakeTurn<Token> {
  const { pause, circuit, shares, budget, pace, tokens } = options;
  const check = () => {
    pause.check();
    circuit.check();
  };

  return async function takeTurn(team, asked, signal) {
    check();
    const exhausted = await within(signal, () => shares.exhausted(team)).catch((error: unknown) => {
      throw asFailure(error, signal);
    });
    if (exhausted === null) return await waitForTurn(team, asked, signal);
    // Whoever has no share left must not hold up others in line. Somebody else may be asking the same all the same.
    if ((await within(signal, asked)) === null) return null;
    throw exhausted;
  };

  async function charge(team: string, signal: AbortSignal): Promise<Charge> {
    const charging = shares.take(team);
    return await within(signal, () => charging).catch((error: unknown) => {
      if (signal.aborted) void charging.then((late) => late.putBack()).catch(() => {});
      throw asFailure(error, signal);
    });
  }

  /** Time that ran out while the platform's pace held up everybody is the platform's limit, not its slowness. */
  function whyNoTurn(error: GatewayError): GatewayError {
    const waitMs = pace.waitMs();
    if (error.code !== 'upstream_timeout' || waitMs === 0) return error;
    return new GatewayError('upstream_rate_limited', { retryAfterS: Math.ceil(waitMs / 1000), cause: error });
  }

  /** Whoever waited looks again whether the platform may be asked. */
  async function waitForTurn<Question>(
    team: string,
    asked: () => Promise<Question | null>,
    signal: AbortSignal,
  ): Promise<Turn<Token, Question> | null> {
    const release = await budget.acquire(team, signal).catch((error: unknown) => {
      throw whyNoTurn(asFailure(error, signal));
    });
    try {
      check();
      const active = await within(signal, async () => tokens.current());
      const what = await within(signal, asked);
      if (what !== null) return { release, active, what, charge: await charge(team, signal) };
      release();
      return null;
    } catch (error) {
      release();
      throw asGatewayError(error);
    }
  }
}
