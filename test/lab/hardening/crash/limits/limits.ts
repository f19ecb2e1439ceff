/** What a machine runs out of, and clocks that differ: one case each, one after another, as long as there is time. */
import { chanceOf } from '../../../../simulation/chance-of-seed.js';
import { type CaseResult, fromAnother, notRun, type StageInput } from '../../stage.js';
import { CLOCKS_DIFFER } from './clocks.js';
import { CACHE_REDIS_FULL, FULL_DISK, REDIS_FULL } from './full.js';
import type { Limit } from './limit.js';

const LIMITS: readonly Limit[] = [FULL_DISK, CLOCKS_DIFFER, REDIS_FULL, CACHE_REDIS_FULL];
/** What one takes on a machine that is busy, milliseconds. */
const EACH_MS = 15_000;
const TOLD_FAULTS = 5;

export async function playLimits({ seed, say, timeLeft }: StageInput): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  for (const limit of fromAnother(LIMITS, seed))
    results.push(timeLeft() < EACH_MS ? notRun(limit.name, limit.what) : await playLimit(limit, seed, say));
  return results;
}

/** What it throws is a fault. */
async function playLimit(
  { name, what, play }: Limit,
  seed: number,
  say: StageInput['say'],
): Promise<CaseResult> {
  const found = await play(chanceOf(seed, name).randomShare).catch((error: Error) => ({
    times: 1,
    worst: '-',
    note: '',
    faults: [String(error.message).slice(0, 2000)],
  }));
  if (typeof found === 'string') return notRun(name, what, found);
  const { times, worst, faults, note } = found;
  for (const fault of faults) say(`${name}: ${fault}`);
  return {
    name,
    what,
    times,
    worst,
    result: faults.length === 0 ? 'held' : 'failed',
    note: [note, ...faults.slice(0, TOLD_FAULTS).map((fault) => fault.slice(0, 200))].join('; '),
  };
}
