import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NOTE_MAX_BYTES } from '../../src/store/charges-port.js';
import { noteOf, purseOf, unknownWrite } from '../../src/write-guard/unknown-writes.js';

const text = fc.string({ unit: 'binary' });

it('reads of a charge what was reserved, whatever it is called, and why', () => {
  const named = fc.record({ team: text, route: text, day: text });
  fc.assert(
    fc.property(named, fc.nat(), fc.nat(), text, (reserved, amount, atMs, why) => {
      const charge = { id: 'a', purse: purseOf(reserved), amount, note: noteOf(atMs, why) };
      expect(charge.purse).not.toContain('\n');
      expect(unknownWrite(charge, 0, 0)).toEqual({
        id: 'a',
        ...reserved,
        amount,
        atMs,
        why: why.slice(0, 300),
      });
    }),
  );
});

it('writes notes that a store takes, however long what is known is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 300, maxLength: 2000 }), (why) => {
      expect(Buffer.byteLength(noteOf(Number.MAX_SAFE_INTEGER, why))).toBeLessThanOrEqual(NOTE_MAX_BYTES);
    }),
    { examples: [['\0'.repeat(400)], ['€'.repeat(400)], ['\ud800'.repeat(400)]] },
  );
});

it('takes a call for one under way for as long as calls last, and ten seconds more', () => {
  const times = fc.record({ atMs: fc.nat(), callMs: fc.nat(100_000), passedMs: fc.nat(200_000) });
  fc.assert(
    fc.property(times, ({ atMs, callMs, passedMs }) => {
      const charge = { id: 'a', purse: '["t","r","d"]', amount: 1, note: noteOf(atMs) };
      const isUnknown = unknownWrite(charge, atMs + passedMs, callMs) !== null;
      expect(isUnknown).toBe(passedMs >= callMs + 10_000);
    }),
  );
});
