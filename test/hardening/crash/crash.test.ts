/** The stage in brief: that the rig works, and can fail. */
import { expect, it } from 'vitest';
import { faultsAfter } from './check.js';
import { playCrashes } from './play.js';
import { newDiary } from './works.js';
import { KINDS, openWorld } from './world.js';

it('a gateway that is killed among its work keeps what it acknowledged; what was never there is found missing', async () => {
  const [embedded] = KINDS;
  if (embedded === undefined) throw new Error('there is none');
  const world = await openWorld(embedded);
  const said: string[] = [];
  let left = 1;
  const result = await playCrashes(world, {
    goOn: () => left-- > 0,
    chance: () => 0.5,
    say: (line) => said.push(line),
  });
  expect(said).toEqual([]);
  expect(result).toMatchObject({ times: 2, result: 'held' });
  expect(result.note).toMatch(/^\d+ changes and writes acknowledged$/);
  const diary = newDiary();
  diary.once.set('never-written', '{"id":1}');
  expect(await faultsAfter(world, diary)).toEqual([expect.stringContaining('never-written was answered')]);
  await world.end();
});
