import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeReach } from '../../../src/reports/history/forgotten.js';
import { DAY, NOON as NOW } from '../../support/test-clock.js';

type Reach = ReturnType<typeof mergeReach>;

const reach = fc
  .record({
    rows: fc.array(fc.tuple(fc.integer({ min: NOW, max: NOW + 10 * DAY }), fc.nat(100)), { maxLength: 5 }),
    edge: fc.option(
      fc.record({
        ageDays: fc.nat(100),
        sinceMs: fc.constant(NOW),
        atMs: fc.integer({ min: NOW, max: NOW + 10 * DAY }),
      }),
    ),
  })
  .map(({ rows, edge }): Reach => {
    const [first = { rows: [] }, ...others] = rows.map((one): Reach => ({ rows: [one] }));
    const all = others.reduce(mergeReach, first);
    return edge === null ? all : mergeReach(all, { rows: [], edge });
  });

describe('what replicas have seen of how far back the platform answers', () => {
  it('is the same whichever is added to the other', () => {
    fc.assert(
      fc.property(reach, reach, (one, other) => {
        expect(mergeReach(other, one)).toEqual(mergeReach(one, other));
      }),
    );
  });

  it('holds an age once, the older it was seen the greater, and none that is beyond the edge', () => {
    fc.assert(
      fc.property(reach, reach, (one, other) => {
        const { rows, edge } = mergeReach(one, other);
        for (const [at, [atMs, ageDays]] of rows.entries()) {
          const before = rows[at - 1];
          if (before !== undefined) expect(atMs <= before[0] && ageDays > before[1]).toBe(true);
          if (edge !== undefined) expect(ageDays).toBeLessThan(edge.ageDays);
        }
      }),
    );
  });

  it('ends an edge by a later answer that reaches beyond it', () => {
    const edge = { ageDays: 51, sinceMs: NOW, atMs: NOW };
    const known: Reach = { rows: [[NOW, 50]], edge };
    expect(mergeReach(known, { rows: [[NOW - DAY, 60]] })).toEqual(known);
    expect(mergeReach(known, { rows: [[NOW + DAY, 60]] })).toEqual({
      ...{ rows: [[NOW + DAY, 60]], ended: [NOW + DAY, 60] },
    });
  });

  it('does not take up an edge again within a day of the answer that proved it wrong', () => {
    const ended: Reach = { rows: [[NOW, 60]], ended: [NOW, 60] };
    const edge = (atMs: number, ageDays = 51): Reach => ({
      rows: [],
      edge: { ageDays, sinceMs: NOW, atMs },
    });
    expect(mergeReach(ended, edge(NOW + DAY / 2))).toEqual(ended);
    expect(mergeReach(ended, edge(NOW + DAY / 2, 61))).toHaveProperty('edge');
    expect(mergeReach(ended, edge(NOW + 2 * DAY))).toHaveProperty('edge');
  });

  it('keeps the age at which a day was refused alone with the edge that it proves', () => {
    const edge = { ageDays: 51, sinceMs: NOW, atMs: NOW };
    const refused: [number, number] = [NOW, 60];
    const proven = mergeReach({ rows: [], edge: { ...edge, refused } }, { rows: [], edge });
    expect(proven.edge?.refused).toEqual(refused);
    expect(mergeReach(proven, { rows: [[NOW + 1, 55]] })).not.toHaveProperty('edge');
  });
});
