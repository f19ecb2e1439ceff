/** Levels of `status` and `doctor`, as text and as exit codes. */
import { momentIn, sentence } from '../lib/words.js';
import { CommandError, EXIT } from './command-error.js';
import { plainLine } from './plain-text.js';
import { CYAN, GREEN, painter, RED, type Terminal, YELLOW } from './terminal.js';

/** By level of the admin API. An unknown level, of a newer release, counts as not well. */
const LEVELS: Readonly<Record<string, readonly [exitCode: number, colour: number]>> = {
  well: [0, GREEN],
  starting: [0, CYAN],
  warning: [EXIT.warning, YELLOW],
  'not well': [EXIT.notWell, RED],
};

export interface ShownFinding {
  readonly level: string;
  readonly says: string;
  readonly do: string | null;
  /** ISO; absent: not known. */
  readonly since?: string;
  readonly details?: string;
}

/** What to do if the gateway does not answer. */
export const START = 'Start it with dsp-gateway serve, or set its address with --url or GATEWAY_ADMIN_URL.';

/** The first clause of an error; what to do is said apart. */
export function saysOf({ message }: Error): string {
  return sentence(message.replace(/(?:; |\n).*/s, ''));
}

/** E.g. `NOT WELL: The platform refuses the token since …`, and the remedy on the next line. */
export function renderFinding(found: ShownFinding, nowMs: number): string {
  const { level, says, do: advice, since, details } = found;
  const lines = [
    `${level.toUpperCase()}: ${says}`,
    // Some say it themselves.
    ...(since === undefined || says.includes(' since ')
      ? []
      : [`  since: ${momentIn(Date.parse(since), nowMs)}`]),
    ...(details === undefined ? [] : [`  ${details}`]),
    ...(advice === null ? [] : [`  do: ${advice}`]),
  ];
  return `${lines.join('\n')}\n`;
}

export const describeNotes = (notes: readonly string[]): string =>
  notes.map((note) => `note: ${plainLine(note)}\n`).join('');

export function withColours(terminal: Terminal): Terminal {
  const paint = painter(terminal);
  const painted = (found: string) => paint(LEVELS[found.toLowerCase()]?.[1] ?? GREEN, found);
  return {
    ...terminal,
    print: (text) =>
      terminal.print(text.replace(/^(NOT WELL|WARNING|STARTING|WELL|ok)(?=[: \n])/gm, painted)),
  };
}

/** @throws CommandError with the level's exit code, unless all is well */
export function endWith(level: string): void {
  const [exitCode] = LEVELS[level] ?? [EXIT.notWell];
  if (exitCode !== 0) throw new CommandError('', exitCode);
}
