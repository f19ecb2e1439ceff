import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { daysBetween } from '../../../src/reports/query/days.js';
import { rewritesFor } from '../../../src/reports/rows/column-types.js';
import {
  type DayBlock,
  type DigestInput,
  digestAnswer,
  digestBytes,
} from '../../../src/reports/rows/digest.js';
import { bodyHash, ROW_SEPARATOR, rewriteBody } from '../../../src/reports/rows/entry.js';
import { joinEntries } from '../../../src/reports/rows/join-entries.js';
import { factsOf } from './entries.js';

const PERIOD = { from: '2026-11-01', to: '2026-11-10' };
const DATES = daysBetween(PERIOD.from, PERIOD.to);
const ASK: DigestInput = {
  rule: {},
  period: PERIOD,
  byDate: true,
  splits: true,
  accountPattern: /^(?:user|advertiser)ids?$/,
  whole: true,
};

/** Rows of several shapes, with texts that a careless join or cut would break. */
const row = fc.record(
  {
    date: fc.constantFrom(...DATES),
    campaign_id: fc.nat(5),
    spent: fc.constantFrom<unknown>('1.50', '2', '1e5', '', 3, 2.25),
    slot: fc.constantFrom('10.1', '10.10', '9.20', '-4.00'),
    hour: fc.constantFrom('09', '10'),
    name: fc.constantFrom(',\n', '"},\n{"', '\u2028', '東', '\\', 'plain'),
    advertiser_id: fc.integer({ min: 1, max: 3 }),
  },
  { requiredKeys: ['date'] },
);
const answer = fc.array(row, { maxLength: 40 });

const digest = (rows: readonly object[], ask: Partial<DigestInput> = {}) =>
  digestAnswer(JSON.stringify(rows), { ...ASK, ...ask });
const textOf = (blocks: readonly { readonly body: Buffer }[]) =>
  blocks
    .filter(({ body }) => body.length > 0)
    .map(({ body }) => body.toString())
    .join(ROW_SEPARATOR);
const parsed = (text: string): { date: string }[] => JSON.parse(`[${text}]`);

describe('splitting by day', () => {
  it('loses, adds and moves nothing: the days joined are the whole, byte for byte', () => {
    fc.assert(
      fc.property(answer, (rows) => {
        const { whole, days, rowCount } = digest(rows);
        const filled = (days ?? []).filter((day) => day.rowCount > 0);
        const rewrites = rewritesFor(filled);
        const unified = filled.map((day, at) => ({ body: rewriteBody(day.body, rewrites[at] ?? null) }));
        expect(textOf(unified)).toBe(whole?.body.toString());
        // The same rows in the same order as an answer that is not split.
        const unsplit = digest(rows, { period: { from: null, to: null } });
        expect(unsplit.days).toBeNull();
        expect(whole).toEqual(unsplit.whole);
        expect(rowCount).toBe(rows.length);
        expect(whole?.hash).toBe(bodyHash(whole?.body as Buffer));
      }),
    );
  });

  it('gives a part of the period exactly what an answer for that part alone would give', () => {
    fc.assert(
      fc.property(answer, fc.nat(9), fc.nat(9), (rows, one, other) => {
        const [from, to] = [DATES[Math.min(one, other)] as string, DATES[Math.max(one, other)] as string];
        const inside = rows.filter(({ date }) => date >= from && date <= to);
        const alone = digest(inside, { period: { from, to } });
        const cut = digest(rows).days?.filter(({ date }) => date >= from && date <= to);
        expect(cut).toEqual(alone.days);
      }),
    );
  });

  it('makes one block of every day, in order, with that day alone in it; an empty day is a block too', () => {
    fc.assert(
      fc.property(answer, (rows) => {
        const { days, lastDate } = digest(rows);
        expect(days?.map(({ date }) => date)).toEqual(DATES);
        for (const { date, body, rowCount, hash, columns } of days ?? []) {
          const own = parsed(body.toString());
          expect(own.every((one) => one.date === date)).toBe(true);
          expect(own).toHaveLength(rowCount);
          expect(rowCount).toBe(rows.filter((one) => one.date === date).length);
          expect(hash).toBe(bodyHash(body));
          expect([...columns].sort()).toEqual([...new Set(own.flatMap((one) => Object.keys(one)))].sort());
        }
        const filled = rows.map(({ date }) => date).sort();
        expect(lastDate).toBe(filled.at(-1) ?? null);
      }),
    );
  });

  it('names a day alike whatever the order of its rows, and differently for other rows', () => {
    fc.assert(
      fc.property(
        fc.array(row, { minLength: 1, maxLength: 12 }),
        fc.infiniteStream(fc.nat()),
        (rows, random) => {
          const ofOneDay = rows.map((one) => ({ ...one, date: PERIOD.from }));
          const shuffled = ofOneDay
            .map((one) => ({ one, at: random.next().value as number }))
            .sort((a, b) => a.at - b.at)
            .map(({ one }) => one);
          const first = (list: readonly object[]) =>
            (digest(list).days as readonly DayBlock[])[0] as DayBlock;
          expect(first(shuffled).sortedHash).toBe(first(ofOneDay).sortedHash);
          expect(first([...ofOneDay, ofOneDay[0] as object]).sortedHash).not.toBe(first(ofOneDay).sortedHash);
          const changed = [{ ...ofOneDay[0], clicks: 1 }, ...ofOneDay.slice(1)];
          expect(first(changed).sortedHash).not.toBe(first(ofOneDay).sortedHash);
        },
      ),
    );
  });

  it('finds the accounts of all rows', () => {
    fc.assert(
      fc.property(answer, (rows) => {
        const named = rows.flatMap((one) => one.advertiser_id ?? []).map(String);
        expect(digest(rows).accounts).toEqual([...new Set(named)].sort());
      }),
    );
  });

  it('leaves the whole out when only days are wanted', () => {
    const { whole, days } = digest([{ date: '2026-11-02' }], { whole: false });
    expect(whole).toBeNull();
    expect(days).toHaveLength(10);
  });
});

describe('an answer that may not be split', () => {
  const ROW = { date: '2026-11-02', clicks: 1 };
  it.each<[string, object, Partial<DigestInput>]>([
    ['has totals beside its rows', { data: [ROW], totals: { clicks: 1 } }, {}],
    ['has a count beside its rows', { data: [ROW], count: 1 }, {}],
    ['has a list beside its rows', { data: [ROW], warnings_of: ['x'] }, {}],
    ['is one page of several', { data: [ROW], meta: { current_page: 1, last_page: 2 } }, {}],
    ['has a link to a next page', { data: [ROW], links: { next: 'https://platform/next' } }, {}],
    ['has a row without a date', [ROW, { clicks: 2 }], {}],
    ['has a row whose date is null', [ROW, { date: null, clicks: 2 }], {}],
    ['has a row of an hour', [ROW, { date: '2026-11-02 13:00:00', clicks: 2 }], {}],
    ['has a row of the day before the period', [ROW, { date: '2026-10-31', clicks: 2 }], {}],
    ['has a row of the day after the period', [ROW, { date: '2026-11-11', clicks: 2 }], {}],
    ['is not split by date', [ROW], { byDate: false }],
    ['answers no period', [ROW], { period: { from: null, to: null } }],
  ])('%s', (_what, document, ask) => {
    const { days, splittable, whole, rowCount } = digestAnswer(JSON.stringify(document), { ...ASK, ...ask });
    expect(days).toBeNull();
    if (ask.byDate !== false && ask.period !== null) expect(splittable).toMatchObject({ ok: false });
    expect(parsed(whole?.body.toString() ?? '')).toHaveLength(rowCount);
  });

  it('is not one whose date is a midnight, or one beside which stand words and flags', () => {
    const document = {
      status: 'ok',
      success: true,
      next: null,
      data: [{ date: '2026-11-02 00:00:00' }, { date: '2026-11-03T00:00:00.000000Z' }],
    };
    expect(digestAnswer(JSON.stringify(document), ASK).days?.map(({ rowCount }) => rowCount)).toEqual([
      0, 1, 1, 0, 0, 0, 0, 0, 0, 0,
    ]);
  });
});

describe('days joined again (joinEntries)', () => {
  const partOf = (block: DayBlock, fetchedAt: number, seq: number) => ({
    body: block.body,
    header: {
      ...factsOf({ fetchedAt, fetchStartedAt: fetchedAt - 1, lastDay: block.date }),
      form: 'rows' as const,
      seq,
      accounts: [String(seq)],
      columns: block.columns,
      types: block.types,
      rowCount: block.rowCount,
      hash: block.hash,
      paging: null,
      splitFrom: { ...PERIOD, sortedHash: block.sortedHash, generation: 'first' },
    },
  });

  it('are the whole answer, as old as the oldest, and as purged as the most purged of them', () => {
    const ages = fc.array(fc.nat(1000), { minLength: 10, maxLength: 10 });
    fc.assert(
      fc.property(answer, ages, ages, (rows, times, seqs) => {
        const { whole, days } = digest(rows);
        const parts = (days ?? []).map((day, at) => partOf(day, times[at] as number, seqs[at] as number));
        const { header, body } = joinEntries(parts);
        expect(body.toString()).toBe(whole?.body.toString());
        expect(header.hash).toBe(whole?.hash);
        expect(header.rowCount).toBe(rows.length);
        expect([...header.columns].sort()).toEqual([...(whole?.columns ?? [])].sort());
        expect([header.fetchedAt, header.seq]).toEqual([Math.min(...times), Math.min(...seqs)]);
        expect(header.lastDay).toBe(PERIOD.to);
        expect(header.splitFrom).toBeNull();
        expect(header.accounts).toEqual([...new Set(seqs.map(String))].sort());
      }),
    );
  });

  it('has an empty end when its last day is empty, whatever the others are', () => {
    const { days } = digest([{ date: '2026-11-01' }]);
    const parts = (days ?? []).map((day) => {
      const part = partOf(day, 1, 1);
      return {
        ...part,
        header: { ...part.header, emptyTail: day.rowCount > 0 ? 'no' : 'unconfirmed' } as const,
      };
    });
    expect(joinEntries(parts).header.emptyTail).toBe('unconfirmed');
    expect(joinEntries(parts.slice(0, 1)).header.emptyTail).toBe('no');
    expect(joinEntries(parts.toReversed()).header.emptyTail).toBe('no');
  });
});

describe('digestBytes', () => {
  const bytes = (text: string) => new Uint8Array(Buffer.from(text));

  it('tells rows, no rows, and no JSON apart, and names the accounts of what has no rows', () => {
    expect(digestBytes(bytes('[{"date":"2026-11-01"}]'), ASK)).toMatchObject({
      kind: 'digest',
      digest: { rowCount: 1 },
    });
    expect(digestBytes(bytes('{"data":{"advertiser_id":7}}'), ASK)).toMatchObject({
      kind: 'no-rows',
      accounts: ['7'],
    });
    expect(digestBytes(bytes('{"data":[}'), ASK)).toMatchObject({ kind: 'invalid' });
  });

  it('reads a window of larger memory, shared or not', () => {
    const text = '[{"date":"2026-11-01","name":"東"}]';
    const memory = new Uint8Array(new SharedArrayBuffer(200));
    memory.set(bytes(text), 50);
    const window = memory.subarray(50, 50 + Buffer.byteLength(text));
    const outcome = digestBytes(window, ASK);
    expect(outcome.kind === 'digest' && outcome.digest.whole?.body.toString()).toBe(text.slice(1, -1));
  });
});
