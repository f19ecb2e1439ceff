/** Processes that are killed without a word, among changes and writes. */
import { chanceOf } from '../../../simulation/chance-of-seed.js';
import { useRedisProgram } from '../../../support/redis.js';
import { playLimits } from '../crash/limits/limits.js';
import { playCrashes } from '../crash/play.js';
import { KINDS, openWorld } from '../crash/world.js';
import type { Stage } from '../stage.js';

export const stage: Stage = {
  name: 'crash',
  title: 'Gateways and Redis killed among changes and writes',
  weight: 9,
  async run({ seed, say, timeLeft }) {
    useRedisProgram(process.env.REDIS_SERVER || 'redis-server');
    // Side by side: a start leaves a core to others while it waits.
    const kills = Promise.all(
      KINDS.map(async (kind) => {
        const world = await openWorld(kind);
        const chance = chanceOf(seed, kind.name).randomShare;
        try {
          return await playCrashes(world, { goOn: () => timeLeft() > 0, chance, say });
        } finally {
          await world.end();
        }
      }),
    );
    const limits = playLimits({ seed, timeLeft, say });
    return (await Promise.all([kills, limits])).flat();
  },
};
