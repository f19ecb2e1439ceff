/**
 * Random reports against what the simulator says is true: the gateway's rows are the platform's, in JSON, CSV and
 * NDJSON, however the platform spells them.
 */
import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { type Answer, admin, ask, newTeam, REPORT } from '../support/ask.js';
import { type OpenGateway, openGateway } from '../support/open-gateway.js';

const RUNS = 60;
/** Rows of a page of the platform, when it is not asked for more. */
const PAGE = 50;

interface Spelling {
  readonly shape: 'data' | 'array' | 'nested' | 'totals' | 'paged' | 'object';
  readonly decimals: 'strings' | 'numbers';
  readonly ids: 'numbers' | 'strings';
  readonly names: 'snake' | 'camel';
  readonly dates: 'date' | 'datetime' | 'iso';
  readonly rowOrder: 'date' | 'date-descending' | 'campaign';
  readonly rowsAccount: boolean;
}

interface Query {
  readonly advertiserId: number | null;
  readonly campaignIds: readonly number[];
  readonly byDate: boolean;
  readonly byCampaign: boolean;
  readonly spentBased: 'usd' | 'local' | null;
  /** Days since 2025-01-01. */
  readonly first: number;
  readonly length: number;
  readonly post: boolean;
}

type Row = Record<string, string | number>;

const SPELLINGS: { readonly [Name in keyof Spelling]: fc.Arbitrary<Spelling[Name]> } = {
  shape: fc.constantFrom('data', 'array', 'nested', 'totals', 'paged', 'object'),
  decimals: fc.constantFrom('strings', 'numbers'),
  ids: fc.constantFrom('numbers', 'strings'),
  names: fc.constantFrom('snake', 'camel'),
  dates: fc.constantFrom('date', 'datetime', 'iso'),
  rowOrder: fc.constantFrom('date', 'date-descending', 'campaign'),
  rowsAccount: fc.boolean(),
};

const queries: fc.Arbitrary<Query> = fc.record({
  advertiserId: fc.option(fc.integer({ min: 1, max: 6 }), { freq: 6 }),
  campaignIds: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.uniqueArray(fc.integer({ min: 101, max: 110 }), { minLength: 1, maxLength: 4 }),
    },
  ),
  byDate: fc.boolean(),
  byCampaign: fc.boolean(),
  spentBased: fc.constantFrom('usd', 'local', null),
  first: fc.integer({ min: 0, max: 650 }),
  length: fc.integer({ min: 1, max: 40 }),
  post: fc.boolean(),
});

let gateway: OpenGateway['gateway'];
let sim: OpenGateway['sim'];
let key: string;

beforeAll(async () => {
  ({ gateway, sim } = await openGateway());
  key = (await newTeam(gateway, { id: 'differential' })).key;
});

const day = (number: number) => new Date(Date.UTC(2025, 0, 1 + number)).toISOString().slice(0, 10);

/** Parameters in the platform's own words, each once. */
function members({
  advertiserId,
  campaignIds,
  byDate,
  byCampaign,
  spentBased,
  first,
  length,
}: Query): object {
  return {
    ...(advertiserId === null ? {} : { advertiserId }),
    ...(campaignIds.length === 0 ? {} : { campaignIds }),
    ...(byDate ? { byDate: true } : {}),
    ...(byCampaign ? { byCampaign: true } : {}),
    ...(spentBased === null ? {} : { spentBased }),
    dateFrom: day(first),
    dateTo: day(first + length - 1),
  };
}

function queryText(query: Query): string {
  return Object.entries(members(query))
    .flatMap(([name, value]: [string, unknown]) =>
      Array.isArray(value)
        ? value.map((one) => `${name}[]=${one}`)
        : [`${name}=${value === true ? 1 : String(value)}`],
    )
    .join('&');
}

function askAs(format: string, query: Query): Promise<Answer> {
  return query.post
    ? ask(`${gateway.data}${REPORT}?_format=${format}`, { method: 'POST', key, json: members(query) })
    : ask(`${gateway.data}${REPORT}?_format=${format}&${queryText(query)}`, { key });
}

/** The true rows, spelt and ordered as the gateway is to give them. */
function expected(truth: readonly Row[], query: Query, spelling: Spelling): Row[] {
  const rows = truth.map((row) => {
    const shown = Object.entries(row)
      .filter(([name]) => spelling.rowsAccount || name !== 'advertiserId')
      .map(([name, value]) => [
        name,
        spelling.ids === 'strings' && name.endsWith('Id') ? String(value) : value,
      ]);
    return Object.fromEntries(shown) as Row;
  });
  if (spelling.rowOrder === 'date-descending') rows.sort((a, b) => compare(b.date, a.date));
  if (spelling.rowOrder === 'campaign')
    rows.sort((a, b) => Number(a.campaignId ?? 0) - Number(b.campaignId ?? 0));
  const page = spelling.shape === 'paged' ? rows.slice(0, PAGE) : rows;
  return query.byDate ? page.sort((a, b) => compare(a.date, b.date)) : page;
}

function compare(a: unknown, b: unknown): number {
  return String(a ?? '').localeCompare(String(b ?? ''));
}

/** RFC 4180, read by the group. */
function readCsv(text: string): string[][] {
  const records: string[][] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  let record: string[] = [];
  let end = 0;
  for (const match of text.matchAll(cell)) {
    record.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    end = match.index + match[0].length;
    if (match[3] === '\r\n') {
      records.push(record);
      record = [];
    }
  }
  expect(end).toBe(text.length);
  return records;
}

function asCsv(rows: readonly Row[]): string[][] {
  if (rows.length === 0) return [];
  const names = [...new Set(rows.flatMap(Object.keys))];
  return [names, ...rows.map((row) => names.map((name) => asCell(row[name] ?? '')))];
}

/** A text that a spreadsheet would take for a formula is told apart; a number is a number. */
function asCell(value: string | number): string {
  return typeof value === 'string' && /^[=+\-@]/.test(value) ? `'${value}` : String(value);
}

it('every report is the platform’s own, in every format and spelling', async () => {
  const seen = new Set<string>();
  let filled = 0;
  const check = async (spelling: Spelling, query: Query): Promise<void> => {
    for (const [name, value] of Object.entries({ ...spelling, ...query })) seen.add(`${name}=${value}`);
    await sim.set(spelling);
    await admin(gateway, 'POST', '/cache/purge', { all: true });
    const truth = (await sim.truth(queryText(query))) as Row[];
    const rows = expected(truth, query, spelling);
    if (rows.length > 1) filled += 1;

    const json = (await askAs('json', query)).json<{ data: Row[]; meta: Record<string, unknown> }>();
    expect(json.data).toEqual(rows);
    expect(json.data.map((row) => Object.keys(row))).toEqual(rows.map((row) => Object.keys(row)));
    expect(json.meta).toMatchObject({
      advertiserId: query.advertiserId,
      period: { from: day(query.first), to: day(query.first + query.length - 1) },
      rowCount: rows.length,
      spentBased: query.spentBased,
      split: [...(query.byDate ? ['date'] : []), ...(query.byCampaign ? ['campaign'] : [])],
    });
    const ndjson = (await askAs('ndjson', query)).text;
    expect(ndjson).toBe(json.data.map((row) => `${JSON.stringify(row)}\n`).join(''));
    expect(readCsv((await askAs('csv', query)).text)).toEqual(asCsv(rows));
  };
  await fc.assert(fc.asyncProperty(fc.record(SPELLINGS), queries, check), {
    numRuns: RUNS,
    seed: 20_261_121,
  });
  expect(filled).toBeGreaterThan(RUNS / 2);
  // Every spelling was met, and every kind of question.
  for (const one of [
    ...['data', 'array', 'nested', 'totals', 'paged', 'object'].map((shape) => `shape=${shape}`),
    ...['decimals=strings', 'decimals=numbers', 'ids=numbers', 'ids=strings', 'names=snake', 'names=camel'],
    ...['dates=date', 'dates=datetime', 'dates=iso', 'rowsAccount=true', 'rowsAccount=false'],
    ...['rowOrder=date', 'rowOrder=date-descending', 'rowOrder=campaign', 'post=true', 'post=false'],
    ...['byDate=true', 'byDate=false', 'byCampaign=true', 'byCampaign=false', 'advertiserId=null'],
    ...['spentBased=usd', 'spentBased=local', 'spentBased=null'],
  ]) {
    expect(seen).toContain(one);
  }
});

it('numbers that JavaScript cannot hold come through digit by digit', async () => {
  await sim.set({ shape: 'data', rowOrder: 'date', hugeNumbers: true });
  const url = `${gateway.data}${REPORT}?advertiserId=1&dateFrom=2026-03-01&dateTo=2026-03-02&byDate=1`;
  const rows = (await ask(url, { key })).json<{ data: Row[] }>().data;
  const [header, ...records] = readCsv((await ask(`${url}&_format=csv`, { key })).text);
  await sim.set({ hugeNumbers: false });
  expect(rows).toHaveLength(2);
  for (const row of rows) {
    expect(row).toMatchObject({
      serial: '9007199254740993',
      weight: '1e400',
      score: '0.1234567890123456789',
    });
  }
  for (const record of records) {
    expect(record[header?.indexOf('serial') ?? -1]).toBe('9007199254740993');
    expect(record[header?.indexOf('score') ?? -1]).toBe('0.1234567890123456789');
  }
});
