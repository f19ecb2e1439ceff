/** Answers cut into days, days joined again, rows selected of them; and what an entry must have. */

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
import {
  bodyHash,
  type Entry,
  type EntryHeader,
  isEntryHeader,
  ROW_SEPARATOR,
  type RowsHeader,
  rewriteBody,
} from '../../../src/reports/rows/entry.js';
import { joinEntries } from '../../../src/reports/rows/join-entries.js';
import { provesCap } from '../../../src/reports/rows/proves-cap.js';
import { selectionOf, selectRows } from '../../../src/reports/rows/select-rows.js';
import { get } from '../query/canonical-request.js';
import { bytesEntry, factsOf, RULES, refusalEntry, rowsEntry } from './entries.js';

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
        // Also without a figure.
        const rule = { requiredColumns: ['date'] };
        const { whole, days, lastDate, accounts } = digest(rows, { whole: false, rule });
        const named = rows.flatMap((one) => one.advertiser_id ?? []).map(String);
        expect([whole, accounts]).toEqual([null, [...new Set(named)].sort()]);
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
});

describe('an answer that may not be split', () => {
  const ROW = { date: '2026-11-02', clicks: 1 };
  it.each<[string, object, Partial<DigestInput>]>([
    ['is one page of several', { data: [ROW], meta: { current_page: 1, last_page: 2 } }, {}],
    ['has a row of an hour', [ROW, { date: '2026-11-02 13:00:00', clicks: 2 }], {}],
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
      answerRows: block.rowCount,
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

const HEADERS: readonly EntryHeader[] = [
  rowsEntry([{ advertiser_id: 1 }]).header,
  bytesEntry('{}').header,
  refusalEntry('{}').header,
];

describe('isEntryHeader', () => {
  it.each(HEADERS)('knows a header of form $form, also after it went through JSON', (header) => {
    expect(isEntryHeader(header)).toBe(true);
    expect(isEntryHeader(JSON.parse(JSON.stringify(header)))).toBe(true);
  });

  // What an answer is made from: anything else in its place would be a fault in the middle of an answer.
  const needed: Readonly<Record<EntryHeader['form'], readonly string[]>> = {
    rows: ['columns', 'rowCount', 'paging'],
    bytes: ['status', 'contentType'],
    refusal: ['status', 'contentType'],
  };
  const common =
    'order fetchedAt fetchStartedAt fetchedOn lastDay kind emptyTail originMs seq accounts hash form'.split(
      ' ',
    );

  it.each(HEADERS)(
    'takes a header of form $form for absent when a member is missing or of another type',
    (header) => {
      for (const name of [...common, ...needed[header.form]]) {
        const { [name as keyof typeof header]: _, ...rest } = header;
        expect(isEntryHeader(rest), `without ${name}`).toBe(false);
        expect(isEntryHeader({ ...header, [name]: true }), `${name} true`).toBe(false);
      }
      expect(isEntryHeader({ ...header, accounts: [1] })).toBe(false);
    },
  );

  it('takes a day for absent when what it was split from is missing or of another type', () => {
    const cut = { from: '2026-11-01', to: '2026-11-07', sortedHash: 'h', generation: 'first' };
    const { header } = rowsEntry([{ date: '2026-11-01' }], { splitFrom: cut });
    expect(isEntryHeader(JSON.parse(JSON.stringify(header)))).toBe(true);
    for (const name of Object.keys(cut)) {
      const { [name as keyof typeof cut]: _, ...rest } = cut;
      expect(isEntryHeader({ ...header, splitFrom: rest }), `without ${name}`).toBe(false);
      expect(isEntryHeader({ ...header, splitFrom: { ...cut, [name]: 1 } }), `${name} 1`).toBe(false);
    }
    const { splitFrom: _, ...unsplit } = header;
    expect(isEntryHeader(unsplit)).toBe(false);
    expect(isEntryHeader({ ...header, splitFrom: 'first' })).toBe(false);
  });

  it.each([null, 'rows', [], { ...HEADERS[0], form: 'segment' }])('does not know %j', (value) => {
    expect(isEntryHeader(value)).toBe(false);
  });
});

it('bodies are told apart by 22 characters', () => {
  expect(bodyHash(Buffer.from('a'))).not.toBe(bodyHash(Buffer.from('b')));
  expect(bodyHash(Buffer.from('a'))).toMatch(/^[A-Za-z0-9_-]{22}$/);
});

describe('proves cap', () => {
  const DATES = ['2026-11-01', '2026-11-02', '2026-11-03'];

  /** Days that hold these rows; those of one day may come in any order. */
  function daysWith(rows: readonly (readonly number[])[], fetchedOn?: number): Entry<RowsHeader>[] {
    return DATES.map((date, index) => {
      const clicks = rows[index] ?? [];
      const part = rowsEntry(clicks.map((value) => ({ date, clicks: value })));
      const sortedHash = JSON.stringify(clicks.toSorted((a, b) => a - b));
      const facts = factsOf({ lastDay: date, ...(fetchedOn === undefined ? {} : { fetchedOn }) });
      const cut = { from: '2026-11-01', to: '2026-11-03', sortedHash, generation: 'first' };
      return { ...part, header: { ...part.header, ...facts, splitFrom: cut } };
    });
  }

  const rows = fc.array(fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 6 }), {
    minLength: 3,
    maxLength: 3,
  });

  it('halves prove a cap when the answer is what is left of them after a number of rows, in whatever order', () => {
    fc.assert(
      fc.property(rows, fc.nat(12), fc.boolean(), (full, cap, newestFirst) => {
        let left = cap;
        const ordered = newestFirst ? full.toReversed() : full;
        const cutOff = ordered.map((day) => {
          const kept = day.slice(0, left);
          left -= kept.length;
          return kept;
        });
        const total = full.flat().length;
        const whole = newestFirst ? cutOff.toReversed() : cutOff;
        expect(provesCap(daysWith(whole), daysWith(full), RULES)).toBe(cap < total);
      }),
    );
  });

  it('halves do not prove one when they hold less, the same, or lack a row of the answer', () => {
    fc.assert(
      fc.property(rows, fc.nat(2), (full, at) => {
        expect(provesCap(daysWith(full), daysWith(full), RULES)).toBe(false);
        expect(provesCap(daysWith(full), daysWith([[], [], []]), RULES)).toBe(false);
        // A number that no row of the halves has.
        const other = full.map((day, index) => (index === at ? [9, ...day.slice(0, -1)] : day));
        const more = full.map((day, index) => (index === at ? day : [...day, 1]));
        expect(provesCap(daysWith(other), daysWith(more), RULES)).toBe(false);
      }),
    );
  });

  it('halves may have another type in a column whose texts the cap has left out', () => {
    const of = (clicks: readonly unknown[]) => {
      const [day] = daysWith([[]]);
      const part = rowsEntry(clicks.map((value) => ({ date: '2026-11-01', clicks: value })));
      const sortedHash = JSON.stringify(clicks);
      const cut = { from: '2026-11-01', to: '2026-11-01', sortedHash, generation: 'first' };
      return [
        { ...part, header: { ...part.header, ...day?.header, rowCount: clicks.length, splitFrom: cut } },
      ];
    };
    expect(provesCap(of(['7', '8']), of(['7', '8', 'none']), RULES)).toBe(true);
    expect(provesCap(of(['7', '9']), of(['7', '8', 'none']), RULES)).toBe(false);
  });

  it('halves may differ on a day that may still change, as long as they do not hold less of it', () => {
    const today = Math.floor(Date.parse('2026-11-03') / 86_400_000);
    const halves = [[1], [1], [2, 3]];
    expect(provesCap(daysWith([[1], [1], [9]], today), daysWith(halves, today), RULES)).toBe(true);
    expect(provesCap(daysWith([[1], [1, 1, 1], []], today), daysWith(halves, today), RULES)).toBe(false);
  });
});

const DATE = '2026-11-01';

/** A day as it is kept of an answer with these rows. */
function keptDay(rows: readonly object[]): Entry<RowsHeader> {
  const { days } = digestAnswer(JSON.stringify(rows.map((row) => ({ date: DATE, ...row }))), {
    rule: {},
    period: { from: DATE, to: DATE },
    byDate: true,
    splits: true,
    whole: false,
    accountPattern: /^advertiserids?$/,
  });
  const { body, sortedHash, date, ...block } = (days as readonly [DayBlock])[0];
  const { header } = rowsEntry([], { lastDay: date });
  return {
    body,
    header: { ...header, ...block, splitFrom: { from: date, to: date, sortedHash, generation: 'g' } },
  };
}

const cell = fc.oneof(
  fc.constantFrom('12.3400', '10.1', '10.10', '7', '', 'n/a', 'Brand', '007', '9007199254740993'),
  fc.integer({ min: 0, max: 99 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constant(null),
  fc.boolean(),
);
const cells = fc.record(
  {
    campaign_name: fc.constantFrom('5', '007', 'Brand', '10.10', '1e5'),
    spent: cell,
    version: cell,
    other: cell,
  },
  { requiredKeys: [] },
);

/** Ids of one type: of a platform that mixes them in a column it is not told which were numbers. */
const day = fc
  .tuple(fc.boolean(), fc.array(fc.tuple(fc.constantFrom(1, 2, 3), cells), { maxLength: 8 }))
  .map(([isText, rows]) => rows.map(([id, rest]) => ({ campaign_id: isText ? String(id) : id, ...rest })));

it('they have the same rows and columns, and the same name, as an answer for these campaigns alone', () => {
  let told = 0;
  fc.assert(
    fc.property(day, fc.subarray(['1', '2', '3']), (rows, ids) => {
      const selected = selectRows(keptDay(rows), new Set(ids));
      if (selected === null) return;
      told += 1;
      const alone = keptDay(rows.filter(({ campaign_id }) => ids.includes(String(campaign_id))));
      expect(selected.day.body.toString()).toBe(alone.body.toString());
      const { columns, rowCount, hash, splitFrom } = selected.day.header;
      expect({ columns: [...columns].sort(), rowCount, hash, splitFrom }).toEqual({
        columns: [...alone.header.columns].sort(),
        rowCount: alone.header.rowCount,
        hash: alone.header.hash,
        splitFrom: alone.header.splitFrom,
      });
    }),
    { numRuns: 200 },
  );
  expect(told).toBeGreaterThan(20);
});

describe('a selection is told', () => {
  it.each([
    ['a column that holds texts for the sake of a row that is left out', [{ x: '5' }, { x: 'n/a' }], false],
    ['decimals that lose zeros in a column that is no measure', [{ x: '5.10' }, { x: '5.1' }], false],
    ['decimals of a measure', [{ spent: '5.10' }, { spent: '5.1' }], true],
    ['names that look like numbers', [{ campaign_name: '5' }, { campaign_name: 'Brand' }], true],
    ['a row without a campaign', [{ x: 5 }, { campaign_id: null }], false],
  ])('of %s: %s', (_what, [one, other], isTold) => {
    const day = keptDay([
      { campaign_id: 1, ...one },
      { campaign_id: 2, ...other },
    ]);
    expect(selectRows(day, new Set(['1'])) !== null).toBe(isTold);
  });

  it('for a period, by date and campaign, of campaigns that are named, and for nothing else', () => {
    const query = 'advertiserId=1&byDate=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-02';
    const selection = selectionOf(get(`${query}&campaignIds[]=7&campaignIds[]=5`).report);
    expect([...(selection?.ids ?? [])].sort()).toEqual(['5', '7']);
    expect(selection?.of.members).toEqual(get(query).report.members);
    for (const other of [
      query,
      `${query.replace('&byCampaign=1', '')}&campaignIds[]=7`,
      `${query.replace('&byDate=1', '')}&campaignIds[]=7`,
      'advertiserId=1&byDate=1&byCampaign=1&campaignIds[]=7',
    ])
      expect(selectionOf(get(other).report)).toBeNull();
  });
});
