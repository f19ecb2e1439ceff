/** One column held numbers and texts by turns, and versions that differ in a last zero were one number. */
import { describe, expect, it } from 'vitest';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn } from '../support/start-gateway.js';

type Row = Readonly<Record<string, unknown>>;

/** A platform that answers with those of its rows that lie in the asked period. */
async function gatewayOver(rows: readonly Row[], rule: object = {}) {
  const platform = await startRawPlatform((request, response) => {
    const query = new URL(request.url ?? '', 'http://platform').searchParams;
    const inside = rows.filter(
      ({ date }) =>
        date === undefined ||
        (String(date) >= (query.get('dateFrom') ?? '') && String(date) <= (query.get('dateTo') ?? '')),
    );
    sends(JSON.stringify({ data: inside }))(request, response);
  });
  const config = { report: { endpoints: { 'campaigns/get': rule } } };
  const gateway = await gatewayAt(platform, { config });
  return { platform, gateway, key: await gateway.addTeam() };
}

const query = (from: number, to: number) => {
  const day = (number: number) => `2026-11-${String(number).padStart(2, '0')}`;
  return `advertiserId=1&byDate=1&dateFrom=${day(from)}&dateTo=${day(to)}`;
};

describe('the columns of one answer', () => {
  const typesIn = async (rows: readonly Row[], column: string) => {
    const { gateway, key } = await gatewayOver(rows);
    return reportIn(await gateway.report(key, 'advertiserId=1&byCampaign=1')).data.map((row) => row[column]);
  };

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
    const name = column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    expect(
      await typesIn(
        cells.map((cell) => ({ campaign: 'c', [column]: cell })),
        name,
      ),
    ).toEqual(expected);
  });
});

describe('days that were fetched one by one', () => {
  const DAYS: Row[] = [
    { date: '2026-11-01', hour: '10', spent: '999.50', slot: '10.10', n: '1', bid: '1.50' },
    { date: '2026-11-02', hour: '09', spent: '1,000.50', slot: '10.1', n: '2', bid: '2.25' },
    { date: '2026-11-03', hour: '11', spent: '7.00', slot: '11.10', n: '3', bid: '3' },
  ];

  it('are joined to columns of one type, and lose nothing by it', async () => {
    const { platform, gateway, key } = await gatewayOver(DAYS, { divisible: 'always' });
    for (const at of [1, 2, 3]) await gateway.report(key, query(at, at));
    const joined = reportIn(await gateway.report(key, query(1, 3)));
    expect(platform.requests).toHaveLength(3);
    expect(joined.data).toEqual([
      { date: '2026-11-01', hour: '10', spent: '999.50', slot: '10.10', n: 1, bid: 1.5 },
      { date: '2026-11-02', hour: '09', spent: '1,000.50', slot: '10.1', n: 2, bid: 2.25 },
      { date: '2026-11-03', hour: '11', spent: '7.00', slot: '11.10', n: 3, bid: 3 },
    ]);
  });

  it('say in every format what one answer for all of them would have said', async () => {
    const byDay = await gatewayOver(DAYS, { divisible: 'always' });
    for (const at of [2, 1, 3]) await byDay.gateway.report(byDay.key, query(at, at));
    const whole = await gatewayOver(DAYS, { divisible: 'never' });
    for (const format of ['json', 'csv', 'ndjson']) {
      const [one, other] = await Promise.all(
        [byDay, whole].map(({ gateway, key }) => gateway.report(key, `${query(1, 3)}&_format=${format}`)),
      );
      const rows = (text = '') => (format === 'json' ? text.slice(0, text.indexOf('],"meta"')) : text);
      expect(rows(one?.text)).toBe(rows(other?.text));
    }
  });

  it('have another entity tag once a column has another type', async () => {
    const { gateway, key } = await gatewayOver(DAYS, { divisible: 'always' });
    const short = await gateway.report(key, query(1, 1));
    const long = await gateway.report(key, query(1, 2));
    expect([reportIn(short).data[0]?.hour, reportIn(long).data[0]?.hour]).toEqual([10, '10']);
    expect(short.headers.etag).not.toBe(long.headers.etag);
  });

  it('are as much agreed upon as before: what is in other days changes nothing in one', async () => {
    const { gateway, key } = await gatewayOver(
      [1, 2, 3, 4, 5, 6, 7, 8].map((at) => ({
        date: `2026-11-0${at}`,
        hour: at % 2 === 0 ? '09' : '10',
        spent: '1.50',
      })),
      { divisible: 'auto' },
    );
    for (const [from, to] of [
      [1, 3],
      [2, 5],
      [3, 7],
      [4, 8],
      [5, 6],
    ] as const) {
      await gateway.report(key, query(from, to));
      await gateway.services.settled();
    }
    expect(gateway.logText).not.toMatch(/refuted|may not be split by day/);
  });
});
