import { GatewayError } from '../../src/errors.js';

/** The error a function throws. @throws what it threw when that is no GatewayError, or an error when it threw nothing */
export function thrownBy(act: () => unknown): GatewayError {
  try {
    act();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

/** Its code, or null when it throws nothing. */
export function codeOf(act: () => unknown): string | null {
  try {
    act();
    return null;
  } catch (error) {
    if (error instanceof GatewayError) return error.code;
    throw error;
  }
}
