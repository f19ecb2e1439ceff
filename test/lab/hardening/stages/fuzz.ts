/** Inputs that are nearly right, for everything that reads what others wrote. */
import { useRedisProgram } from '../../../support/redis.js';
import { playTarget } from '../fuzz/play.js';
import { TARGETS } from '../fuzz/targets.js';
import type { CaseResult, Stage } from '../stage.js';

export const stage: Stage = {
  name: 'fuzz',
  title: 'Inputs that are nearly right',
  weight: 2,
  async run({ seed, timeLeft }) {
    useRedisProgram(process.env.REDIS_SERVER || 'redis-server');
    const results: CaseResult[] = [];
    for (const [at, open] of TARGETS.entries()) {
      const target = await open();
      const endsAt = timeLeft() - timeLeft() / (TARGETS.length - at);
      try {
        results.push(await playTarget(target, seed, () => timeLeft() > endsAt));
      } finally {
        await target.close();
      }
    }
    return results;
  },
};
