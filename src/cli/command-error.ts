/** How a command ends: its exit code, and the lines for standard error. The high codes are those of sysexits(3). */

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
  [0, 'done'],
  [EXIT.warning, 'something failed that has no code of its own; of status and doctor: there is a warning'],
  [EXIT.notWell, 'of status and doctor: the gateway is not well, or cannot be reached'],
  [EXIT.notFound, 'there is no such team, key, pin, write or route, or nothing was known then'],
  [EXIT.conflict, 'the present state does not allow it: a conflict, or a token that could not be verified'],
  [
    EXIT.usage,
    'the command line is wrong: an unknown command or option, one that is missing or given twice, two that exclude each other',
  ],
  [EXIT.data, 'a value or a file is wrong; standard error names the place and what is allowed'],
  [EXIT.unavailable, 'the gateway cannot be reached, or cannot do this now'],
  [EXIT.output, 'standard output cannot be written, e.g. the disk is full'],
  [EXIT.denied, 'the admin token or the team key is missing, wrong, or may not do this'],
  [EXIT.settings, "the gateway's settings are wrong"],
];

/** @returns the exit code for a problem that a gateway answered with */
export function exitCodeOf(status: number): number {
  if (status === 401 || status === 403) return EXIT.denied;
  if (status === 404) return EXIT.notFound;
  if (status === 409) return EXIT.conflict;
  return status >= 400 && status < 500 && status !== 408 && status !== 429 ? EXIT.data : EXIT.unavailable;
}

/** Thrown with lines for standard error; ends the command with a code of its own. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;
  /** @param message empty when the command has printed everything already */
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
