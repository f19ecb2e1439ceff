/**
 * What a call needs before it may be sent:
 *
 *   pause → circuit → the team's share, as far as is known → a place in the queue → pause and circuit again → token
 *
 * The share is charged by `Slot.send`: whoever finds, with a slot in hand, that somebody else has the same under way
 * gives the slot back, and others of the team are not refused meanwhile for what nobody asks.
 */
import { asGatewayError, GatewayError } from '../errors.js';
import type { Budget } from './budget.js';
import { type CallDeadline, within } from './deadline.js';
import { asFailure } from './failure.js';
import type { Pace } from './pace.js';
import { openSlot, type SendOptions, type Slot } from './slot.js';
import type { ActiveToken } from './token-source.js';

export interface AcquireOptions extends Omit<SendOptions, 'tokens'> {
  readonly budget: Pick<Budget, 'acquire'>;
  readonly pace: SendOptions['pace'] & Pick<Pace, 'waitMs'>;
  readonly tokens: SendOptions['tokens'] & { current(): ActiveToken | Promise<ActiveToken> };
}

/**
 * @param team who the call is charged to
 * @throws GatewayError why the call may not be made: `upstream_rate_limited`, `upstream_circuit_open`,
 *   `upstream_budget_exhausted`, `overloaded`, `upstream_timeout`, `credential_unavailable`; then nothing is held
 */
export type Acquire = (team: string, deadline: CallDeadline) => Promise<Slot>;

export function createAcquire(options: AcquireOptions): Acquire {
  const { pause, circuit, shares, budget, tokens } = options;
  const check = () => {
    pause.check();
    circuit.check();
  };

  return async function acquire(team, deadline) {
    const { signal } = deadline;
    check();
    const exhausted = await within(signal, () => shares.exhausted(team)).catch((error: unknown) => {
      throw asFailure(error, signal);
    });
    // Whoever has no share left must not hold up others in line.
    if (exhausted !== null) throw exhausted;
    const leave = await budget.acquire(team, signal).catch((error: unknown) => {
      throw whyNoSlot(asFailure(error, signal), options.pace);
    });
    try {
      // Whoever waited looks again whether the platform may be asked.
      check();
      const active = await within(signal, async () => tokens.current());
      return openSlot({ team, active, deadline, leave }, options);
    } catch (error) {
      leave();
      throw asGatewayError(error);
    }
  };
}

/** Time that ran out while the platform's pace held up everybody is the platform's limit, not its slowness. */
function whyNoSlot(error: GatewayError, pace: AcquireOptions['pace']): GatewayError {
  const waitMs = pace.waitMs();
  if (error.code !== 'upstream_timeout' || waitMs === 0) return error;
  return new GatewayError('upstream_rate_limited', { retryAfterS: Math.ceil(waitMs / 1000), cause: error });
}
