/** Exit codes and errors of commands. Codes from 64 are those of sysexits(3). */

export const EXIT = {
  warning: 1,
  notWell: 2,
  notFound: 3,
  conflict: 4,
  usage: 64,
  data: 65,
  unavailable: 69,
  output: 74,
  denied: 77,
  settings: 78,
} as const;

export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [0, 'success'],
  [EXIT.warning, 'other failure; status and doctor: a warning'],
  [EXIT.notWell, 'status and doctor: the gateway is not well or unreachable'],
  [
    EXIT.notFound,
    'no such team, key, pin, write or route, or no recorded data; changes: the offset is no longer kept',
  ],
  [EXIT.conflict, 'conflict with the current state, or the token could not be verified'],
  [EXIT.usage, 'wrong usage: unknown command, or an unknown, missing, repeated or conflicting option'],
  [EXIT.data, 'invalid value or file; see standard error'],
  [EXIT.unavailable, 'the gateway is unreachable or temporarily unable'],
  [EXIT.output, 'standard output cannot be written, e.g. full disk'],
  [EXIT.denied, 'admin token, session or team key missing, wrong, ended or not permitted'],
  [EXIT.settings, 'invalid settings'],
];

export function exitCodeOf(status: number): number {
  if (status === 401 || status === 403) return EXIT.denied;
  if (status === 404 || status === 410) return EXIT.notFound;
  if (status === 409) return EXIT.conflict;
  return status >= 400 && status < 500 && status !== 408 && status !== 429 ? EXIT.data : EXIT.unavailable;
}

/** Ends the command with this message on standard error and this exit code. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;
  /** @param message empty if the command has printed everything already */
  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The gateway accepted the call and did not answer. */
export class Unanswered extends CommandError {
  constructor(message: string) {
    super(message, EXIT.unavailable);
  }
}

export class Unreachable extends CommandError {
  constructor(message: string) {
    super(message, EXIT.unavailable);
  }
}
