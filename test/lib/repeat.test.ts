import { expect, it } from 'vitest';
import { flushAtEnd, oneAtATime } from '../../src/lib/repeat.js';

it('work that is under way is not started again, and every caller gets its result', async () => {
  let runs = 0;
  const work = oneAtATime(async () => {
    runs += 1;
    await Promise.resolve();
    return runs;
  });
  expect(await Promise.all([work(), work()])).toEqual([1, 1]);
  expect(await work()).toBe(2);
});

it('a flush at the end does not count the run that was under way, and says when the tries are used up', async () => {
  const taken = [false, true];
  expect(await flushAtEnd(async () => taken.shift() ?? true, 1)).toBe(true);
  expect(await flushAtEnd(async () => false, 1)).toBe(false);
});
