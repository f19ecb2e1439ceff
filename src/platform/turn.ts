/**
 * What a call needs before it may be sent:
 *
 *   pause → circuit → the team's daily share → a turn in the budget → (pause and circuit again) → token → question
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
  /** Charges a call. @throws GatewayError `upstream_budget_exhausted` */
  take(team: string): Promise<void>;
  /** Of a call that was not made after all. */
  putBack(team: string): void;
}

/** A call that may be sent now: with what token, and what it asks. */
export interface Turn<Token, Question> {
  /** To be called when the call is over; more than once does no harm. */
  readonly release: () => void;
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
    // Before the wait: whoever has no share left must not hold up others in line, nor claim what they wait for.
    const charged = shares.take(team);
    await within(signal, () => charged).catch((error: unknown) => {
      // Whatever comes of it now: what was not charged need not be given back.
      if (signal.aborted) void charged.then(() => shares.putBack(team)).catch(() => {});
      throw asFailure(error, signal);
    });
    try {
      const turn = await waitForTurn(team, asked, signal);
      if (turn === null) shares.putBack(team);
      return turn;
    } catch (error) {
      shares.putBack(team);
      throw error;
    }
  };

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
      if (what !== null) return { release, active, what };
      release();
      return null;
    } catch (error) {
      release();
      throw asGatewayError(error);
    }
  }
}
