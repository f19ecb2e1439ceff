/** Whole entries as they are stored: header, body, checksum. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeEntry, encodeEntry, type RawEntry } from '../../../src/reports/cache/entry.js';
import type { CacheEntry } from '../../../src/store/port.js';
import { laterForm } from './later-form.js';

const VERSION = Date.parse('2026-11-21T12:00:00Z');
const HEADER = { form: 'rows', lastDay: '2026-11-10', accounts: ['1', '東'], rowCount: 2, paging: null };
const ID = 'c5:{series}:w:2026-11-01:2026-11-10';
const BODY = Buffer.from(' {"a":1},\n{"a":2}');
const LONG = Buffer.from(' {"a":1},\n'.repeat(50));

function entryOf(header: object, body = BODY, version = VERSION): CacheEntry {
  return { version, bytes: encodeEntry({ id: ID, version, header, body }) };
}

/** Of rows, which deflate makes smaller, and of anything. */
const anyBody = fc.oneof(
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  fc
    .array(fc.json(), { maxLength: 40 })
    .map((rows) => Buffer.from(rows.map((row) => `{"date":"2026-11-10","clicks":${row}}`).join(',\n'))),
);

describe('encodeEntry and decodeEntry', () => {
  it("are each other's inverse, for any header, body and version", () =>
    fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.string(), fc.jsonValue()),
        anyBody,
        fc.integer({ min: 0, max: 2 ** 48 - 1 }),
        async (header, body, version) => {
          const decoded = (await decodeEntry(ID, entryOf(header, body, version))) as RawEntry;
          expect(decoded.header).toEqual(JSON.parse(JSON.stringify(header)));
          expect([decoded.version, decoded.body.equals(body)]).toEqual([version, true]);
        },
      ),
    ));

  it('give a deflated body as it is stored too, to be joined to an answer', async () => {
    const { segment, body } = (await decodeEntry(ID, entryOf(HEADER, LONG))) as RawEntry;
    expect(body.equals(LONG)).toBe(true);
    expect(segment?.plainLength).toBe(LONG.length);
    expect(segment?.bytes.length).toBeLessThan(LONG.length / 4);
    expect(await decodeEntry(ID, entryOf(HEADER))).not.toHaveProperty('segment');
  });

  it('find every flipped bit: the entry is damaged, and never another', async () => {
    for (const body of [BODY, LONG]) {
      const { version, bytes } = entryOf(HEADER, body);
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const flipped = Buffer.from(bytes);
        flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
        expect(await decodeEntry(ID, { version, bytes: flipped }), `bit ${bit}`).toBe('damaged');
      }
      for (let bit = 0; bit < 48; bit += 1) {
        const other = Number(BigInt(VERSION) ^ (1n << BigInt(bit)));
        expect(await decodeEntry(ID, { version: other, bytes }), `version, bit ${bit}`).toBe('damaged');
      }
    }
  });

  it('take an entry under another name, or one that is cut off or longer, for damaged', async () => {
    const { version, bytes } = entryOf(HEADER);
    expect(await decodeEntry(ID.replace('w', 'b'), { version, bytes })).toBe('damaged');
    for (let length = 0; length < bytes.length; length++)
      expect(await decodeEntry(ID, { version, bytes: bytes.subarray(0, length) })).toBe('damaged');
    expect(await decodeEntry(ID, { version, bytes: Buffer.concat([bytes, Buffer.of(0)]) })).toBe('damaged');
  });

  it('tell what another release has written from what is damaged', async () => {
    expect(await decodeEntry(ID, laterForm(ID, entryOf(HEADER)))).toBe('unknown');
  });

  it("read no bytes that are nobody's", () =>
    fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        expect(await decodeEntry(ID, { version: 1, bytes: Buffer.from(bytes) })).toBe('damaged');
      }),
    ));
});
