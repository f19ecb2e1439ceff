/** Advertisers and their names: what rows say, and what becomes of it when several replicas have seen something. */
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  bounded,
  decodeAdvertisers,
  encodeAdvertisers,
  type KnownAdvertisers,
  MAX_ADVERTISERS,
  MAX_NAME,
  merge,
  NO_ADVERTISERS,
  namesIn,
  without,
} from '../../../src/reports/learn/advertisers.js';
import { type Entry, ROW_SEPARATOR, type RowsHeader } from '../../../src/reports/rows/entry.js';
import { DOCUMENT_MAX_BYTES } from '../../../src/store/port.js';

const FIELDS = ['advertiserId', 'userId'];

function entry(rows: readonly object[], accounts: readonly string[] = []): Entry<RowsHeader> {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return {
    header: { columns, accounts, rowCount: rows.length } as unknown as RowsHeader,
    body: Buffer.from(rows.map((row) => JSON.stringify(row)).join(ROW_SEPARATOR)),
  };
}

const named = (...rows: object[]) => Object.fromEntries(namesIn([entry(rows)], FIELDS));

describe('names in rows', () => {
  it('stand beside the id by which teams are limited, in either form', () => {
    expect(named({ advertiserId: 1, advertiserName: 'Acme' }, { advertiserId: '2' })).toEqual({
      1: 'Acme',
      2: null,
    });
    expect(named({ advertiser: { id: 3, name: 'Nested' } })).toEqual({ 3: 'Nested' });
    expect(named({ userId: 4, userName: 'As user' })).toEqual({ 4: 'As user' });
  });

  it('of ids of another kind are none, and neither is what is no id', () => {
    expect(named({ clientId: 1, clientName: 'Other kind' })).toEqual({});
    expect(named({ campaignId: 1, campaignName: 'A campaign' })).toEqual({});
    for (const advertiserId of [0, -1, '01', 1.5, 'x', null, '9007199254740993', { id: 1 }])
      expect(named({ advertiserId, advertiserName: 'Nobody' })).toEqual({});
  });

  it('are text of at most 200 characters that can be written, whatever stood there', () => {
    const of = (advertiserName: unknown) => named({ advertiserId: 1, advertiserName })['1'];
    expect(of('<img src=x onerror=alert(1)>')).toBe('<img src=x onerror=alert(1)>');
    expect(of(' a\r\n\tb\u0000 ')).toBe('a b');
    expect(of('x'.repeat(1000))).toBe('x'.repeat(MAX_NAME));
    expect(of(`${'x'.repeat(MAX_NAME - 1)}😀`)).toBe(`${'x'.repeat(MAX_NAME - 1)}\ufffd`);
    for (const none of ['', '   ', 7, null, ['x']]) expect(of(none)).toBeNull();
  });

  it('of one advertiser are read from the last row alone, or from the last one with a name', () => {
    const row = (advertiserName?: string) => ({ advertiserId: 1, advertiserName, clicks: 1 });
    const parse = vi.spyOn(JSON, 'parse');
    onTestFinished(() => void parse.mockRestore());
    const of = (...days: object[][]) =>
      Object.fromEntries(
        namesIn(
          days.map((rows) => entry(rows, ['1'])),
          FIELDS,
        ),
      );
    expect(of([row('Old'), row('New')], [row('Newer'), row('Newest')])).toEqual({ 1: 'Newest' });
    expect(parse).toHaveBeenCalledTimes(1);
    expect(of([row('Old'), row('Named'), row(), row()], [row()])).toEqual({ 1: 'Named' });
    expect(of([{ clicks: 1 }, { advertiserId: 1 }])).toEqual({ 1: null });
    expect(of([{ advertiserId: 1 }, { clicks: 1 }])).toEqual({ 1: null });
  });

  it('are looked for in the beginning of a large answer alone, in whole rows', () => {
    const rows = Array.from({ length: 20_000 }, (_, at) => ({
      advertiserId: at + 1,
      advertiserName: 'Name',
    }));
    const found = namesIn([entry(rows)], FIELDS);
    expect(found.size).toBeGreaterThan(1000);
    expect(found.size).toBeLessThan(10_000);
    expect([...found.values()].every((name) => name === 'Name')).toBe(true);
  });
});

const source = { at: fc.integer({ min: 0, max: 5 }), seq: fc.integer({ min: 0, max: 2 }) };
const one = fc.record({
  seen: fc.record(source),
  name: fc.option(fc.record({ ...source, text: fc.constantFrom('a', 'b', 'c') })),
});
const book = fc
  .uniqueArray(fc.tuple(fc.constantFrom('1', '2', '3'), one), { selector: ([id]) => id })
  .map((all): KnownAdvertisers => new Map(all));
const text = (all: KnownAdvertisers) => encodeAdvertisers(all);

describe('what several have seen', () => {
  it('is the same in whatever order, and however often, it is added', () => {
    fc.assert(
      fc.property(book, book, book, (a, b, c) => {
        expect(text(merge(a, b))).toBe(text(merge(b, a)));
        expect(text(merge(merge(a, b), c))).toBe(text(merge(a, merge(b, c))));
        expect(text(merge(a, a))).toBe(text(a));
      }),
    );
  });

  it('is read as it was written; what another release has written is left alone', () => {
    fc.assert(
      fc.property(book, (all) => {
        expect(text(decodeAdvertisers(text(all)) as KnownAdvertisers)).toBe(text(all));
      }),
    );
    expect(decodeAdvertisers('{"form":2}')).toBeNull();
  });

  it('is gone by what was purged: the name of an older answer, or all', () => {
    const all: KnownAdvertisers = new Map([
      ['1', { seen: { at: 9, seq: 2 }, name: { at: 3, seq: 1, text: 'Old' } }],
    ]);
    expect(without(all, (_, { seq }) => seq < 2).get('1')).toEqual({ seen: { at: 9, seq: 2 }, name: null });
    expect(without(all, () => true)).toEqual(NO_ADVERTISERS);
    expect(without(all, () => false)).toEqual(all);
  });

  it('never outgrows a document of the store', () => {
    const worst = Array.from({ length: MAX_ADVERTISERS + 10 }, (_, at) => {
      const source = { at: 1e15 + at, seq: Number.MAX_SAFE_INTEGER };
      return [
        String(Number.MAX_SAFE_INTEGER - at),
        { seen: source, name: { ...source, text: '東'.repeat(MAX_NAME) } },
      ] as const;
    });
    const kept = bounded(new Map(worst));
    expect(kept.size).toBe(MAX_ADVERTISERS);
    expect(kept.has(String(Number.MAX_SAFE_INTEGER))).toBe(false);
    expect(Buffer.byteLength(encodeAdvertisers(kept))).toBeLessThan(DOCUMENT_MAX_BYTES);
  });
});
