/** Answers as they are assembled of parts, and their tags. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayNumber } from '../../../src/reports/query/days.js';
import type { Assembled, AssembleInput } from '../../../src/reports/rows/answer.js';
import { assemble, assembleBytes } from '../../../src/reports/rows/assemble.js';
import { ask, bodyOf, HOUR, QUERY, ROWS } from './assembled.js';
import { bytesEntry, FETCHED_AT, RULES, refusalEntry, rowsEntry } from './entries.js';

const jsonOf = (answer: Assembled) => JSON.parse(bodyOf(answer).toString());

describe('assemble: JSON', () => {
  it('is exactly the shape of the contract', () => {
    expect(jsonOf(assemble(ask()))).toEqual({
      data: [
        { date: '2026-11-09', campaignId: 7, spent: 12.34 },
        { date: '2026-11-10', campaignId: 7, spent: 0.1, note: 'a, b' },
      ],
      meta: {
        endpoint: 'campaigns/get',
        advertiserId: 1,
        period: { from: '2026-11-09', to: '2026-11-10' },
        split: ['date', 'campaign'],
        spentBased: null,
        rowCount: 2,
        asOf: '2026-11-21T12:00:00.000Z',
        final: true,
        stale: false,
        reach: { summable: false },
      },
    });
  });

  it('warns that rows have no column for a split, and not where a column begins with its name or nothing came', () => {
    const warned = (query: string, rows: object[]) =>
      (
        jsonOf(assemble(ask({ parts: [rowsEntry(rows as never, { byDate: true })] }, query))).meta.warnings ??
        []
      ).map(({ code }: { code: string }) => code);
    const byCreative = `${QUERY}&byCreative=1`;
    expect(warned(byCreative, ROWS)).toEqual(['parameters_passed_on', 'split_not_shown']);
    expect(jsonOf(assemble(ask({}, byCreative))).meta.warnings.at(-1).message).toMatch(
      /^No column of the rows begins with creative, of meta\.split: /,
    );
    const shown = ROWS.map((row) => ({ ...row, creative_id: 5 }));
    for (const rows of [shown, []]) expect(warned(byCreative, rows)).toEqual(['parameters_passed_on']);
    expect(warned(QUERY, ROWS)).toEqual([]);
  });

  it('says null where the platform decided', () => {
    const part = rowsEntry([{ spent: 1 }], { lastDay: null, kind: 'open' });
    const { meta } = jsonOf(assemble(ask({ parts: [part] }, 'byCampaign=0')));
    expect(meta).toMatchObject({
      advertiserId: null,
      period: null,
      split: [],
      spentBased: null,
      final: false,
      reach: { summable: true },
    });
    expect(jsonOf(assemble(ask({ parts: [part] }, 'dateFrom=2026-11-01'))).meta.period).toEqual({
      from: '2026-11-01',
      to: null,
    });
  });

  it.each([
    ['9007199254740991', 9_007_199_254_740_991],
    ['9007199254740993', '9007199254740993'],
  ])('shows the id %s without loss', (id, shown) => {
    expect(jsonOf(assemble(ask({}, `advertiserId=${id}`))).meta.advertiserId).toBe(shown);
  });

  it('says reach may be summed only where nothing is split', () => {
    const summable = (query: string) => jsonOf(assemble(ask({}, query))).meta.reach.summable;
    expect(['byDate=1', 'byCreative=1', 'spentBased=usd'].map(summable)).toEqual([false, false, true]);
  });

  it('is as old as its oldest part, and as final and fresh as its least', () => {
    const young = rowsEntry(ROWS.slice(1), { fetchedAt: FETCHED_AT, lastDay: '2026-11-20' });
    const old = rowsEntry(ROWS.slice(0, 1), { fetchedAt: FETCHED_AT - 2 * HOUR, lastDay: '2026-11-09' });
    const answer = assemble(ask({ parts: [old, young] }));
    expect(jsonOf(answer).meta).toMatchObject({
      asOf: '2026-11-21T10:00:00.000Z',
      final: false,
      stale: false,
      rowCount: 2,
    });
    expect(answer.asOfMs).toBe(FETCHED_AT - 2 * HOUR);
    expect(answer.freshUntilMs).toBe(FETCHED_AT + HOUR);
    const later = assemble(ask({ parts: [old, young], nowMs: FETCHED_AT + HOUR }));
    expect(later.stale).toBe(true);
    expect(jsonOf(later).meta.stale).toBe(true);
  });

  it('shows the single row of the unsplit report as totals, and nothing when there is not exactly one', () => {
    const meta = (rows: readonly object[] | null) =>
      jsonOf(assemble(ask({ totals: rows === null ? null : rowsEntry(rows) }))).meta;
    expect(meta([{ spent: '9.50', unique_reach: 3 }]).totals).toEqual({ spent: 9.5, uniqueReach: 3 });
    expect(meta(null)).not.toHaveProperty('totals');
    expect(meta([{ spent: 1 }, { spent: 2 }])).not.toHaveProperty('totals');
  });

  it('says so where totals were asked for and there are none', () => {
    const warnings = (totals: AssembleInput['totals']) => jsonOf(assemble(ask({ totals }))).meta.warnings;
    const missing = (why: string) => [{ code: 'totals_unavailable', message: expect.stringContaining(why) }];
    expect(warnings(rowsEntry([]))).toEqual(missing('has no row'));
    expect(warnings(rowsEntry([{ spent: 1 }, { spent: 2 }]))).toEqual(missing('has 2 rows'));
    expect(warnings(bytesEntry('no JSON', { opaque: true }))).toEqual(missing('is not a table of rows'));
    expect([warnings(null), warnings(rowsEntry([{ spent: 1 }]))]).toEqual([undefined, undefined]);
  });

  it('is not final while its totals may be restated', () => {
    const early = { fetchedOn: dayNumber('2026-11-12') as number };
    const final = (totals: AssembleInput['totals']) => jsonOf(assemble(ask({ totals }))).meta.final;
    expect([final(null), final(rowsEntry([{ spent: 1 }])), final(rowsEntry([{ spent: 1 }], early))]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("shows the platform's paging when these rows are not all there are", () => {
    const paging = { page: 1, pages: 3, perPage: 2, total: 6 };
    expect(jsonOf(assemble(ask({ parts: [rowsEntry(ROWS, { paging })] }))).meta.paging).toEqual(paging);
    expect(jsonOf(assemble(ask())).meta).not.toHaveProperty('paging');
  });

  it('shows the age of each day of one answer', () => {
    const part = rowsEntry(ROWS, { byDate: true, lastDay: '2026-11-17' });
    const query = 'byDate=1&dateFrom=2026-11-15&dateTo=2026-11-17';
    const { meta } = jsonOf(assemble(ask({ parts: [part], days: true, nowMs: FETCHED_AT + HOUR }, query)));
    const common = { asOf: '2026-11-21T12:00:00.000Z', stale: true };
    expect(meta.days).toEqual([
      { date: '2026-11-15', final: true, ...common },
      { date: '2026-11-16', final: false, ...common },
      { date: '2026-11-17', final: false, ...common },
    ]);
  });

  it('shows when a day from history was seen last, and the other days of the same answer as of its fetch', () => {
    const seenMs = FETCHED_AT - HOUR;
    const forgotten = {
      code: 'beyond_retention' as const,
      days: ['2026-11-15'],
      sinceMs: FETCHED_AT,
      seenMs,
      final: true,
      againMs: HOUR,
    };
    const part = rowsEntry(ROWS, { byDate: true, lastDay: '2026-11-16', forgotten });
    const query = 'byDate=1&dateFrom=2026-11-15&dateTo=2026-11-16';
    const { meta } = jsonOf(assemble(ask({ parts: [part], days: true }, query)));
    expect(meta.days).toMatchObject([
      { date: '2026-11-15', asOf: '2026-11-21T11:00:00.000Z' },
      { date: '2026-11-16', asOf: '2026-11-21T12:00:00.000Z' },
    ]);
  });

  it('shows the age of each day of an answer made of days', () => {
    const day = (lastDay: string, fetchedAt: number) => rowsEntry([], { lastDay, fetchedAt });
    const parts = [day('2026-11-09', FETCHED_AT - HOUR), day('2026-11-10', FETCHED_AT)];
    expect(jsonOf(assemble(ask({ parts, days: true }))).meta.days).toEqual([
      { date: '2026-11-09', asOf: '2026-11-21T11:00:00.000Z', final: true, stale: false },
      { date: '2026-11-10', asOf: '2026-11-21T12:00:00.000Z', final: true, stale: false },
    ]);
  });

  it('joins parts without rows between them', () => {
    const parts = [[], ROWS.slice(0, 1), [], ROWS.slice(1), []].map((rows) => rowsEntry(rows));
    expect(jsonOf(assemble(ask({ parts }))).data).toHaveLength(2);
    expect(jsonOf(assemble(ask({ parts: [rowsEntry([])] })))).toMatchObject({
      data: [],
      meta: { rowCount: 0 },
    });
  });
});

describe('assemble: other formats', () => {
  it('gives CSV without rows as an empty body, which has no header line', () => {
    const answer = assemble(ask({ format: 'csv', parts: [rowsEntry([])] }));
    expect(answer.contentType).toBe('text/csv; charset=utf-8; header=absent');
    expect(bodyOf(answer).toString()).toBe('');
  });

  it('gives CSV with the union of all columns, and a mark in front when asked', () => {
    const parts = [
      rowsEntry(ROWS.slice(0, 1)),
      rowsEntry(ROWS.slice(1)),
      rowsEntry([{ extra: 1, date: '2026-11-11' }]),
    ];
    const answer = assemble(ask({ format: 'csv', parts }));
    expect(answer.contentType).toBe('text/csv; charset=utf-8; header=present');
    expect(bodyOf(answer).toString()).toBe(
      'date,campaignId,spent,note,extra\r\n2026-11-09,7,12.34,,\r\n2026-11-10,7,0.1,"a, b",\r\n2026-11-11,,,,1\r\n',
    );
    const marked = bodyOf(assemble(ask({ format: 'csv', parts, bom: true })));
    expect(marked.subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]));
  });

  it('keeps numbers that JavaScript cannot hold', () => {
    const body = Buffer.from('{"id":9007199254740993,"x":"9007199254740993","spent":0.1}');
    const part = { ...rowsEntry([]), body };
    const parts = [{ ...part, header: { ...part.header, rowCount: 1, columns: ['id', 'x', 'spent'] } }];
    expect(bodyOf(assemble(ask({ parts }))).toString()).toContain(body.toString());
    const lines = assemble(ask({ parts, format: 'ndjson' }));
    expect([lines.contentType, bodyOf(lines).toString()]).toEqual([
      'application/x-ndjson; charset=utf-8',
      `${body}\n`,
    ]);
    expect(bodyOf(assemble(ask({ parts, format: 'csv' }))).toString()).toBe(
      'id,x,spent\r\n9007199254740993,9007199254740993,0.1\r\n',
    );
  });

  it("gives the platform's own bytes, status and content type", () => {
    const part = bytesEntry('{"any" : 1}', { status: 203, contentType: 'application/json; charset=UTF-8' });
    const answer = assembleBytes(part, RULES, FETCHED_AT + 1000);
    expect(answer).toMatchObject({
      status: 203,
      contentType: 'application/json; charset=UTF-8',
      stale: false,
      asOfMs: FETCHED_AT,
    });
    expect(bodyOf(answer).toString()).toBe('{"any" : 1}');
    expect(assembleBytes(part, RULES, FETCHED_AT + 31 * 24 * HOUR).stale).toBe(true);
  });
});

describe('assemble: what else is known of an answer', () => {
  it('holds every account and the oldest purge state of its parts, totals included', () => {
    const parts = [
      rowsEntry([{ advertiser_id: 3 }, { advertiser_id: 1 }], { seq: 5 }),
      rowsEntry([{ advertiser_id: 1 }], { seq: 4 }),
    ];
    const answer = assemble(ask({ parts, totals: rowsEntry([{ advertiser_id: 9 }], { seq: 2 }) }));
    expect(answer.accounts.toSorted()).toEqual(['1', '3', '9']);
    expect(answer.seq).toBe(2);
  });

  it('knows about how large its body is before it is made', () => {
    const answer = assemble(ask());
    expect(Math.abs(answer.weight - bodyOf(answer).length)).toBeLessThan(40);
  });
});

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

  it.each(['json', 'ndjson', 'csv'] as const)(
    'of %s differs whenever the body does, and of JSON only then',
    (format) => {
      fc.assert(
        fc.property(pairs, ([one, other]) => {
          const [left, right] = [build(format, one), build(format, other)];
          const isSame = left.tag === right.tag;
          if (isSame || format !== 'csv') expect(bodyOf(left).equals(bodyOf(right))).toBe(isSame);
          expect(build(format, one).tag).toBe(left.tag);
        }),
      );
    },
  );

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
    const choices = [{}, { format: 'csv' }, { format: 'csv', bom: true }, { format: 'ndjson' }] as const;
    expect(new Set(choices.map((choice) => assemble(ask(choice)).tag)).size).toBe(4);
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
