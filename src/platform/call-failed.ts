/** A request to the platform that came to nothing, and what may be done about it. */
import type { GatewayError } from '../errors.js';

/**
 * When another request may follow. `network`: the platform may or may not have acted, so reads alone, as often as the
 * settings say. `token`: it did nothing, so any read, once, where another token is there.
 */
export type Retry = 'never' | 'network' | 'token';

export interface RetryAdvice {
  /** How long the platform asked to wait, milliseconds; null when it did not say. */
  readonly waitMs?: number | null;
  /** Id of the token that the platform refused. */
  readonly refusedToken?: string;
}

export class CallFailed extends Error {
  override readonly name = 'CallFailed';

  /** @param error what a caller is shown when no other request follows */
  constructor(
    readonly error: GatewayError,
    readonly retry: Retry,
    readonly advice: RetryAdvice = {},
  ) {
    super(error.message, { cause: error });
  }
}
