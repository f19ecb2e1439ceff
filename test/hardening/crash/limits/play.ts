/** All of them, one after another, as long as there is time. */
import { chanceOf } from '../../../simulation/chance-of-seed.js';
import { type CaseResult, fromAnother, type StageInput } from '../../stage.js';
import { CLOCK_JUMPS, CLOCKS_DIFFER } from './clocks.js';
import { FULL_DISK, STARTS_ON_FULL_DISK, STARTS_READ_ONLY } from './disk.js';
import { FEW_FILES } from './files.js';
import { type Limit, notRun, playLimit } from './limit.js';
import { CACHE_REDIS_FULL, REDIS_FULL } from './redis.js';

const LIMITS: readonly Limit[] = [
  ...[FULL_DISK, CLOCKS_DIFFER, CLOCK_JUMPS, STARTS_ON_FULL_DISK, STARTS_READ_ONLY],
  ...[FEW_FILES, REDIS_FULL, CACHE_REDIS_FULL],
];
/** What one takes on a machine that is busy, milliseconds. */
const EACH_MS = 15_000;

export async function playLimits({
  seed,
  say,
  timeLeft,
}: Pick<StageInput, 'seed' | 'say' | 'timeLeft'>): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  for (const limit of fromAnother(LIMITS, seed)) {
    const chance = chanceOf(seed, limit.name).randomShare;
    const result =
      timeLeft() < EACH_MS ? notRun(limit, 'time was up') : await playLimit(limit, { chance, say });
    results.push(result);
  }
  return results;
}
