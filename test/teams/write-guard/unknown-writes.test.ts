import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NOTE_MAX_BYTES } from '../../../src/store/charges-port.js';
import { noteOf, purseOf, unknownWrite } from '../../../src/teams/write-guard/reservations.js';

const text = fc.string({ unit: 'binary' });

it('reads of a charge what was reserved, whatever it is called, and why', () => {
  const named = fc.record({ team: text, route: text, day: text });
  const noted = fc.record({
    atMs: fc.nat(),
    amount: fc.option(fc.nat()),
    currency: fc.option(text),
  });
  fc.assert(
    fc.property(named, noted, fc.nat(), text, (reserved, write, charged, why) => {
      const charge = { id: 'a', purse: purseOf(reserved), amount: charged, note: noteOf(write, why) };
      expect(charge.purse).not.toContain('\n');
      expect(unknownWrite(charge, 0, 0)).toEqual({ id: 'a', ...reserved, ...write, why: why.slice(0, 300) });
    }),
  );
});

it('reads notes that name no amount, of releases that charged every one', () => {
  const charge = { id: 'a', purse: '["t","r","d"]', amount: 7, note: '{"atMs":1,"why":"so"}' };
  expect(unknownWrite(charge, 0, 0)).toMatchObject({ amount: 7, currency: null, why: 'so' });
});

const noted = (atMs: number) => ({ atMs, amount: Number.MAX_SAFE_INTEGER, currency: 'C'.repeat(8) });

it('writes notes that a store takes, however long what is known is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 300, maxLength: 2000 }), (why) => {
      expect(Buffer.byteLength(noteOf(noted(Number.MAX_SAFE_INTEGER), why))).toBeLessThanOrEqual(
        NOTE_MAX_BYTES,
      );
    }),
    { examples: [['\0'.repeat(400)], ['€'.repeat(400)], ['\ud800'.repeat(400)]] },
  );
});

it('takes a call for one under way for as long as calls last, and ten seconds more', () => {
  const times = fc.record({ atMs: fc.nat(), callMs: fc.nat(100_000), passedMs: fc.nat(200_000) });
  fc.assert(
    fc.property(times, ({ atMs, callMs, passedMs }) => {
      const charge = { id: 'a', purse: '["t","r","d"]', amount: 1, note: noteOf(noted(atMs)) };
      const isUnknown = unknownWrite(charge, atMs + passedMs, callMs) !== null;
      expect(isUnknown).toBe(passedMs >= callMs + 10_000);
    }),
  );
});
