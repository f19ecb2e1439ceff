/** A verdict as a person reads it, and as an exit code: `status` and `doctor` end with the same three. */
import { CommandError, EXIT, type Unreachable } from './command-error.js';
import type { Terminal } from './terminal.js';

/** What `--json` and the admin API call it, what is shown, and how the command ends. */
const LEVELS: Readonly<Record<string, readonly [shown: string, exitCode: number]>> = {
  well: ['WELL', 0],
  warning: ['WARNING', EXIT.warning],
  'not well': ['NOT WELL', EXIT.notWell],
};

/** A newer release may know of another level: it is no good one. */
const levelOf = (level: string) => LEVELS[level] ?? [level.toUpperCase(), EXIT.notWell];

export interface ShownFinding {
  readonly level: string;
  readonly says: string;
  readonly do: string | null;
}

/** E.g. `NOT WELL: the platform refuses the token since …`, and in the next line what to do. */
export function renderFinding({ level, says, do: advice }: ShownFinding): string {
  return `${levelOf(level)[0]}: ${says}\n${advice === null ? '' : `  do: ${advice}\n`}`;
}

const COLOURS: Readonly<Record<string, number>> = { ok: 32, WELL: 32, WARNING: 33, 'NOT WELL': 31 };

/** Colours the verdict at the beginning of a line, where the terminal shows colours. */
export function withColours(terminal: Terminal): Terminal {
  if (!terminal.colours) return terminal;
  const paint = (found: string) => `\u001b[${COLOURS[found]}m${found}\u001b[0m`;
  return {
    ...terminal,
    print: (text) => terminal.print(text.replace(/^(NOT WELL|WARNING|WELL|ok)(?=[: \n])/gm, paint)),
  };
}

/** @throws CommandError with the level's exit code, unless all is well */
export function endWith(level: string): void {
  const [, exitCode] = levelOf(level);
  if (exitCode !== 0) throw new CommandError('', exitCode);
}

/** Of a gateway that cannot be reached. */
export function unreachable(error: Unreachable): ShownFinding {
  return {
    level: 'not well',
    says: error.message,
    do: 'start it by dsp-gateway serve, or say where it is by --url or GATEWAY_ADMIN_URL',
  };
}
