import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalize } from '../../../src/reports/query/canonicalize.js';
import { seriesId } from '../../../src/reports/query/platform-call.js';
import { meaningOf, neighbours, question, spellings } from '../rows/question-model.js';
import { faults, get, identity, post, RULES, sentBody, target } from './canonical-request.js';

describe('canonicalize: one question, one form', () => {
  it('gives two questions the same identity exactly when they mean the same, however they are spelt', () => {
    const spelt = neighbours.chain(([one, two]) =>
      fc.tuple(fc.constant([one, two] as const), spellings(one), spellings(two)),
    );
    fc.assert(
      fc.property(spelt, ([[one, two], left, right]) => {
        const same = meaningOf(one) === meaningOf(two);
        expect(identity(get(left)) === identity(get(right))).toBe(same);
      }),
      { numRuns: 1000 },
    );
  });

  it('sends the platform one and the same request for every spelling', () => {
    const twice = question.chain((asked) => fc.tuple(spellings(asked), spellings(asked)));
    fc.assert(
      fc.property(twice, ([left, right]) => {
        expect(target(get(left))).toBe(target(get(right)));
      }),
    );
  });

  it('a pair given once more: means nothing in a set, counts in an unknown list, is refused elsewhere', () => {
    const withPair = question.chain((asked) => fc.tuple(spellings(asked), fc.nat()));
    fc.assert(
      fc.property(withPair, ([text, at]) => {
        const pairs = text.split('&').filter((pair) => pair !== '');
        fc.pre(pairs.length > 0);
        const pair = pairs[at % pairs.length] as string;
        const [name] = [...new URLSearchParams(pair).keys()] as [string];
        const longer = `${text}&${pair}`;
        if (name.startsWith('campaignIds')) expect(identity(get(longer))).toBe(identity(get(text)));
        else if (name.endsWith('[]')) expect(identity(get(longer))).not.toBe(identity(get(text)));
        else expect(faults(() => get(longer))).toContain(name);
      }),
    );
  });

  it('is the same for a query with empty entries and for one without', () => {
    expect(identity(get('&&advertiserId=1&&byDate=1&'))).toBe(identity(get('advertiserId=1&byDate=1')));
  });

  it('tells endpoints, methods, accounts and platforms apart', () => {
    const { report } = get('advertiserId=1');
    const ids = [
      seriesId(report, 'default', 'https://a/'),
      seriesId({ ...report, endpoint: 'creatives/get' }, 'default', 'https://a/'),
      seriesId(report, 'other', 'https://a/'),
      seriesId(report, 'default', 'https://b/'),
      seriesId(post('{"advertiserId":1}').report, 'default', 'https://a/'),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('canonicalize: the period', () => {
  const period = (query: string) => {
    const { from, to } = get(query).report;
    return [from, to];
  };

  it('takes days from 2000-01-01 to today + 366', () => {
    expect(period('dateFrom=2000-01-01&dateTo=2027-11-22')).toEqual(['2000-01-01', '2027-11-22']);
    expect(faults(() => get('dateFrom=1999-12-31'))).toEqual(['dateFrom']);
    expect(faults(() => get('dateTo=2027-11-23'))).toEqual(['dateTo']);
  });

  it('leaves to the platform what is not said', () => {
    expect(period('advertiserId=1')).toEqual([null, null]);
    expect(period('dateFrom=2026-11-01')).toEqual(['2026-11-01', null]);
    expect(target(get('dateFrom=2026-11-01'))).toBe('/api/v1/report/campaigns/get?dateFrom=2026-11-01');
  });

  it('puts the days of a word in the place of dates', () => {
    expect(target(get('_period=yesterday'))).toBe(
      '/api/v1/report/campaigns/get?dateFrom=2026-11-20&dateTo=2026-11-20',
    );
    expect(sentBody(post('{}', '_period=yesterday'))).toBe('{"dateFrom":"2026-11-20","dateTo":"2026-11-20"}');
  });

  it("counts from the account's own today", () => {
    const rules = { ...RULES, todayOf: (account: string | null) => (account === '7' ? 10_000 : 20_000) };
    const read = (query: string) =>
      canonicalize({ endpoint: 'campaigns/get', method: 'GET', query, body: null }, rules).report.from;
    expect(read('_period=today&advertiserId=7')).toBe('1997-05-19');
    expect(read('_period=today&advertiserId=8')).toBe('2024-10-04');
    expect(read('_period=today')).toBe('2024-10-04');
  });

  it('asks for no day by an account that is not one', () => {
    const asked: (string | null)[] = [];
    const rules = { ...RULES, todayOf: (account: string | null) => asked.push(account) };
    for (const id of ['constructor', '__proto__', 'x', '']) {
      faults(() =>
        canonicalize({ endpoint: 'a', method: 'GET', query: `advertiserId=${id}`, body: null }, rules),
      );
    }
    expect(asked).toEqual([null, null, null, null]);
  });
});

describe('canonicalize: splits', () => {
  it.each([
    ['byDate=1', ['date']],
    ['byCampaign=1&byDate=1', ['date', 'campaign']],
    ['byHour=1&byCreative=1&byDate=0&byCampaign=true', ['campaign', 'creative', 'hour']],
    ['byCreative=0', []],
    ['byCreative=false', []],
    ['byCreative=', []],
    ['bypass=1', []],
  ])('%s is split by %j', (query, split) => {
    expect(get(query).report.split).toEqual(split);
  });

  it('shows what spend is based on, empty being absent', () => {
    expect(get('spentBased=local').report.spentBased).toBe('local');
    expect(get('spentBased=').report.spentBased).toBeNull();
    expect(identity(get('spentBased='))).toBe(identity(get('')));
  });
});
