/** Seeds of the simulation, one after another, for as long as there is time. */
import { playSeed } from '../../simulation/play-seed.js';
import type { CaseResult, Stage } from '../stage.js';

/** That another run's seeds are others. */
const APART = 10_000;
const TOLD_FAILURES = 5;

export const stage: Stage = {
  name: 'simulation',
  title: 'Three gateways in virtual time, by seed',
  weight: 3,
  async run({ seed, say, timeLeft, until }) {
    const first = seed * APART;
    const startedMs = until - timeLeft();
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
    const perMinute = Math.round((played * 60_000) / (until - timeLeft() - startedMs));
    const line: CaseResult = {
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
    return [line];
  },
};
