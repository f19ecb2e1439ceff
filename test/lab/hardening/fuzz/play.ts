/** One target, given inputs for as long as there is time. */
import { type Chance, chanceOf } from '../../../simulation/chance-of-seed.js';
import type { CaseResult } from '../stage.js';
import type { Target } from './target.js';

const TOLD_FAULTS = 3;

/** @param goOn asked after each input with how many there were */
export async function playTarget(
  { name, what, tryOne }: Target,
  seed: number,
  goOn: (tried: number) => boolean,
): Promise<CaseResult> {
  const faults: string[] = [];
  let [tried, worstMs] = [0, 0];
  do {
    // A seed of its own for each, so that one can be tried again alone.
    const chance: Chance = chanceOf(seed, `${name} ${tried}`);
    const startedMs = performance.now();
    const wrong = await tryOne(chance).catch((error: unknown) => `threw ${error}`);
    worstMs = Math.max(worstMs, performance.now() - startedMs);
    if (wrong !== null) faults.push(`input ${tried}: ${wrong}`);
    tried += 1;
  } while (goOn(tried));
  return {
    name,
    what,
    times: tried,
    result: faults.length === 0 ? 'held' : 'failed',
    worst: `${Math.round(worstMs)} ms`,
    note: [`seed ${seed}`, ...faults.slice(0, TOLD_FAULTS)].join('; '),
  };
}
