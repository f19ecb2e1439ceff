/** The command line of the hardening run: text in, options or faults out. */

/** In the order in which they are run. A stage whose file is not there is left out, and the run says so. */
export const STAGES = ['simulation', 'fuzz', 'crash', 'chaos', 'soak'] as const;
export type StageName = (typeof STAGES)[number];

export interface Options {
  readonly minutes: number;
  readonly only: readonly StageName[];
  readonly seed: number;
  /** Whether docs/hardening.md gets the tables. */
  readonly write: boolean;
  readonly help: boolean;
}

export const HELP = `npm run test:hardening -- [--minutes N] [--only a,b] [--seed S] [--write]

  --minutes N   how long, shared among the stages by their weights (default 10; more than 0, at most 1440)
  --only a,b    some of the stages: ${STAGES.join(', ')}
  --seed S      a whole number that decides what is chance (default: by the clock; it is told)
  --write       puts the table of each stage that was run into docs/hardening.md
  --help        says this

Exit code 0: every case that was run held. 1: one did not. 64: the command line was wrong.
`;

/** Of a command line that cannot be meant; one line for each fault. */
export class BadArguments extends Error {}

const MINUTES_MAX = 1440;
const SEED_MAX = 2 ** 31 - 1;

/**
 * @param given what stands behind the command's name
 * @param anySeed is taken where none is given
 * @throws BadArguments naming each option, what it was and what is allowed
 */
export function readArguments(given: readonly string[], anySeed: number): Options {
  const faults: string[] = [];
  const found = new Map<string, string>();
  const flags = new Set<string>();
  const left = [...given];
  for (let one = left.shift(); one !== undefined; one = left.shift()) {
    const [name, inline] = splitOnce(one);
    if (name === '--write' || name === '--help') {
      if (inline !== undefined) faults.push(`${name} takes no value, and was given '${inline}'`);
      flags.add(name);
    } else if (name === '--minutes' || name === '--only' || name === '--seed') {
      const value = inline ?? left.shift();
      if (value === undefined || value === '') faults.push(`${name} needs a value`);
      else if (found.has(name)) faults.push(`${name} is given twice`);
      else found.set(name, value);
    } else faults.push(`unknown argument '${one}'; known are --minutes, --only, --seed, --write, --help`);
  }
  const options = {
    minutes: readMinutes(found.get('--minutes'), faults),
    only: readOnly(found.get('--only'), faults),
    seed: readSeed(found.get('--seed'), anySeed, faults),
    write: flags.has('--write'),
    help: flags.has('--help'),
  };
  if (faults.length > 0) throw new BadArguments(faults.join('\n'));
  return options;
}

function splitOnce(text: string): [string, string?] {
  const at = text.indexOf('=');
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function readMinutes(text: string | undefined, faults: string[]): number {
  if (text === undefined) return 10;
  const minutes = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (minutes <= 0 || minutes > MINUTES_MAX)
    faults.push(`--minutes is '${text}'; allowed is a number above 0, at most ${MINUTES_MAX}`);
  return minutes;
}

function readOnly(text: string | undefined, faults: string[]): readonly StageName[] {
  if (text === undefined) return STAGES;
  const names = text.split(',');
  for (const name of names)
    if (!(STAGES as readonly string[]).includes(name))
      faults.push(`--only names '${name}'; stages are ${STAGES.join(', ')}`);
  return STAGES.filter((name) => names.includes(name));
}

function readSeed(text: string | undefined, anySeed: number, faults: string[]): number {
  if (text === undefined) return anySeed;
  const seed = /^\d+$/.test(text) ? Number(text) : -1;
  if (seed < 0 || seed > SEED_MAX)
    faults.push(`--seed is '${text}'; allowed is a whole number from 0 to ${SEED_MAX}`);
  return seed;
}

/**
 * How long the next stage may take: its share of what is left, so that what one leaves over goes to those behind it.
 * @param weights of the next one and of all behind it
 */
export function shareOf(leftMs: number, weights: readonly number[]): number {
  const [own = 0] = weights;
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  return all === 0 ? 0 : (Math.max(0, leftMs) * own) / all;
}
