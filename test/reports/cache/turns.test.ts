/** Turns of the event loop: what follows an answer, and long work of a burst. */
import { expect, it } from 'vitest';
import { turn } from '../../../src/lib/time.js';
import { createTurnQueue } from '../../../src/reports/cache/background.js';

/** Answers of the platform that are parsed, and what follows each of them. */
function open() {
  const turns = createTurnQueue();
  const done: string[] = [];
  return {
    turns,
    done,
    async parse(name: string): Promise<void> {
      await turns.long();
      done.push(`${name} parsed`);
      await turns.next();
      done.push(`${name} written`);
    },
  };
}

it('of a burst of answers each one is written before the next one is parsed', async () => {
  const { done, parse } = open();
  await Promise.all(['one', 'two', 'three'].map(parse));
  const names = ['one', 'two', 'three'];
  expect(done).toEqual(names.flatMap((name) => [`${name} parsed`, `${name} written`]));
});

it('an answer that comes alone is parsed at once', async () => {
  const { turns, done, parse } = open();
  await parse('one');
  for (let times = 0; times < 3; times += 1) await turn();
  const next = turn().then(() => done.push('next turn'));
  await Promise.all([turns.long().then(() => done.push('two parsed')), next]);
  expect(done).toEqual(['one parsed', 'one written', 'two parsed', 'next turn']);
});

it('long work has a turn without what follows other answers', async () => {
  const { turns, done } = open();
  const following = ['one', 'two'].map((name) => turns.next().then(() => done.push(name)));
  const parsed = turns.long().then(() => done.push('parsed'));
  void turn().then(() => done.push('turn'));
  await Promise.all([...following, parsed]);
  expect(done.indexOf('parsed')).toBeGreaterThan(done.indexOf('turn'));
  expect(done.filter((name) => name !== 'turn')).toEqual(['one', 'two', 'parsed']);
});
