/** Contents of days as bytes: every byte comes back, damaged ones are nothing. */
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { packColumns, unpackColumns } from '../../src/store/columns.js';
import { packDays, unpackDays } from '../../src/store/history-content.js';
import type { HistoryContent } from '../../src/store/history-port.js';

const anyBytes = fc.uint8Array({ maxLength: 400 }).map((all) => Buffer.from(all));
const rows = fc
  .array(
    fc.record({
      date: fc.constantFrom('2026-03-01', '2026-03-02'),
      id: fc.nat(),
      of: fc.string(),
      x: fc.double(),
    }),
    { maxLength: 9 },
  )
  .map((all) => Buffer.from(all.map((row) => JSON.stringify(row)).join(',\n')));
const texts = fc.oneof(
  rows,
  anyBytes,
  fc.string({ unit: fc.constantFrom('0', '1', '9', ',', '\n', 'a') }).map(Buffer.from),
);

it('any text comes back from its columns', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const packed = packColumns(text);
      expect(packed && unpackColumns(packed, text.length)).toEqual(text);
    }),
  );
});

it('lines of more than 256 shapes have no columns, nor has a very long text', () => {
  const lines = Array.from({ length: 257 }, (_, at) => 'x'.repeat(at));
  expect(packColumns(Buffer.from(lines.join('\n')))).toBeNull();
  const fewer = Buffer.from(lines.slice(1).join('\n'));
  expect(unpackColumns(packColumns(fewer) as Buffer, fewer.length)).toEqual(fewer);
  expect(packColumns(Buffer.alloc(2 ** 20 + 1))).toBeNull();
});

it('damaged columns are refused, or a text of that length', () => {
  const change = fc.record({
    at: fc.nat({ max: 200 }),
    byte: fc.nat({ max: 255 }),
    end: fc.nat({ max: 300 }),
  });
  fc.assert(
    fc.property(rows, change, (text, { at, byte, end }) => {
      const packed = packColumns(text) as Buffer;
      packed[at] = byte;
      try {
        expect(unpackColumns(packed.subarray(0, end), text.length)).toHaveLength(text.length);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    }),
  );
});

const contents = (bodies: readonly Buffer[]) =>
  new Map(
    bodies.map((body, at): [string, HistoryContent] => [
      `0${at + 1}`,
      { version: at, header: Buffer.from([at, 0, 255]), body, facts: Buffer.from(`{"of":${at % 2}}`) },
    ]),
  );

it('days come back from their pack, and none from a damaged one', () => {
  fc.assert(
    fc.property(fc.array(texts, { minLength: 1, maxLength: 9 }), fc.nat(), (bodies, at) => {
      const packed = packDays(contents(bodies));
      expect(unpackDays(packed)).toEqual(contents(bodies));
      expect(unpackDays(packed.subarray(0, at % packed.length)).size).toBe(0);
    }),
  );
});

it('a pack of an earlier release, with bodies one after the other, is read', () => {
  const facts = Buffer.from('{}');
  const [one, two] = ['{"a":1}', '{"a":22}'].map((text) => Buffer.from(text));
  const days = [one, two].map((body = facts, at) =>
    Buffer.from([0x30, 0x31 + at, 0, 0, 0, 0, 0, 7, 0, 1, 0, 0, 0, body.length, 0x68]),
  );
  const plain = Buffer.concat([
    Buffer.from([1, 2, 0, 0, 0, 2]),
    facts,
    ...days,
    one as Buffer,
    two as Buffer,
  ]);
  const content = { version: 7, header: Buffer.from('h'), facts };
  expect(unpackDays(deflateRawSync(plain))).toEqual(
    new Map([
      ['01', { ...content, body: one }],
      ['02', { ...content, body: two }],
    ]),
  );
});

it('columns of rows deflate to three quarters of the rows', () => {
  const number = (at: number, below: number) => (at * 2_654_435_761) % below;
  const rows = Array.from({ length: 45 }, (_, at) => ({
    ...{ date: `2026-03-0${1 + Math.floor(at / 5)}`, advertiserId: 1020, campaignId: 102_001 + (at % 5) },
    ...{ impressions: number(at, 90_001), clicks: number(at, 907), spent: number(at, 4_294_967) / 10_000 },
  }));
  const text = Buffer.from(rows.map((row) => JSON.stringify(row)).join(',\n'));
  const packed = packColumns(text) as Buffer;
  expect(deflateRawSync(packed).length).toBeLessThan(0.75 * deflateRawSync(text).length);
});
