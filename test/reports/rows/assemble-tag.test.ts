import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Assembled, AssembleInput } from '../../../src/reports/rows/answer.js';
import { assemble, assembleBytes } from '../../../src/reports/rows/assemble.js';
import { ask, bodyOf, HOUR, QUERY, ROWS } from './assembled.js';
import { bytesEntry, FETCHED_AT, RULES, refusalEntry, rowsEntry } from './entries.js';

describe('the tag', () => {
  const cell = fc.constantFrom<unknown>(1, '1.50', 'a', null, '');
  const row = fc.dictionary(fc.constantFrom('a', 'b', 'date'), cell, { maxKeys: 3, noNullPrototype: true });
  interface Drawn {
    readonly rows: readonly object[];
    readonly totals: object | null;
    readonly days: boolean;
    readonly fetchedAt: number;
    readonly lastDay: string;
    readonly query: string;
  }
  const drawn: fc.Arbitrary<Drawn> = fc.record({
    rows: fc.array(row, { maxLength: 3 }),
    totals: fc.option(row, { nil: null }),
    days: fc.boolean(),
    fetchedAt: fc.constantFrom(FETCHED_AT, FETCHED_AT - 1, FETCHED_AT - 2 * HOUR),
    lastDay: fc.constantFrom('2026-11-10', '2026-11-20', '2026-11-21'),
    query: fc.constantFrom(
      QUERY,
      `${QUERY}&spentBased=usd`,
      QUERY.replace('advertiserId=1', 'advertiserId=2'),
    ),
  });
  /** Two that are equal, or differ in one member. */
  const pairs = fc
    .tuple(
      drawn,
      drawn,
      fc.constantFrom<keyof Drawn>('rows', 'totals', 'days', 'fetchedAt', 'lastDay', 'query'),
    )
    .map(([one, other, member]) => [one, { ...one, [member]: other[member] }] as const);

  function build(
    format: AssembleInput['format'],
    { rows, totals, days, query, ...header }: Drawn,
  ): Assembled {
    const parts = [rowsEntry(rows, { ...header, byDate: true })];
    return assemble(ask({ format, days, parts, totals: totals && rowsEntry([totals]) }, query));
  }

  it.each(['json', 'ndjson'] as const)('of %s is the same exactly when the body is', (format) => {
    fc.assert(
      fc.property(pairs, ([one, other]) => {
        const [left, right] = [build(format, one), build(format, other)];
        expect(left.tag === right.tag).toBe(bodyOf(left).equals(bodyOf(right)));
      }),
      { numRuns: 500 },
    );
  });

  it('of CSV differs whenever the body does', () => {
    fc.assert(
      fc.property(pairs, ([one, other]) => {
        const [left, right] = [build('csv', one), build('csv', other)];
        if (left.tag === right.tag) expect(bodyOf(left)).toEqual(bodyOf(right));
        expect(build('csv', one).tag).toBe(left.tag);
      }),
      { numRuns: 500 },
    );
  });

  it('of CSV tells the order of columns, which rows in date order do not', () => {
    const late = { date: '2026-11-10', b: 1 };
    const early = { date: '2026-11-09', a: 1 };
    const [one, other] = [
      [early, late],
      [late, early],
    ].map((rows) => assemble(ask({ format: 'csv', parts: [rowsEntry(rows, { byDate: true })] }))) as [
      Assembled,
      Assembled,
    ];
    expect(bodyOf(one)).not.toEqual(bodyOf(other));
    expect(one.tag).not.toBe(other.tag);
  });

  it('differs by format, and by the mark in front of CSV', () => {
    const tags = [
      assemble(ask()).tag,
      assemble(ask({ format: 'csv' })).tag,
      assemble(ask({ format: 'csv', bom: true })).tag,
      assemble(ask({ format: 'ndjson' })).tag,
    ];
    expect(new Set(tags).size).toBe(4);
  });

  it('of raw bytes differs by bytes, status and content type, and by nothing else', () => {
    const tag = (part: Parameters<typeof assembleBytes>[0], nowMs = FETCHED_AT) =>
      assembleBytes(part, RULES, nowMs).tag;
    const tags = [
      tag(bytesEntry('a')),
      tag(bytesEntry('b')),
      tag(bytesEntry('a', { contentType: 'text/csv' })),
      tag(bytesEntry('a', { status: 203 })),
      tag(refusalEntry('a')),
    ];
    expect(new Set(tags).size).toBe(tags.length);
    expect(tag(bytesEntry('a', { fetchedAt: FETCHED_AT - HOUR }), FETCHED_AT + HOUR)).toBe(tags[0]);
  });

  it('is made from what is known of a body, not from the body', () => {
    const { header, body } = rowsEntry(ROWS);
    const unread = { header, body: Buffer.alloc(body.length) };
    expect(assemble(ask({ parts: [unread] })).tag).toBe(assemble(ask({ parts: [{ header, body }] })).tag);
  });
});
