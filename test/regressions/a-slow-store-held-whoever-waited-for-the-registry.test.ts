/**
 * Looks at the registry come every half a second. Where one took longer, each found another one asked for, and whoever
 * waited for a look waited for all of them: a refused token was not replaced as long as Redis was slow.
 */
import { expect, it } from 'vitest';
import { createTurns } from '../../src/store/registry/replica.js';

/** Work that ends when the test says so. */
function startTurns() {
  const turns: { readonly end: () => void; readonly fail: () => void }[] = [];
  const take = createTurns(
    () =>
      new Promise<void>((resolve, reject) => {
        turns.push({ end: resolve, fail: () => reject(new Error('the store is away')) });
      }),
  );
  return { turns, take };
}

const settled = (promise: Promise<void>) =>
  promise.then(
    () => 'done',
    () => 'failed',
  );

it('waits for the turn after the one under way, and not for those that others ask for meanwhile', async () => {
  const { turns, take } = startTurns();
  const first = settled(take());
  const waiting = settled(take());
  turns[0]?.end();
  expect(await first).toBe('done');
  expect(turns).toHaveLength(2);
  const later = settled(take());
  turns[1]?.end();
  expect(await waiting).toBe('done');
  expect(turns).toHaveLength(3);
  turns[2]?.end();
  expect(await later).toBe('done');
  expect(turns).toHaveLength(3);
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
  const { turns, take } = startTurns();
  const first = settled(take());
  const waiting = settled(take());
  turns[0]?.fail();
  expect(await first).toBe('failed');
  turns[1]?.end();
  expect(await waiting).toBe('done');
});
