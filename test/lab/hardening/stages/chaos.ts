/** Three real gateways under load while the platform or Redis fails: every answer is judged, and so is what is left. */

import { useRedisProgram } from '../../../support/redis.js';
import { createPlayer } from '../chaos/play.js';
import { openClusterScene, openPlainScene, openSentinelScene, type Scene } from '../chaos/scene.js';
import { type CaseResult, fromAnother, notRun, type Stage } from '../stage.js';

/** A case takes no less: a fault, the way back, and the rest. */
const LEAST_MS = 6_000;
/** What a case takes for everything to come to rest, on top of its faults. */
const REST_MS = 5_000;
/** In their order, with how many cases each has. */
const SCENES: readonly {
  readonly open: (seed: number) => Promise<Scene>;
  readonly names: string;
  readonly count: number;
}[] = [
  { open: openPlainScene, names: 'Faults of the platform and of one Redis', count: 14 },
  { open: openSentinelScene, names: 'Redis: failover by Sentinel', count: 1 },
  { open: openClusterScene, names: 'Redis: slots move in a Cluster', count: 1 },
];

export const stage: Stage = {
  name: 'chaos',
  title: 'Three gateways under load, and faults of platform and Redis',
  weight: 5,
  async run({ seed, say, timeLeft }) {
    useRedisProgram(process.env.REDIS_SERVER || 'redis-server');
    const results: CaseResult[] = [];
    let casesLeft = SCENES.reduce((sum, { count }) => sum + count, 0);
    const add = (result: CaseResult) => {
      results.push(result);
      say(`${result.name}: ${result.result}`);
    };
    for (const { open, names, count } of fromAnother(SCENES, seed)) {
      if (timeLeft() < LEAST_MS) {
        add(notRun(names, '-'));
        casesLeft -= count;
        continue;
      }
      const scene = await open(seed);
      try {
        const today = await scene.fleet.sim.today();
        const player = createPlayer(scene, seed, today);
        for (const trouble of fromAnother(scene.troubles, seed)) {
          if (timeLeft() < LEAST_MS) add(notRun(trouble.name, trouble.what));
          else add(await player.play(trouble, Date.now() + timeLeft() / casesLeft - REST_MS));
          casesLeft -= 1;
        }
      } finally {
        await scene.end();
      }
    }
    return results;
  },
};
