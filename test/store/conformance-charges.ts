import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ChargeAsk, NOTE_MAX_BYTES } from '../../src/store/charges-port.js';
import { DAY, MINUTE } from '../support/test-clock.js';
import { playCharges, stepOfCharges } from './charges-model.js';
import { type OpenHarness, withStore } from './harness.js';

const ask: ChargeAsk = { id: 'a', purse: 'p', amount: 3, max: 10, note: 'first', ttlMs: DAY };

export function describeCharges(open: OpenHarness): void {
  describe('charges', () => {
    it('are exact up to the largest safe integer', () =>
      withStore(open, async ({ store: { charges } }) => {
        const max = Number.MAX_SAFE_INTEGER;
        expect(await charges.charge({ ...ask, amount: max - 1, max })).toEqual({
          kind: 'made',
          charged: max - 1,
        });
        expect(await charges.charge({ ...ask, id: 'b', amount: 2, max })).toEqual({
          kind: 'over',
          charged: max - 1,
        });
        expect(await charges.charge({ ...ask, id: 'c', amount: 1, max })).toEqual({
          kind: 'made',
          charged: max,
        });
        await charges.end('a', 'back');
        expect(await charges.charged('p')).toBe(1);
      }));

    it('are not made any more once they were ended, should they come late', () =>
      withStore(open, async ({ store, another, elapse }) => {
        const other = await another();
        expect(await store.charges.end('a', 'back')).toBe(false);
        await elapse(9 * MINUTE);
        expect(await other.charges.charge(ask)).toEqual({ kind: 'ended', charged: 0 });
        expect(await store.charges.charged('p')).toBe(0);
        await elapse(2 * MINUTE);
        expect(await other.charges.charge(ask)).toEqual({ kind: 'made', charged: 3 });
      }));

    it('are told while they are open, with their note, whatever it says', () =>
      withStore(open, async ({ store, another }) => {
        const other = await another();
        const note = '{"why":"a\nb\tc \u2028 €"}';
        await store.charges.charge({ ...ask, purse: '["growth","POST /x","2026-11-23"]', note });
        expect(await other.charges.open()).toEqual([
          { id: 'a', purse: '["growth","POST /x","2026-11-23"]', amount: 3, note },
        ]);
        expect(await other.charges.note('a', '')).toBe(true);
        expect(await store.charges.open()).toMatchObject([{ id: 'a', amount: 3, note: '' }]);
        await store.charges.end('a', 'kept');
        expect(await other.charges.note('a', 'late')).toBe(false);
        expect(await store.charges.open()).toEqual([]);
      }));

    it('stay open beyond the end of their purse, which is empty then', () =>
      withStore(open, async ({ store: { charges }, elapse }) => {
        await charges.charge({ ...ask, ttlMs: 2 * MINUTE });
        await elapse(MINUTE);
        await charges.charge({ ...ask, id: 'b', ttlMs: 2 * MINUTE });
        await elapse(1.5 * MINUTE);
        expect(await charges.charged('p')).toBe(6);
        await elapse(MINUTE);
        expect(await charges.charged('p')).toBe(0);
        expect((await charges.open()).map(({ id }) => id).sort()).toEqual(['a', 'b']);
        expect(await charges.end('a', 'back')).toBe(true);
        expect(await charges.charged('p')).toBe(0);
        expect(await charges.charge({ ...ask, id: 'c' })).toEqual({ kind: 'made', charged: 3 });
        expect(await charges.end('b', 'back')).toBe(true);
      }));

    it.each([
      { purse: 'a\nb' },
      { amount: -1 },
      { amount: 0.5 },
      { amount: 2 ** 53 },
      { max: -1 },
      { max: Number.NaN },
      { note: '€'.repeat(NOTE_MAX_BYTES / 3 + 1) },
      { ttlMs: 0 },
      { ttlMs: Number.POSITIVE_INFINITY },
    ])('refuse %j', (wrong) =>
      withStore(open, async ({ store: { charges } }) => {
        await expect(charges.charge({ ...ask, ...wrong })).rejects.toThrow(RangeError);
        expect(await charges.charged('p')).toBe(0);
        expect(await charges.open()).toEqual([]);
      }),
    );

    it('are never more than the limit, of many at once through several handles', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another(), await another()];
        const answers = await Promise.all(
          Array.from({ length: 60 }, (_, at) =>
            stores[at % 3]?.charges.charge({ ...ask, id: `many ${at}`, amount: 3, max: 100 }),
          ),
        );
        expect(answers.filter((answer) => answer?.kind === 'made')).toHaveLength(33);
        expect(await store.charges.charged('p')).toBe(99);
        expect(await store.charges.open()).toHaveLength(33);
      }));

    it('are what the calls make them, through two handles, in whatever order, repeated or late', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another()];
        let round = 0;
        const property = fc.asyncProperty(fc.array(stepOfCharges, { maxLength: 14 }), async (steps) => {
          round += 1;
          await playCharges(stores, `${round} `, steps);
        });
        await fc.assert(property, { numRuns: 60 });
      }));
  });
}
