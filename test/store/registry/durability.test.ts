import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Durability, noteDurability, noteUnconfirmed } from '../../../src/store/registry/durability.js';

const FEW = { replicas: 0, wanted: 2 };

function noting(work: () => void = () => undefined) {
  const noted: Durability = { unconfirmed: null };
  return { noted, end: noteDurability(noted, work) };
}

describe('noteDurability', () => {
  it('notes the commit that fewest replicas have confirmed, in what the work began', async () => {
    let done: Promise<void> = Promise.resolve();
    const { noted, end } = noting(() => {
      done = sleep(1).then(() => {
        noteUnconfirmed({ replicas: 1, wanted: 2 });
        noteUnconfirmed(FEW);
        noteUnconfirmed({ replicas: 1, wanted: 2 });
      });
    });
    await done;
    end();
    expect(noted.unconfirmed).toEqual(FEW);
  });

  it('keeps one piece of work from another, and goes on with it when the other ends', async () => {
    let [first, second] = [Promise.resolve(), Promise.resolve()];
    const one = noting(() => {
      first = sleep(20).then(() => noteUnconfirmed(FEW));
    });
    const other = noting(() => {
      second = sleep(1);
    });
    await second;
    other.end();
    await first;
    one.end();
    expect([one.noted.unconfirmed, other.noted.unconfirmed]).toEqual([FEW, null]);
  });

  it('is over when the last piece of work is: nothing is noted, and nothing is watched any more', async () => {
    let late: Promise<void> = Promise.resolve();
    const { noted, end } = noting(() => {
      late = sleep(5).then(() => noteUnconfirmed(FEW));
    });
    end();
    await late;
    expect(noted.unconfirmed).toBeNull();
  });
});
