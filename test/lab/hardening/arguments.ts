/** The command line of the hardening run. */
import { parseArgs } from 'node:util';

/** In the order in which they are run. */
export const STAGES = ['simulation', 'fuzz', 'crash', 'chaos', 'soak'] as const;
export type StageName = (typeof STAGES)[number];

export interface Options {
  readonly minutes: number;
  readonly only: readonly StageName[];
  readonly seed: number;
  readonly help: boolean;
}

export const HELP = `npm run test:hardening -- [--minutes N] [--only a,b] [--seed S]

  --minutes N   how long, shared among the stages by their weights (default 10)
  --only a,b    some of the stages: ${STAGES.join(', ')}
  --seed S      a whole number that decides what is chance (default: by the clock; it is told)
  --help        says this

Exit code 0: every case that was run held. 1: one did not. 64: the command line was wrong.
`;

/**
 * @param anySeed is taken where none is given
 * @throws TypeError where an option is unknown or has no value, RangeError where its value cannot be meant
 */
export function readArguments(given: readonly string[], anySeed: number): Options {
  const { values } = parseArgs({
    args: [...given],
    options: {
      minutes: { type: 'string', default: '10' },
      only: { type: 'string', default: STAGES.join(',') },
      seed: { type: 'string', default: String(anySeed) },
      help: { type: 'boolean', default: false },
    },
  });
  const [minutes, seed, names] = [Number(values.minutes), Number(values.seed), values.only.split(',')];
  if (!(minutes > 0 && minutes <= 1440)) throw new RangeError('--minutes is above 0 and at most 1440');
  if (!Number.isInteger(seed) || seed < 0) throw new RangeError('--seed is a whole number from 0');
  const only = STAGES.filter((name) => names.includes(name));
  if (only.length !== names.length) throw new RangeError(`--only names some of ${STAGES.join(', ')}`);
  return { minutes, only, seed, help: values.help };
}
