/** Whatever happens to stored days: who follows the feed holds what history shows. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HOUR } from '../../support/test-clock.js';
import { type Followed, type Kind, openFollowed, type Said } from './followed.js';

const said: fc.Arbitrary<Said[]> = fc.uniqueArray(
  fc.record({
    day: fc.integer({ min: 1, max: 4 }),
    spent: fc.integer({ min: 0, max: 2 }),
    tail: fc.constantFrom('unconfirmed' as const, 'confirmed' as const),
  }),
  { selector: ({ day }) => day, minLength: 1, maxLength: 4 },
);
const how = fc.record({
  size: fc.nat(),
  isRecorded: fc.nat(9).map((one) => one > 0),
  restatementDays: fc.constantFrom(0, 30),
  isStale: fc.nat(4).map((one) => one === 0),
});
const kind: fc.Arbitrary<Kind> = fc.record({
  state: fc.constantFrom('unknown', 'proven', 'proven', 'refuted'),
  generation: fc.constantFrom('g', 'h', 'i'),
});

/** In a store, for somebody who follows. A step that waits for the walk of the leader returns true. */
type Step = (at: Followed, former: Kind) => Promise<boolean>;

/** Not yet known as a cap. */
const sizeOf = ({ caps }: Followed, size: number) => {
  const sizes = [10, 20, 30, 40].filter((one) => !caps().includes(one));
  return sizes[size % sizes.length] as number;
};

const step: fc.Arbitrary<{ readonly name: string; readonly run: Step }> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(said, how).map(([days, { size, isStale, ...more }]) => ({
      name: `fetch ${JSON.stringify([days, size, isStale, more])}`,
      run: async (at: Followed, former: Kind) => {
        await at.fetch(days, { ...more, answerRows: sizeOf(at, size), ...(isStale && { kind: former }) });
        // What a process fetched that did not know of the change yet.
        return isStale;
      },
    })),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(said, said, how).map(([one, other, { size, isStale: _, ...more }]) => ({
      name: `fetch at once ${JSON.stringify([one, other, size, more])}`,
      run: async (at: Followed) => {
        const answer = { ...more, answerRows: sizeOf(at, size) };
        await Promise.all([at.fetch(one, answer), at.fetch(other, answer), at.fetch(other, answer, 'other')]);
        return false;
      },
    })),
  },
  {
    weight: 2,
    arbitrary: kind.map((next) => ({
      name: `know ${JSON.stringify(next)}`,
      run: async (at: Followed) => {
        at.know(next);
        return true;
      },
    })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(10, 20).map((rows) => ({
      name: `find cap ${rows}`,
      run: async (at: Followed) => {
        at.findCap(rows);
        return true;
      },
    })),
  },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 4 }).map((day) => ({
      name: `mark ${day}`,
      run: (at: Followed) => at.mark(day).then(() => false),
    })),
  },
  {
    weight: 1,
    arbitrary: fc.constant({ name: 'erase', run: (at: Followed) => at.erase().then(() => false) }),
  },
  { weight: 3, arbitrary: fc.constant({ name: 'walk', run: async () => false }) },
);

it('who applies all that was told holds what history shows, whatever was fetched, found, erased and taken back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      const at = await openFollowed();
      at.clock.pass(20 * 24 * HOUR);
      let [isBehind, former] = [false, at.kind()];
      for (const { name, run } of steps) {
        at.clock.pass(HOUR);
        const before = at.kind();
        if (await run(at, former)) isBehind = true;
        if (at.kind() !== before) former = before;
        if (name === 'walk') {
          await at.walkAgain();
          isBehind = false;
        }
        if (isBehind) continue;
        expect(at.held).toEqual(await at.shown());
        const { told, stored } = await at.finals();
        expect(told).toEqual(stored);
      }
    }),
    { numRuns: 60 },
  );
});
