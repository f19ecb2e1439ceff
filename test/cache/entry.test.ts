import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeEntry, encodeEntry } from '../../src/cache/entry.js';

const SAMPLE = encodeEntry({ form: 'rows', asOf: 1, name: 'ü' }, Buffer.from(' {"a":1},\n{"a":2}'));
const header = fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true });
const body = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));

describe('encodeEntry and decodeEntry', () => {
  it('are each other’s inverse', () => {
    fc.assert(
      fc.property(header, body, (head, content) => {
        const decoded = decodeEntry(encodeEntry(head, content));
        expect(decoded?.header).toEqual(JSON.parse(JSON.stringify(head)));
        expect(decoded?.body.equals(content)).toBe(true);
      }),
    );
  });

  it('take an entry for absent when any of its bytes is another', () => {
    for (let at = 0; at < SAMPLE.length; at++) {
      for (const flip of [0x01, 0x80, 0xff]) {
        const damaged = Buffer.from(SAMPLE);
        damaged[at] = (damaged[at] as number) ^ flip;
        expect(decodeEntry(damaged), `byte ${at} flipped by ${flip}`).toBeNull();
      }
    }
  });

  it('take it for absent when it is cut anywhere, or longer', () => {
    for (let length = 0; length < SAMPLE.length; length++)
      expect(decodeEntry(SAMPLE.subarray(0, length)), `cut at ${length}`).toBeNull();
    expect(decodeEntry(Buffer.concat([SAMPLE, Buffer.from([0])]))).toBeNull();
  });

  it('take it for absent when header and body are divided elsewhere', () => {
    // The first byte of the body is a space, which JSON lets follow the header.
    const moved = Buffer.from(SAMPLE);
    moved.writeUInt32BE(SAMPLE.readUInt32BE(8) + 1, 8);
    moved.writeUInt32BE(SAMPLE.readUInt32BE(12) - 1, 12);
    expect(decodeEntry(moved)).toBeNull();
  });

  it('take anything else for absent', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect(decodeEntry(Buffer.from(bytes))).toBeNull();
        expect(decodeEntry(Buffer.concat([Buffer.from('DGE1'), bytes]))).toBeNull();
      }),
    );
    expect(decodeEntry(Buffer.from('{"data":[]}'))).toBeNull();
  });
});
