/** Levels of `status` and `doctor`, as text and as exit codes. */
import { CommandError, EXIT } from './command-error.js';
import type { Terminal } from './terminal.js';

/** By level of the admin API. */
const LEVELS: Readonly<Record<string, readonly [shown: string, exitCode: number]>> = {
  well: ['WELL', 0],
  starting: ['STARTING', 0],
  warning: ['WARNING', EXIT.warning],
  'not well': ['NOT WELL', EXIT.notWell],
};

/** An unknown level, of a newer release, counts as not well. */
const levelOf = (level: string) => LEVELS[level] ?? [level.toUpperCase(), EXIT.notWell];

export interface ShownFinding {
  readonly level: string;
  readonly says: string;
  readonly do: string | null;
}

/** E.g. `NOT WELL: the platform refuses the token since …`, and the remedy on the next line. */
export function renderFinding({ level, says, do: advice }: ShownFinding): string {
  return `${levelOf(level)[0]}: ${says}\n${advice === null ? '' : `  do: ${advice}\n`}`;
}

const COLOURS: Readonly<Record<string, number>> = {
  ok: 32,
  WELL: 32,
  STARTING: 36,
  WARNING: 33,
  'NOT WELL': 31,
};

export function withColours(terminal: Terminal): Terminal {
  if (!terminal.colours) return terminal;
  const paint = (found: string) => `\u001b[${COLOURS[found]}m${found}\u001b[0m`;
  return {
    ...terminal,
    print: (text) => terminal.print(text.replace(/^(NOT WELL|WARNING|STARTING|WELL|ok)(?=[: \n])/gm, paint)),
  };
}

/** @throws CommandError with the level's exit code, unless all is well */
export function endWith(level: string): void {
  const [, exitCode] = levelOf(level);
  if (exitCode !== 0) throw new CommandError('', exitCode);
}
