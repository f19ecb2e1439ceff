import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MINUTE } from '../support/test-clock.js';
import { type OpenHarness, type StoreHarness, withStore } from './harness.js';

export function describePresence(open: OpenHarness): void {
  describe('presence', () => {
    it('lists those who are there, sorted, with what they said last', () =>
      withStore(open, async ({ store, another }) => {
        const other = await another();
        expect(await store.presence.list()).toEqual([]);
        for (const id of ['b', 'a', 'ä', 'B', '']) await store.presence.beat(id, `I am ${id}`, MINUTE);
        await other.presence.beat('b', 'changed ✓', MINUTE);
        expect(await other.presence.list()).toEqual([
          { id: '', info: 'I am ' },
          { id: 'B', info: 'I am B' },
          { id: 'a', info: 'I am a' },
          { id: 'b', info: 'changed ✓' },
          { id: 'ä', info: 'I am ä' },
        ]);
      }));

    it('forgets who leaves, and nobody else', () =>
      withStore(open, async ({ store, another }) => {
        const other = await another();
        for (const id of ['a', 'b']) await store.presence.beat(id, '', MINUTE);
        await other.presence.leave('a');
        await other.presence.leave('nobody');
        expect(await store.presence.list()).toEqual([{ id: 'b', info: '' }]);
      }));

    it('forgets who is not heard from for the time it gave', () =>
      withStore(open, async ({ store: { presence }, elapse }) => {
        await presence.beat('short', '', 2 * MINUTE);
        await presence.beat('long', '', 9 * MINUTE);
        await presence.beat('shortened', '', 9 * MINUTE);
        await presence.beat('shortened', '', 2 * MINUTE);
        await elapse(MINUTE);
        expect(await presence.list()).toHaveLength(3);
        await elapse(2 * MINUTE);
        expect(await presence.list()).toEqual([{ id: 'long', info: '' }]);
        await presence.beat('short', 'back', MINUTE);
        expect(await presence.list()).toEqual([
          { id: 'long', info: '' },
          { id: 'short', info: 'back' },
        ]);
      }));

    it.each([0, 0.5, Number.NaN, Number.POSITIVE_INFINITY])('refuses a time of %d', (ttlMs) =>
      withStore(open, async ({ store: { presence } }) => {
        await expect(presence.beat('a', '', ttlMs)).rejects.toThrow(RangeError);
        expect(await presence.list()).toEqual([]);
      }),
    );

    it('behaves like a map whose entries lapse', () =>
      withStore(open, (harness) => fc.assert(mapProperty(harness), { numRuns: 40 })));
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
