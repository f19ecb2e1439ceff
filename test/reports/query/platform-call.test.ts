/** Query texts, the call that is sent to the platform, and the names under which its answer is kept. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.js';
import {
  parseQueryText,
  type QueryPair,
  writeQueryText,
} from '../../../src/reports/query/given-parameters.js';
import {
  buildPlatformCall,
  bytesKey,
  dayLock,
  digest,
  readReportAddress,
  rowsKey,
  seriesId,
  unsplit,
} from '../../../src/reports/query/platform-call.js';
import { fileNameOf } from '../../../src/reports/query.js';
import { readInput } from '../../../src/simulator/php-input.js';
import { type Question, question, spellings } from '../rows/question-model.js';
import { get, post, target } from './canonical-request.js';

/** What the platform is to read, by a reader of its own (the simulator's), from a question. */
function expected(asked: Question, isBody: boolean): Record<string, unknown> {
  const { advertiserId, userId, from, to, spentBased, campaignIds, others } = asked;
  const int = (text: string | null) => (text === null ? null : isBody ? Number(text) : text);
  const flag = (on: boolean) => (on ? (isBody ? true : '1') : null);
  const all: Record<string, unknown> = {
    advertiserId: int(advertiserId),
    userId: int(userId),
    byDate: flag(asked.byDate),
    byCampaign: flag(asked.byCampaign),
    dateFrom: from,
    dateTo: to,
    spentBased,
    campaignIds: campaignIds.length === 0 ? null : isBody ? campaignIds : campaignIds.map(String),
  };
  const known = Object.entries(all).filter(([, value]) => value !== null);
  const unknown = Object.entries(others).map(([name, { list, values }]) => [name, list ? values : values[0]]);
  return Object.fromEntries([...known, ...unknown].toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
}

function received(call: { target: string; body: string | null }): Record<string, unknown> {
  const [, query = ''] = call.target.split('?');
  const input = readInput(query, 'application/json', call.body ?? '');
  return Object.fromEntries([...input].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

describe('buildPlatformCall', () => {
  it('tells the platform in a query exactly what was asked, and nothing of the gateway’s own', () => {
    const spelt = question.chain((asked) => fc.tuple(fc.constant(asked), spellings(asked)));
    fc.assert(
      fc.property(spelt, ([asked, text]) => {
        const { report } = get(text);
        const call = buildPlatformCall(report, report.from, report.to);
        expect(call.method).toBe('GET');
        expect(call.body).toBeNull();
        expect(received(call)).toEqual(expected(asked, false));
        expect(call.target).toMatch(/^\/api\/v1\/report\/campaigns\/get(\?[A-Za-z0-9._~%=&-]+)?$/);
      }),
      { numRuns: 100 },
    );
  });

  it('tells it the same in a body', () => {
    fc.assert(
      fc.property(question, (asked) => {
        const single = Object.fromEntries(
          Object.entries(expected(asked, true)).filter(([, value]) => value !== null),
        );
        const ids = asked.advertiserId !== null && Number(asked.advertiserId) > Number.MAX_SAFE_INTEGER;
        fc.pre(!ids && !(asked.userId !== null && Number(asked.userId) > Number.MAX_SAFE_INTEGER));
        const { report } = post(JSON.stringify(single));
        const call = buildPlatformCall(report, report.from, report.to);
        expect(call.method).toBe('POST');
        expect(call.target).toBe('/api/v1/report/campaigns/get');
        expect(received(call)).toEqual(expected(asked, true));
      }),
    );
  });

  it('asks for another period where one is given', () => {
    const { report } = get('advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-09');
    expect(buildPlatformCall(report, '2026-11-03', '2026-11-04').target).toBe(
      '/api/v1/report/campaigns/get?advertiserId=1&dateFrom=2026-11-03&dateTo=2026-11-04',
    );
    expect(buildPlatformCall(report, null, null).target).toBe('/api/v1/report/campaigns/get?advertiserId=1');
  });

  it('sends an empty object when a body says nothing', () => {
    expect(buildPlatformCall(post('{}').report, null, null).body).toBe('{}');
  });
});

describe('unsplit', () => {
  it('takes away every split and leaves the rest', () => {
    const asked = get(
      'advertiserId=1&byDate=1&byCampaign=1&byCreative=1&country=DE&bypass=1&dateFrom=2026-11-01&dateTo=2026-11-02',
    );
    const whole = unsplit(asked.report);
    expect(whole.split).toEqual([]);
    expect(target({ ...asked, report: whole })).toBe(
      '/api/v1/report/campaigns/get?advertiserId=1&bypass=1&country=DE&dateFrom=2026-11-01&dateTo=2026-11-02',
    );
    const plain = get('advertiserId=1&country=DE&bypass=1').report;
    expect(seriesId(whole, 'a', 'b')).toBe(seriesId(plain, 'a', 'b'));
  });
});

describe('digest', () => {
  it('differs for different lists of texts, however they would join', () => {
    const texts = fc.array(fc.string({ unit: fc.constantFrom('a', '1', ':', '2', ',') }), { maxLength: 4 });
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        expect(digest(one) === digest(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
    );
  });
});

const faults = (text: string) => {
  try {
    parseQueryText(text);
    return null;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error.options.errors?.map(({ param }) => param);
  }
};

/** Whole characters, none of them a control character. */
const text = fc
  .string({ unit: 'binary' })
  .filter((some) => [...some].every((character) => character >= ' ' && character !== '\u007f'));
const pairs = fc.array(fc.record({ name: text, value: text }), { maxLength: 20 });

describe('writeQueryText and parseQueryText', () => {
  it('write in plain characters what both they and other readers of forms read back', () => {
    fc.assert(
      fc.property(pairs, (given) => {
        const written = writeQueryText(given);
        expect(written).toMatch(/^[A-Za-z0-9._~%=&-]*$/);
        expect(parseQueryText(written)).toEqual(given);
        expect([...new URLSearchParams(written)]).toEqual(given.map(({ name, value }) => [name, value]));
      }),
    );
  });

  it('reads whatever it accepts as URLSearchParams does', () => {
    const query = fc.string({ unit: fc.constantFrom(...'ab&&==+%%2061fFüé;[]#?/'.split('')), maxLength: 12 });
    fc.assert(
      fc.property(query, (given) => {
        if (faults(given) !== null) return;
        // A first question mark would be taken for the target's.
        const read = [...new URLSearchParams(`?${given}`)].map(([name, value]) => ({ name, value }));
        expect(parseQueryText(given)).toEqual(read);
      }),
      { numRuns: 500 },
    );
  });
});

describe('parseQueryText', () => {
  it.each<[string, QueryPair[]]>([
    ['', []],
    ['&', []],
    ['a', [{ name: 'a', value: '' }]],
    ['a=b=c', [{ name: 'a', value: 'b=c' }]],
    ['a=1;b=2', [{ name: 'a', value: '1;b=2' }]],
    ['a=1%26b%3D2', [{ name: 'a', value: '1&b=2' }]],
    ['%61=%2b+%2B', [{ name: 'a', value: '+ +' }]],
    ['a=%F0%9F%98%80', [{ name: 'a', value: '😀' }]],
    [
      'b=1&a=2&b=3',
      [
        { name: 'b', value: '1' },
        { name: 'a', value: '2' },
        { name: 'b', value: '3' },
      ],
    ],
  ])('reads %j', (query, expected) => {
    expect(parseQueryText(query)).toEqual(expected);
  });

  it.each([
    ['a=%', 'a'],
    ['a=%c0%80', 'a'],
    ['a=%ed%a0%80', 'a'],
    ['a=%ff', 'a'],
    ['a=%00', 'a'],
    ['a=%0d%0a', 'a'],
    ['a=%7f', 'a'],
    ['a=ü', 'a'],
    ['a= ', 'a'],
    ['%ff=1', ''],
  ])('refuses %j', (query, param) => {
    expect(faults(query)).toEqual([param]);
  });

  it('takes 256 parameters and no more', () => {
    const query = (count: number) => Array.from({ length: count }, () => 'a=1').join('&');
    expect(parseQueryText(query(256))).toHaveLength(256);
    expect(faults(query(257))).toEqual(['']);
  });
});

const NAMED = { endpoint: 'campaigns/get', query: 'advertiserId=1&byDate=1' };

it.each([
  'https://gateway.example/api/v1/report/campaigns/get?advertiserId=1&byDate=1',
  'HTTP://127.0.0.1:8080/api/v1/report/campaigns/get?advertiserId=1&byDate=1#chart',
  'https://platform.example/base/api/v1/report/campaigns/get?advertiserId=1&byDate=1',
  '/api/v1/report/campaigns/get?advertiserId=1&byDate=1',
  'campaigns/get?advertiserId=1&byDate=1',
  'http://x/gateway/v1/explain?endpoint=campaigns%2Fget&query=advertiserId%3D1%26byDate%3D1',
  '/admin/v1/cache/explain?query=advertiserId%3D1%26byDate%3D1&endpoint=campaigns/get',
])('%s names its report', (address) => {
  expect(readReportAddress(address)).toEqual(NAMED);
});

it('a query alone says no endpoint, and neither does an address of the gateway with a query', () => {
  for (const text of [
    'advertiserId=1&byDate=1',
    '?advertiserId=1&byDate=1',
    'http://x?advertiserId=1&byDate=1',
  ])
    expect(readReportAddress(text)).toEqual({ ...NAMED, endpoint: null });
  expect(readReportAddress('/api/v1/report/campaigns/get')).toEqual({ endpoint: 'campaigns/get', query: '' });
});

it.each([
  'https://gateway.example/api/v1/campaign/get?id=1',
  '/gateway/v1/me?x=1',
  '/gateway/v1/explain?query=advertiserId%3D1',
  'https://example.com/report/campaigns/get?advertiserId=1',
  'example.com/campaigns/get?advertiserId=1',
  'localhost:8080/campaigns/get?advertiserId=1',
  'api/v1/campaign/get?id=1',
  'gateway/v1/me?x=1',
])('%s is the address of something else', (address) => {
  expect(readReportAddress(address)).toBeNull();
});

const series = fc.base64String().map((text) => text.replaceAll('=', ''));
const day = fc.option(fc.constantFrom('2026-11-01', '2026-11-02', '2026-11-03'), { nil: null });
const place = fc.tuple(fc.constantFrom(rowsKey, bytesKey), series, day, day);

describe('keys', () => {
  it('differ for different entries', () => {
    fc.assert(
      fc.property(place, place, ([make, ...one], [makeOther, ...other]) => {
        const same = make === makeOther && JSON.stringify(one) === JSON.stringify(other);
        const [ref, otherRef] = [make(...one), makeOther(...other)];
        expect(ref.id === otherRef.id).toBe(same);
      }),
    );
  });

  it('of one series share a hash tag, so that a cluster keeps them in one slot', () => {
    fc.assert(
      fc.property(place, ([make, id, from, to]) => {
        const ref = make(id, from, to);
        expect(/\{(.*?)\}/.exec(ref.id)?.[1]).toBe(id);
        expect(/\{(.*?)\}/.exec(dayLock(id, '2026-11-01'))?.[1]).toBe(id);
      }),
    );
  });
});

const named = (query: string, endpoint = 'campaigns/get') =>
  fileNameOf({ ...get(query).report, endpoint }, 'csv');

describe('fileNameOf', () => {
  it.each([
    ['advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-07', 'campaigns_1_2026-11-01_2026-11-07.csv'],
    ['dateFrom=2026-11-01&dateTo=2026-11-07', 'campaigns_2026-11-01_2026-11-07.csv'],
    ['advertiserId=1', 'campaigns_1.csv'],
    ['', 'campaigns.csv'],
  ])('of %s is %s', (query, name) => {
    expect(named(query)).toBe(name);
  });

  it('says the whole path of a report that is no `get`', () => {
    expect(named('advertiserId=1', 'sites/by-hour/list')).toBe('sites-by-hour-list_1.csv');
  });

  it('is one word of plain characters, whatever the account and the endpoint are', () => {
    const { report } = get('advertiserId=1');
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), fc.string(), (account, endpoint) => {
        expect(fileNameOf({ ...report, account, endpoint }, 'csv')).toMatch(
          /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,149}\.csv$/,
        );
      }),
    );
  });
});
