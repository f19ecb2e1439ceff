import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MINUTE } from '../support/test-clock.js';
import { type OpenHarness, type StoreHarness, withStore } from './harness.js';

export function describePresence(open: OpenHarness): void {
  describe('presence', () => {
    it.each([0, 0.5, Number.NaN, Number.POSITIVE_INFINITY])('refuses a time of %d', (ttlMs) =>
      withStore(open, async ({ store: { presence } }) => {
        await expect(presence.beat('a', '', ttlMs)).rejects.toThrow(RangeError);
        expect(await presence.list()).toEqual([]);
      }),
    );

    it('behaves like a map whose entries lapse', () =>
      withStore(open, (harness) => fc.assert(mapProperty(harness), { numRuns: 25 })));
  });
}

/** Times end half-way between the moments looked at, so that the time the test takes changes nothing. */
const TICK = 10 * MINUTE;

function mapProperty({ store: { presence }, elapse }: StoreHarness) {
  const ids = ['a', 'b', 'c'];
  const step = fc.record({
    does: fc.constantFrom('beat', 'beat', 'leave', 'elapse'),
    id: fc.constantFrom(...ids),
    info: fc.string(),
    ticks: fc.integer({ min: 0, max: 3 }),
  });
  return fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
    for (const id of ids) await presence.leave(id);
    const model = new Map<string, { info: string; ends: number }>();
    let now = 0;
    for (const { does, id, info, ticks } of steps) {
      if (does === 'beat') {
        await presence.beat(id, info, ticks * TICK + TICK / 2);
        model.set(id, { info, ends: now + ticks });
      } else if (does === 'leave') {
        await presence.leave(id);
        model.delete(id);
      } else {
        await elapse((ticks + 1) * TICK);
        now += ticks + 1;
      }
      const expected = ids.flatMap((name) => {
        const entry = model.get(name);
        return entry === undefined || now > entry.ends ? [] : [{ id: name, info: entry.info }];
      });
      expect(await presence.list()).toEqual(expected);
    }
  });
}
