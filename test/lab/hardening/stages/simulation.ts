/** Seeds of the simulation, one after another, for as long as there is time; and whether they find what is planted. */

import { PLANTED, type PlantedFault, searchPlanted } from '../../../simulation/planted/find.js';
import { playSeed } from '../../../simulation/play-seed.js';
import { type CaseResult, fromAnother, type Stage, type StageInput } from '../stage.js';

/** That another run's seeds are others. */
const APART = 10_000;
const TOLD_FAILURES = 5;
/** The planted faults have so much of the time, and so many seeds each. */
const [PLANTED_SHARE, SEEDS_MAX] = [0.3, 200];

export const stage: Stage = {
  name: 'simulation',
  title: 'Three gateways in virtual time, by seed',
  weight: 3,
  async run(input) {
    const { timeLeft } = input;
    const endsAt = timeLeft() * PLANTED_SHARE;
    const seeds = await playSeeds({ ...input, timeLeft: () => timeLeft() - endsAt });
    const results: CaseResult[] = [seeds];
    for (const fault of fromAnother(PLANTED, input.seed)) results.push(await findPlanted(fault, input));
    return results;
  },
};

async function playSeeds({ seed, say, timeLeft }: StageInput): Promise<CaseResult> {
  const first = seed * APART;
  const shareMs = timeLeft();
  const failures: string[] = [];
  let [played, failed, worstMs, slowest] = [0, 0, 0, first];
  do {
    const next = first + played;
    const leftMs = timeLeft();
    const one = await playSeed(next);
    const tookMs = leftMs - timeLeft();
    if (tookMs > worstMs) [worstMs, slowest] = [tookMs, next];
    played += 1;
    if (one.failures.length > 0) {
      failed += 1;
      for (const failure of one.failures) say(failure);
      failures.push(...one.failures);
    }
    if (played % 100 === 0) say(`${played} seeds, ${failed} failed`);
  } while (timeLeft() > 0);
  const perMinute = Math.round((played * 60_000) / (shareMs - timeLeft()));
  return {
    name: `Seeds ${first} to ${first + played - 1}`,
    what: 'Callers, operators, replicas that stop and start, a store and a platform that fail, played in virtual time.',
    times: played,
    result: failed === 0 ? 'held' : 'failed',
    worst: `${(worstMs / 1000).toFixed(1)} s (seed ${slowest})`,
    note: [
      `${played - failed} held, ${failed} failed; ${perMinute} seeds per minute`,
      ...failures.slice(0, TOLD_FAILURES),
    ].join('; '),
  };
}

/** Held: a seed found it. */
async function findPlanted(fault: PlantedFault, { say, timeLeft }: StageInput): Promise<CaseResult> {
  const line = {
    name: `Planted: ${fault.name}`,
    what: 'A fault in a copy of the program, for seeds 1, 2 … to find.',
  };
  let isOver = false;
  const { seeds, found } = await searchPlanted(fault, (played) => {
    isOver = timeLeft() <= 0;
    return !isOver && played < SEEDS_MAX;
  });
  if (found !== null) {
    say(`planted, and found: ${found}`);
    return { ...line, times: seeds, result: 'held', worst: '-', note: `found by seed ${seeds}` };
  }
  const note = isOver ? `time was up after ${seeds} seeds` : 'no seed found it';
  return { ...line, times: seeds, result: isOver ? 'not run' : 'failed', worst: '-', note };
}
