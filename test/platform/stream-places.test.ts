import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createStreamPlaces } from '../../src/platform/traffic.js';

function placesFor(turns: number, maxQueued = 100) {
  const places = createStreamPlaces({ maxConcurrent: () => turns, maxQueued });
  const entered: string[] = [];
  const enter = (team: string, timeoutMs = 60_000, signal?: AbortSignal) =>
    places.enter(team, timeoutMs, signal).then((leave) => {
      entered.push(team);
      return leave;
    });
  const over = new AbortController();
  onTestFinished(() => over.abort());
  /** Whoever still waits when the test is over waits no longer, and has nobody to tell. */
  const crowdIn = (team: string) => void enter(team, 60_000, over.signal).catch(() => {});
  return { places, entered, enter, crowdIn };
}

it.each([
  [8, 6],
  [3, 1],
  [2, 1],
  [1, 1],
])('of %i turns %i are for streams', async (turns, wanted) => {
  const { places, crowdIn } = placesFor(turns);
  for (let n = 0; n < 10; n++) crowdIn(`team-${n}`);
  await turnOfTheLoop();
  expect(places.running).toBe(wanted);
});

it('leaves the last place to another team, and serves those who wait in turns by team', async () => {
  const { places, entered, enter, crowdIn } = placesFor(8);
  const held = await Promise.all([1, 2, 3, 4, 5].map(() => enter('many')));
  crowdIn('many');
  crowdIn('many');
  const leaveFew = await enter('few');
  expect(places.running).toBe(6);
  crowdIn('few');
  await turnOfTheLoop();
  expect(entered).toEqual([...Array<string>(5).fill('many'), 'few']);
  leaveFew();
  leaveFew();
  await turnOfTheLoop();
  expect(entered.at(-1)).toBe('few');
  held[0]?.();
  await turnOfTheLoop();
  expect(entered.at(-1)).toBe('many');
  expect(places.running).toBe(6);
});

it('refuses whoever waited too long as overload, and a caller who is gone by that reason', async () => {
  const { places, enter } = placesFor(1);
  const leave = await enter('one');
  await expect(enter('two', 10)).rejects.toMatchObject({ code: 'overloaded', status: 503 });
  const gone = new AbortController();
  const waiting = enter('two', 60_000, gone.signal);
  gone.abort(new Error('gone'));
  await expect(waiting).rejects.toMatchObject({ options: { cause: { message: 'gone' } } });
  leave();
  (await enter('two'))();
  expect(places.running).toBe(0);
});
