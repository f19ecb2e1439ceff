/** The console's picture of the last changes: its points, its scales and its groups. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ChangePoint,
  groupsOf,
  type LastChanges,
  pointOf,
  scaleOf,
} from '../../src/web/console/cache/last-changes.js';

type Message = LastChanges['data'][number];

const message = (headers: object, more: object = {}) =>
  ({
    type: 'day',
    key: 'AAAAAAAAAAAAAAAAAAAAAA 2026-11-18',
    value: {
      endpoint: 'campaigns/get',
      advertiserId: 7,
      split: ['date'],
      totals: { clicks: '9', spent: '30' },
    },
    old_value: { revision: 'a', totals: { clicks: '10', spent: '20' } },
    headers: { operation: 'update', timestamp: '2026-11-21T08:00:00.000Z', kind: 'restated', ...headers },
    ...more,
  }) as Message;

describe('a point', () => {
  it('is a day at the time its change was seen, as large as the change of the measure that changed most', () => {
    expect(pointOf(message({}))).toMatchObject({
      ...{ date: '2026-11-18', seenAt: '2026-11-21T08:00:00.000Z', advertiser: '7' },
      report: 'campaigns/get, by date',
      why: 'corrected by the platform',
      most: { name: 'spent', before: 20, now: 30, share: 1 / 3 },
    });
    expect(pointOf(message({ method: true })).why).toBe('fetched with another token or other columns');
  });

  it('of a day that is gone has lost everything, and one without sums has no size', () => {
    const gone = pointOf(message({ operation: 'delete', kind: 'erased' }, { value: undefined }));
    expect(gone).toMatchObject({ advertiser: null, why: 'erased', most: { now: 0, share: 1 } });
    expect(gone.report).toContain('series AAAA');
    expect(pointOf(message({}, { old_value: { revision: 'a' } })).most).toBeNull();
    expect(pointOf(message({}, { value: {} })).most).toBeNull();
  });
});

describe('a scale', () => {
  it('has every value inside, and at most so many marks as there is room for', () => {
    const values = fc.array(fc.integer({ min: 1_700_000_000, max: 1_900_000_000 }), { minLength: 1 });
    fc.assert(
      fc.property(
        values,
        fc.constantFrom(3600, 86_400),
        fc.integer({ min: 1, max: 9 }),
        (all, step, most) => {
          const { at, marks } = scaleOf(all, step, most);
          for (const value of all) {
            expect(at(value)).toBeGreaterThan(0);
            expect(at(value)).toBeLessThan(1);
          }
          expect(marks.length).toBeLessThanOrEqual(most + 1);
          expect(marks.length).toBeGreaterThan(0);
          for (const mark of marks) {
            expect(mark % step).toBe(0);
            expect(at(mark)).toBeLessThanOrEqual(1);
          }
        },
      ),
    );
  });
});

it('groups are the advertisers with most changes, and the others together', () => {
  const points = ['1', '2', '2', '3', null, '2', '3'].map((advertiser) => ({ advertiser }) as ChangePoint);
  expect(groupsOf(points, 2)).toEqual([
    { id: '2', number: 3 },
    { id: '3', number: 2 },
    { id: null, number: 2 },
  ]);
  expect(groupsOf(points.slice(0, 3), 2)).toEqual([
    { id: '2', number: 2 },
    { id: '1', number: 1 },
  ]);
});
