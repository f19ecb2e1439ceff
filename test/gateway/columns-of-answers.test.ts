/** Names and types of columns: the same in all rows of an answer, wherever its days come from. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createWorkerPool, isHeavyToRead } from '../../src/reports/cache/threads/worker-pool.js';
import { digestAnswer } from '../../src/reports/rows/digest.js';
import { toCsv } from '../../src/reports/rows/row-formats.js';
import { ASK } from '../reports/cache/threads/large-answer.js';
import { byDay, periodOf } from '../reports/fetch/by-day.js';
import { sends } from '../support/raw-platform.js';
import { openScene, rule, sharedScene } from '../support/scene.js';
import { outcomeOf, reportIn } from '../support/start-gateway.js';

type Row = Readonly<Record<string, unknown>>;
const ALWAYS = { divisible: 'always' };
const FORCED = { headers: { 'cache-control': 'no-cache' } };
const days = (from: number, to: number) => byDay(`2026-11-0${from}`, `2026-11-0${to}`);

/** A platform that answers with those of its rows that lie in the asked period. */
const openOver = (rows: readonly Row[], settings: object) =>
  openScene(
    (request, response) => {
      const [from, to] = periodOf(request);
      const data = rows.filter(({ date }) => String(date) >= from && String(date) <= to);
      sends(JSON.stringify({ data }))(request, response);
    },
    { config: rule(settings) },
  );

describe('two metrics of nearly one name', () => {
  const ALONE = { date: '2026-11-01', spent_total: 1 };
  const BOTH = { date: '2026-11-02', spent_total: 2, spentTotal: 20 };
  const BARE = { date: '2026-11-03', spentTotal: 30 };

  it('names the columns of one answer alike in all rows', async () => {
    const { ask } = await openOver([ALONE, BOTH], ALWAYS);
    expect(reportIn(await ask(days(1, 2))).data).toEqual([ALONE, BOTH]);
    const csv = await ask(`${days(1, 2)}&_format=csv`);
    expect(csv.text).toBe('date,spent_total,spentTotal\r\n2026-11-01,1,\r\n2026-11-02,2,20\r\n');
  });

  it('names them alike where days come from several answers, of whichever metric', async () => {
    const { platform, ask } = await openOver([ALONE, BOTH, BARE], ALWAYS);
    expect(reportIn(await ask(days(1, 1))).data).toEqual([{ date: '2026-11-01', spentTotal: 1 }]);
    await ask(days(3, 3));
    expect(reportIn(await ask(days(1, 3))).data).toEqual([ALONE, BOTH, BARE]);
    const csv = await ask(`${days(1, 3)}&_format=csv`);
    expect(csv.text).toBe(
      'date,spent_total,spentTotal\r\n2026-11-01,1,\r\n2026-11-02,2,20\r\n2026-11-03,,30\r\n',
    );
    expect(platform.requests).toHaveLength(3);
  });

  it('gives the shared name to the first member where none is spelt so, days joined', async () => {
    const second = { date: '2026-11-02', a_b_c: 2, aB_c: 3 };
    const { ask } = await openOver([{ date: '2026-11-01', aB_c: 1 }, second], ALWAYS);
    await ask(days(1, 1));
    expect(reportIn(await ask(days(2, 2))).data).toEqual([{ date: '2026-11-02', aBC: 2, aB_c: 3 }]);
    expect(reportIn(await ask(days(1, 2))).data).toEqual([
      { date: '2026-11-01', aBC: 1 },
      { date: '2026-11-02', a_b_c: 2, aBC: 3 },
    ]);
  });

  it('gives a day as it would be alone, whatever the names of other days', () => {
    const row = fc.record(
      {
        date: fc.constantFrom('2026-11-01', '2026-11-02', '2026-11-03'),
        spent_total: fc.nat(9),
        spentTotal: fc.nat(9),
        a_b_c: fc.nat(9),
        aB_c: fc.nat(9),
      },
      { requiredKeys: ['date'] },
    );
    const digest = (rows: readonly object[], from: string, to: string) =>
      digestAnswer(JSON.stringify(rows), {
        rule: {},
        byDate: true,
        splits: true,
        accountPattern: /^advertiserid$/,
        whole: false,
        period: { from, to },
      }).days;
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 8 }), (rows) => {
        for (const day of digest(rows, '2026-11-01', '2026-11-03') ?? []) {
          const own = rows.filter(({ date }) => date === day.date);
          expect(digest(own, day.date, day.date)).toEqual([day]);
        }
      }),
    );
  });
});

describe('the columns of one answer', () => {
  const shared = sharedScene(sends('{}'));

  it.each<[string, string, unknown[], unknown[]]>([
    ['hours with a leading zero', 'hour', ['09', '10'], ['09', '10']],
    ['money with thousands set apart', 'spent', ['999.50', '1,000.50'], ['999.50', '1,000.50']],
    ['versions that differ in a last zero', 'osVersion', ['10.1', '10.10'], ['10.1', '10.10']],
    ['a version that ends in a zero', 'osVersion', ['10.10', '10.10'], ['10.10', '10.10']],
    ['a dimension of any name that would lose a zero', 'slot', ['10.1', '10.10'], ['10.1', '10.10']],
    ['numbers and words', 'value', [5, 'many'], ['5', 'many']],
    [
      'numbers that JavaScript holds and others',
      'value',
      ['5', '12345678901234567'],
      ['5', '12345678901234567'],
    ],
    ['ids as numbers and as texts', 'campaign_id', [7, '8'], ['7', '8']],
    ['decimals of one scale', 'spent', ['12.3400', '0.5000'], [12.34, 0.5]],
    ['decimals beside whole numbers', 'spent', ['0', '12.3400', 3], [0, 12.34, 3]],
    ['a measure written in several ways', 'spent', ['12.30', '0.5'], [12.3, 0.5]],
    ['numbers with gaps', 'clicks', ['1', null, '', '2'], [1, null, '', 2]],
    ['bids', 'bid', ['1.5', '2'], [1.5, 2]],
    ['what was paid', 'paid', ['1.5', '2'], [1.5, 2]],
    ['ids', 'campaignId', ['1', '2'], ['1', '2']],
  ])('are of one type: %s', async (_what, column, cells, expected) => {
    const { platform, ask } = shared();
    platform.answer(
      sends(JSON.stringify(cells.map((cell) => ({ campaign: 'c', clicks: 1, [column]: cell })))),
    );
    const { data } = reportIn(await ask('advertiserId=1&byCampaign=1', FORCED));
    const name = column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    expect(data.map((row) => row[name])).toEqual(expected);
  });
});

describe('days that were fetched one by one', () => {
  const DAYS: Row[] = [
    { date: '2026-11-01', hour: '10', spent: '999.50', slot: '10.10', n: '1', bid: '1.50' },
    { date: '2026-11-02', hour: '09', spent: '1,000.50', slot: '10.1', n: '2', bid: '2.25' },
    { date: '2026-11-03', hour: '11', spent: '7.00', slot: '11.10', n: '3', bid: '3' },
  ];

  it('are joined to columns of one type, and lose nothing by it', async () => {
    const { platform, ask } = await openOver(DAYS, ALWAYS);
    for (const at of [1, 2, 3]) await ask(days(at, at));
    const { data } = reportIn(await ask(days(1, 3)));
    expect(platform.requests).toHaveLength(3);
    expect(data).toEqual(DAYS.map((day) => ({ ...day, n: Number(day.n), bid: Number(day.bid) })));
  });

  it('say in every format what one answer for all of them would have said', async () => {
    const joined = await openOver(DAYS, ALWAYS);
    for (const at of [2, 1, 3]) await joined.ask(days(at, at));
    const whole = await openOver(DAYS, { divisible: 'never' });
    for (const format of ['json', 'csv', 'ndjson']) {
      const [one, other] = await Promise.all(
        [joined, whole].map(async ({ ask }) => (await ask(`${days(1, 3)}&_format=${format}`)).text),
      );
      const rows = (text = '') => (format === 'json' ? text.slice(0, text.indexOf('],"meta"')) : text);
      expect(rows(one)).toBe(rows(other));
    }
  });

  it('have another entity tag once a column has another type', async () => {
    const { ask } = await openOver(DAYS, ALWAYS);
    const [short, long] = [await ask(days(1, 1)), await ask(days(1, 2))];
    expect([reportIn(short).data[0]?.hour, reportIn(long).data[0]?.hour]).toEqual([10, '10']);
    expect(short.headers.etag).not.toBe(long.headers.etag);
  });

  it('are as much agreed upon as before: what is in other days changes nothing in one', async () => {
    const rows = [1, 2, 3, 4, 5, 6, 7, 8].map((at) => ({
      date: `2026-11-0${at}`,
      hour: at % 2 === 0 ? '09' : '10',
      spent: '1.50',
    }));
    const { gateway, ask } = await openOver(rows, { divisible: 'auto' });
    for (const range of [days(1, 3), days(2, 5), days(3, 7), days(4, 8), days(5, 6)]) await ask(range);
    expect(gateway.logText).not.toMatch(/refuted|cannot be split by day/);
  });
});

describe('work on an answer of many columns', () => {
  /** Rows that each have a member of their own. */
  const ownMembers = (count: number) =>
    Array.from({ length: count }, (_, at) => `{"date":"2026-11-01","m${at}":1}`);
  const oneRow = (members: number) =>
    `[{"date":"2026-11-01",${Array.from({ length: members }, (_, at) => `"m${at}":1`)}}]`;
  function csvOf(text: string): string {
    const { whole } = digestAnswer(text, ASK);
    return toCsv(whole?.body.toString() ?? '', whole?.columns ?? [], { bom: false });
  }

  /** How much work a function does, told by how often it reads or writes: the time of a machine proves nothing. */
  function lookUpsIn(run: () => void): number {
    let lookUps = 0;
    const original = Array.prototype.indexOf;
    Array.prototype.indexOf = function (this: unknown[], ...args: Parameters<typeof original>) {
      const found = original.apply(this, args);
      lookUps += found < 0 ? this.length : found + 1;
      return found;
    };
    try {
      run();
    } finally {
      Array.prototype.indexOf = original;
    }
    return lookUps;
  }

  it('grows as the answer does when it becomes CSV', () => {
    const cost = (members: number) => lookUpsIn(() => csvOf(oneRow(members)));
    expect(cost(1998)).toBeLessThanOrEqual(3 * cost(999) + 1000);
  });

  it('is no table when next to nothing in it would be filled, in any format but CSV a report', async () => {
    const { ask } = await openScene(sends(`{"data":[${ownMembers(3000).join(',')}]}`));
    const csv = await ask(`${days(1, 3)}&_format=csv`);
    expect(outcomeOf(csv)).toBe('502 upstream_too_large');
    expect(csv.text).toMatch(/request JSON or NDJSON/);
    for (const format of ['json', 'ndjson'])
      expect(outcomeOf(await ask(`${days(1, 3)}&_format=${format}`))).toBe('200');
  });

  it('is a table still when there are few rows, or few columns', () => {
    const widths = csvOf(oneRow(1999))
      .split('\r\n')
      .map((line) => line.split(',').length);
    expect(widths).toEqual([2000, 2000, 1]);
    expect(csvOf(`[${ownMembers(500).join(',')}]`).split('\r\n')).toHaveLength(502);
  });

  it('is done on another thread where cells are many, though bytes are few', async () => {
    expect(isHeavyToRead([Buffer.from(`[${ownMembers(7000).join(',')}]`)])).toBe(true);
    expect(isHeavyToRead([Buffer.from(`[${ownMembers(700).join(',')}]`)])).toBe(false);
    expect(isHeavyToRead([Buffer.from(`[${'{},'.repeat(120_000)}{}]`)])).toBe(true);
    const workerPool = createWorkerPool();
    const chunks = [Buffer.from(ownMembers(600).join(',\n'))];
    const columns = ['date', ...Array.from({ length: 600 }, (_, at) => `m${at}`)];
    const csv = await workerPool.format({ format: 'csv', chunks, columns, rowCount: 600, bom: false });
    // What comes from another thread lies in memory of both.
    expect(csv.buffer).toBeInstanceOf(SharedArrayBuffer);
    await workerPool.close();
  });
});
