import { expect, it } from 'vitest';
import { createDoor } from './door.js';

it('lets works in together, and one alone: after those that have begun, before those that come', async () => {
  const door = createDoor();
  const done: string[] = [];
  let [inside, most] = [0, 0];
  const work = (name: string, turns: number) => async () => {
    inside += 1;
    most = Math.max(most, inside);
    if (name === 'alone') expect(inside).toBe(1);
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    inside -= 1;
    done.push(name);
    if (name === 'broken') throw new Error('broken');
  };
  const all = [
    door.together(work('first', 20)),
    door.together(work('second', 3)),
    door.alone(work('alone', 5)),
    door.alone(work('alone', 1)),
    door.together(work('third', 2)),
    door.alone(work('broken', 1)),
    door.together(work('fourth', 1)),
  ];
  await Promise.allSettled(all);
  expect(most).toBe(2);
  expect(done).toEqual(['second', 'first', 'alone', 'alone', 'broken', 'fourth', 'third']);
  await expect(all[5]).rejects.toThrow('broken');
});
