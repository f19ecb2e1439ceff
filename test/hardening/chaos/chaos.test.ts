/** One case of the stage, in brief: that the rig works. */
import { expect, it } from 'vitest';
import { createPlayer } from './play.js';
import { openPlainScene } from './scene.js';

it('three gateways hold while their Redis is killed and started again', async () => {
  const scene = await openPlainScene(1);
  try {
    const today = await scene.fleet.sim.today();
    const player = createPlayer(scene, { seed: 1, today, faultMs: 300, patience: 6 });
    const trouble = scene.troubles.find(({ name }) => name === 'Redis: killed');
    if (trouble === undefined) throw new Error('there is no such case');
    const result = await player.play(trouble, 0);
    expect(result).toMatchObject({ times: 1, result: 'held', note: expect.stringContaining(' answers, ') });
  } finally {
    await scene.end();
  }
});
