/** Processes that are killed without a word, among changes and writes. */
import { chanceOf } from '../../simulation/chance-of-seed.js';
import { useRedisProgram } from '../../support/redis.js';
import { playCrashes } from '../crash/play.js';
import { KINDS, openWorld } from '../crash/world.js';
import type { CaseResult, Stage } from '../stage.js';

/** What is not done here, and why. */
const NOT_RUN: readonly CaseResult[] = [
  {
    name: 'Power loss',
    what: 'Writes after the last sync are dropped.',
    ...{ times: 0, result: 'not run', worst: '-' },
    note: 'needs a device or file system that drops writes; kills lose nothing that the system has taken',
  },
];

export const stage: Stage = {
  name: 'crash',
  title: 'Gateways and Redis killed among changes and writes',
  weight: 4,
  async run({ seed, say, timeLeft }) {
    useRedisProgram(process.env.REDIS_SERVER || 'redis-server');
    // Side by side: a start leaves a core to others while it waits.
    const results = await Promise.all(
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
    return [...results, ...NOT_RUN];
  },
};
