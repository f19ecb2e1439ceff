import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeRecord, scanJournal } from '../../../src/store/embedded/journal-format.js';

const values = fc.array(fc.jsonValue(), { minLength: 1, maxLength: 6 });
/** JSON has no -0. */
const normal = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;

describe('journal format', () => {
  it('gives back what was encoded', () => {
    fc.assert(
      fc.property(values, (all) => {
        const file = Buffer.concat(all.map(encodeRecord));
        expect(scanJournal(file)).toEqual({ values: all.map(normal), end: file.length, rest: 'nothing' });
      }),
    );
  });

  it('reads nothing from an empty file', () => {
    expect(scanJournal(Buffer.alloc(0))).toEqual({ values: [], end: 0, rest: 'nothing' });
  });

  it('cut anywhere, gives the whole records before the cut, and says that the rest is torn', () => {
    fc.assert(
      fc.property(values, fc.nat(), (all, at) => {
        const records = all.map(encodeRecord);
        const file = Buffer.concat(records);
        const cut = at % file.length;
        let end = 0;
        let whole = 0;
        for (const record of records) {
          if (end + record.length > cut) break;
          end += record.length;
          whole += 1;
        }
        expect(scanJournal(file.subarray(0, cut))).toEqual({
          values: all.slice(0, whole).map(normal),
          end,
          rest: end === cut ? 'nothing' : 'torn',
        });
      }),
    );
  });

  it('with a bit changed in a record that others follow, says that and where it is damaged', () => {
    fc.assert(
      fc.property(values, fc.jsonValue(), fc.nat(), fc.nat(), (all, last, pick, bit) => {
        const records = all.map(encodeRecord);
        const damaged = pick % records.length;
        const offset = Buffer.concat(records.slice(0, damaged)).length;
        flip(records[damaged] as Buffer, bit);
        const scan = scanJournal(Buffer.concat([...records, encodeRecord(last)]));
        expect(scan).toEqual({ values: all.slice(0, damaged).map(normal), end: offset, rest: 'damaged' });
      }),
    );
  });

  it('with a bit changed in the last record, or nulls in its place, takes it for torn', () => {
    fc.assert(
      fc.property(values, fc.jsonValue(), fc.nat(), fc.boolean(), (all, last, bit, zeroed) => {
        const before = Buffer.concat(all.map(encodeRecord));
        const record = encodeRecord(last);
        if (zeroed) record.fill(0);
        else flip(record, bit);
        expect(scanJournal(Buffer.concat([before, record]))).toEqual({
          values: all.map(normal),
          end: before.length,
          rest: 'torn',
        });
      }),
    );
  });

  it.each(['a text file\n', '\u0000'.repeat(64), '{"teams":[]}'])(
    'does not take %j for a journal',
    (text) => {
      expect(scanJournal(Buffer.from(text))).toEqual({ values: [], end: 0, rest: 'foreign' });
    },
  );

  it('takes the start of a first record for one that is torn', () => {
    const record = encodeRecord({ format: 1 });
    for (let cut = 1; cut < record.length; cut += 1) {
      expect(scanJournal(record.subarray(0, cut))).toEqual({ values: [], end: 0, rest: 'torn' });
    }
  });
});

function flip(bytes: Buffer, bit: number): void {
  const at = Math.floor(bit / 8) % bytes.length;
  bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit % 8));
}
