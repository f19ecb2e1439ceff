import { EXIT } from './exit-codes.js';

/** Thrown with lines for standard error; ends the command with a code of its own. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;
  /** @param message empty when the command has said everything already */
  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Nobody answers at the gateway's address. */
export class Unreachable extends CommandError {
  constructor(message: string) {
    super(message, EXIT.unavailable);
  }
}
