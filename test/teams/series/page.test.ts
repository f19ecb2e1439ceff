/** Pages of the series: what is packed comes back, and what is added grows. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AT,
  BINS_MS,
  binAt,
  CELL_SIZE,
  type Cell,
  mergeInto,
  quantileMs,
} from '../../../src/teams/series/cell.js';
import {
  addBatch,
  decodePage,
  EMPTY_PAGE,
  encodePage,
  mergedCells,
  type Page,
} from '../../../src/teams/series/page.js';

/** Small ones, those at which a varint becomes longer, and the largest there is. */
const number = fc.oneof(
  fc.nat({ max: 300 }),
  fc.constantFrom(0, 127, 128, 2 ** 31, 2 ** 32, 2 ** 49, Number.MAX_SAFE_INTEGER),
  fc.maxSafeNat(),
);
const cell = fc
  .array(fc.tuple(fc.nat({ max: CELL_SIZE - 1 }), number), { maxLength: CELL_SIZE })
  .map((numbers) => {
    const made = new Float64Array(CELL_SIZE);
    for (const [at, value] of numbers) made[at] = value;
    return made;
  });
const cells = fc
  .uniqueArray(fc.tuple(fc.nat({ max: 59 }), cell), { selector: ([slot]) => slot, maxLength: 60 })
  .map((all) => new Map(all));
const page: fc.Arbitrary<Page> = fc.record({
  cells,
  writers: fc
    .uniqueArray(fc.tuple(fc.stringMatching(/^[0-9a-f]{1,10}$/), fc.nat()), { selector: ([id]) => id })
    .map((all) => new Map(all)),
  names: fc.uniqueArray(fc.stringMatching(/^[a-z0-9-]{1,40}$/)),
});
const plain = (all: ReadonlyMap<number, Cell>) =>
  Object.fromEntries([...all].sort(([one], [other]) => one - other).map(([slot, one]) => [slot, [...one]]));
const opened = (text: string): Page => {
  const found = decodePage(text);
  if (typeof found === 'string') throw new Error(found);
  return found;
};

describe('a page', () => {
  it('comes back as it was packed', () => {
    fc.assert(
      fc.property(page, (one) => {
        const found = opened(encodePage(one));
        expect(plain(found.cells)).toEqual(plain(one.cells));
        expect([...found.writers]).toEqual([...one.writers]);
        expect(found.names).toEqual(one.names);
      }),
    );
  });

  it('that is damaged anywhere is known as such, or is of another release, and never throws', () => {
    fc.assert(
      fc.property(page, fc.nat(), fc.stringMatching(/^[ -~]$/), (one, place, other) => {
        const text = encodePage(one);
        const at = place % text.length;
        const broken = text.slice(0, at) + other + text.slice(at + 1);
        const found = decodePage(broken);
        if (broken === text) expect(typeof found).toBe('object');
        else if (at === 0) expect(['damaged', 'foreign']).toContain(found);
        else expect(['damaged', 'foreign']).toContain(found);
        expect(decodePage(text.slice(0, at))).toSatisfy((cut) => typeof cut === 'string');
      }),
    );
    for (const text of ['', '1', '1.', 'nonsense', '{"a":1}', '1.x...'])
      expect([text, decodePage(text)]).toEqual([text, 'damaged']);
    expect(decodePage('2.anything.of.another.release')).toBe('foreign');
  });

  it('has after a batch what it had and what was added, whatever the order of batches', () => {
    fc.assert(
      fc.property(page, cells, cells, (before, one, other) => {
        const batches = [one, other].map((some) => ({ cells: some, names: new Set<string>() }));
        const add = (order: readonly number[]) =>
          order.reduce(
            (so, at) => addBatch(so, batches[at] as (typeof batches)[number], `w${at}`, 1, 10),
            before,
          );
        expect(plain(add([0, 1]).cells)).toEqual(plain(add([1, 0]).cells));
        expect(plain(add([0, 1]).cells)).toEqual(plain(mergedCells([before.cells, one, other])));
      }),
    );
  });

  it('forgets the writers that have written nothing for long, and takes no more names than it may', () => {
    const name = (at: number) => ({ cells: new Map(), names: new Set([`team-${at}`]) });
    let so = EMPTY_PAGE;
    for (let at = 0; at < 100; at += 1) so = addBatch(so, name(at), `w${at}`, at + 1, 5);
    expect(so.names).toEqual(['team-0', 'team-1', 'team-2', 'team-3', 'team-4']);
    expect([so.writers.size, [...so.writers.keys()][0], so.writers.get('w99')]).toEqual([64, 'w36', 100]);
    expect([...addBatch(so, name(0), 'w50', 500, 5).writers].at(-1)).toEqual(['w50', 500]);
  });
});

describe('a cell', () => {
  const with_ = (numbers: Readonly<Record<number, number>>) => {
    const made = new Float64Array(CELL_SIZE);
    for (const [at, value] of Object.entries(numbers)) made[Number(at)] = value;
    return made;
  };

  it('is added to by sums, the longest queue, the least that is known to be left and the latest request', () => {
    const one = with_({ [AT.hit]: 2, [AT.queue]: 5, [AT.budget]: 0, [AT.last]: 30 });
    mergeInto(one, with_({ [AT.hit]: 3, [AT.queue]: 4, [AT.budget]: 8, [AT.last]: 20 }));
    mergeInto(one, with_({ [AT.budget]: 9 }));
    mergeInto(one, with_({ [AT.budget]: 3, [AT.last]: 31 }));
    expect([AT.hit, AT.queue, AT.budget, AT.last].map((at) => one[at])).toEqual([5, 5, 3, 31]);
  });

  it('puts each latency into the first bin whose edge it does not exceed, and the longest into the last', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), (ms) => {
        const bin = binAt(ms) - AT.bins;
        if (bin > 0) expect(ms).toBeGreaterThan(BINS_MS[bin - 1] as number);
        if (bin < BINS_MS.length - 1) expect(ms).toBeLessThanOrEqual(BINS_MS[bin] as number);
      }),
    );
    expect(AT.bins + BINS_MS.length).toBe(AT.queue);
  });

  it('tells a quantile within the bin that has it', () => {
    expect(quantileMs(with_({}), 0.5)).toBeNull();
    const binned = with_({ [binAt(0.1)]: 50, [binAt(7)]: 49, [binAt(90_000)]: 1 });
    expect(quantileMs(binned, 0.5)).toBe(0.5);
    expect(quantileMs(binned, 0.75)).toBeCloseTo(5 + 5 * (25 / 49), 1);
    expect(quantileMs(binned, 1)).toBe(60_000);
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 59_000, noNaN: true }), { minLength: 1 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (all, share) => {
          const made = with_({});
          for (const ms of all) made[binAt(ms)] = (made[binAt(ms)] as number) + 1;
          const found = quantileMs(made, share) as number;
          expect(found).toBeGreaterThanOrEqual(0);
          expect(found).toBeLessThanOrEqual(BINS_MS[binAt(Math.max(...all)) - AT.bins] as number);
        },
      ),
    );
  });
});
