/** Looks at the registry, of which one is made at a time: whoever waits for one waits for no more than the next. */
import { expect, it } from 'vitest';
import { createTurns } from '../../../src/store/registry/replica.js';

/** Work that ends when the test says so. */
function startTurns() {
  const turns: { readonly end: () => void; readonly fail: () => void }[] = [];
  const take = createTurns(
    () =>
      new Promise<void>((resolve, reject) => {
        turns.push({ end: resolve, fail: () => reject(new Error('the store is away')) });
      }),
  );
  const taken = () =>
    take().then(
      () => 'done',
      () => 'failed',
    );
  return { turns, take, taken };
}

it('waits for the turn after the one under way, and not for those that others ask for meanwhile', async () => {
  const { turns, taken } = startTurns();
  const waits = [taken(), taken()];
  for (const [at, wait] of waits.entries()) {
    turns[at]?.end();
    expect(await wait).toBe('done');
    expect(turns).toHaveLength(Math.min(at + 2, 3));
    if (at === 0) waits.push(taken());
  }
});

it('gives all who ask during a turn the same one, and never makes two at once', async () => {
  const { turns, take } = startTurns();
  const first = take();
  // Asked when the first has ended and the next has not begun.
  const between = first.then(() => take());
  const waiting = [take(), take()];
  turns[0]?.end();
  await first;
  expect(turns).toHaveLength(2);
  turns[1]?.end();
  await Promise.all([...waiting, between]);
  expect(turns).toHaveLength(2);
});

it('tells of a failure those alone who waited for that turn', async () => {
  const { turns, taken } = startTurns();
  const [first, waiting] = [taken(), taken()];
  turns[0]?.fail();
  expect(await first).toBe('failed');
  turns[1]?.end();
  expect(await waiting).toBe('done');
});
