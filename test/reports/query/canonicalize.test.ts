/** One question, one form: of queries, of bodies, and of what is hostile. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalize, type ParsedReport } from '../../../src/reports/query/canonicalize.js';
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
      { numRuns: 200 },
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

describe('canonicalize: accounts', () => {
  const accounts = ({ report }: ParsedReport) =>
    report.accounts.map(({ param, values }) => [param, ...values]);

  it('takes the first account field that is given for the account', () => {
    expect(get('userId=2&advertiserId=1').report.account).toBe('1');
    expect(get('userId=2').report.account).toBe('2');
    expect(get('byDate=1').report).toMatchObject({ account: null, namesAccount: false, accounts: [] });
    expect(get('clientId=5').report).toMatchObject({ account: null, namesAccount: false });
  });

  it('names every parameter that looks like an account', () => {
    expect(accounts(get('advertiserId=1&userId=2&accountId=3&agency_ids[]=4&agency_ids[]=5&page=6'))).toEqual(
      [
        ['advertiserId', '1'],
        ['userId', '2'],
        ['accountId', '3'],
        ['agency_ids', '4', '5'],
      ],
    );
  });

  it('finds accounts wherever a body holds them', () => {
    const body = `{"advertiserId":1,"filter":{"accountId":2,"list":[{"user_id":"3"}]},"advertiser":{"id":4},"ownerIds":[5,"6"]}`;
    const values = post(body).report.accounts.flatMap((account) => account.values);
    expect(values.toSorted()).toEqual(['1', '2', '3', '4', '5', '6']);
  });

  it('keeps what is no id, so that it is refused rather than overlooked', () => {
    expect(accounts(get('accountId=x'))).toEqual([['accountId', 'x']]);
    expect(post('{"accountId":true}').report.accounts.flatMap((account) => account.values)).toContain('true');
    expect(post('{"accountId":1.0}').report.accounts.flatMap((account) => account.values)).toContain('1.0');
  });
});

describe('canonicalize: a body', () => {
  it('takes JSON types and texts for the same', () => {
    const forms = [
      '{"advertiserId":1,"byDate":true,"campaignIds":[2,1],"dateFrom":"2026-11-01","spentBased":"usd"}',
      '{"spentBased":"usd","dateFrom":"2026-11-01","campaignIds":["1","2",1],"byDate":1,"advertiserId":"1"}',
      '{"campaignIds":"2,1","byDate":"1","advertiserId":1,"dateFrom":"2026-11-01","spentBased":"usd","byCampaign":false}',
      '{"campaignIds":["1,2"],"byDate":"true","advertiserId":1,"dateFrom":"2026-11-01","spentBased":"usd","byCampaign":null}',
    ];
    for (const form of forms) {
      expect(sentBody(post(form))).toBe(
        '{"advertiserId":1,"byDate":true,"campaignIds":[1,2],"dateFrom":"2026-11-01","spentBased":"usd"}',
      );
      expect(identity(post(form))).toBe(identity(post(forms[0] as string)));
    }
  });

  it.each([
    ['{"advertiserId":[1]}', 'advertiserId'],
    ['{"advertiserId":null}', 'advertiserId'],
    ['{"advertiserId":1.0}', 'advertiserId'],
    ['{"advertiser_id":1}', 'advertiser_id'],
    ['{" advertiserId":1}', ' advertiserId'],
    ['{"advertiserId\\u0000":1}', 'advertiserId\u0000'],
    ['{"byDate":[true]}', 'byDate'],
    ['{"dateFrom":20261101}', 'dateFrom'],
    ['{"campaignIds":[]}', 'campaignIds'],
    ['{"campaignIds":[[1]]}', 'campaignIds'],
    ['{"campaignIds[]":[1]}', 'campaignIds[]'],
    ['{"spentBased":1}', 'spentBased'],
    ['{"_format":"csv"}', '_format'],
    ['{"_method":"DELETE"}', '_method'],
    ['{"__proto__":1}', '__proto__'],
    ['{"constructor":1}', 'constructor'],
    ['{"filter":{"__proto__":1}}', 'filter'],
    ['{"filter":{"constructor":1}}', 'filter'],
    ['{"filter":[{"a.b":1}]}', 'filter'],
    ['{"filter":{"a\\u0000":1}}', 'filter'],
  ])('refuses %s', (body, param) => {
    expect(faults(() => post(body))).toContain(param);
  });

  it.each([
    ['{"_format":"csv"}', 'Send ?_format=csv in the address, not in the body.'],
    ['{"_totals":true}', 'Send ?_totals=true in the address, not in the body.'],
    ['{"_fields":["a&b"]}', 'Send _fields in the address, not in the body.'],
    ['{"_formats":"csv"}', 'Send _format instead of _formats.'],
  ])('says of %s in a body: %s', (body, help) => {
    expect(() => post(body)).toThrow(
      expect.objectContaining({ options: { errors: [expect.objectContaining({ help })] } }),
    );
  });

  it('refuses a name that query and body both give', () => {
    expect(faults(() => post('{"advertiserId":1}', 'advertiserId=1'))).toEqual(['advertiserId']);
    expect(faults(() => post('{"x":1}', 'x[]=1'))).toEqual(['x']);
  });

  it('sends each member where it came from', () => {
    const request = post('{"campaignIds":[2,1],"x":{"b":1,"a":[2,1]}}', 'advertiserId=1&byDate=1');
    expect(target(request)).toBe('/api/v1/report/campaigns/get?advertiserId=1&byDate=1');
    expect(sentBody(request)).toBe('{"campaignIds":[1,2],"x":{"a":[2,1],"b":1}}');
  });

  it('keeps numbers as they were written, whatever JavaScript makes of them', () => {
    const body = '{"x":[9007199254740993,1e400,0.10,-0]}';
    expect(sentBody(post(body))).toBe(body);
    expect(identity(post('{"x":1}'))).not.toBe(identity(post('{"x":1.0}')));
    expect(identity(post('{"x":"1"}'))).not.toBe(identity(post('{"x":1}')));
    expect(identity(post('{"x":null}'))).not.toBe(identity(post('{}')));
  });

  it('gives a body one form, whatever the order of its members at any depth', () => {
    const json = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<unknown>(null, true, 0, 1, 'a', 'ü"\\'),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('a', 'b', 'c', 'B'), tie('value'), {
          maxKeys: 3,
          noNullPrototype: true,
        }),
      ),
    })).value;
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([name, member]) => [name, reversed(member)]),
      );
    };
    fc.assert(
      fc.property(json, json, (one, other) => {
        const text = (value: unknown) => JSON.stringify({ x: value, y: 1 });
        expect(identity(post(text(one)))).toBe(identity(post(JSON.stringify({ y: 1, x: reversed(one) }))));
        const same = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
        expect(identity(post(text(one))) === identity(post(text(other)))).toBe(same);
      }),
    );
  });
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, member]): [string, unknown] => [name, sorted(member)]);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

describe('canonicalize: what could be read two ways is refused', () => {
  // The catalogue of hostile queries, reliability.md section B.
  it.each([
    ['twice', 'advertiserId=1&advertiserId=2', 'advertiserId'],
    ['twice the same', 'advertiserId=1&advertiserId=1', 'advertiserId'],
    ['brackets', 'advertiserId[]=1', 'advertiserId[]'],
    ['an index', 'advertiserId[0]=1', 'advertiserId[0]'],
    ['encoded brackets', 'advertiserId%5B%5D=1', 'advertiserId[]'],
    ['case', 'AdvertiserID=1', 'AdvertiserID'],
    ['a semicolon', 'advertiserId=1;advertiserId=2', 'advertiserId'],
    ['an encoded pair', 'advertiserId=1%26advertiserId%3D2', 'advertiserId'],
    ['a plus, which is a space', 'advertiserId=+1', 'advertiserId'],
    ['a list', 'advertiserId=1,2', 'advertiserId'],
    ['nothing', 'advertiserId=', 'advertiserId'],
    ['an encoded fragment in a name', 'a%23=1', 'a#'],
    ['a prototype', '__proto__=1', '__proto__'],
    ['a constructor', 'constructor=1', 'constructor'],
    ['a constructor as a list', 'constructor[]=1', 'constructor[]'],
    ['another inherited name', 'hasOwnProperty=1', 'hasOwnProperty'],
    ['an inherited name as an id', 'advertiserId=constructor', 'advertiserId'],
    ['an unknown name of the gateway', '_formt=csv', '_formt'],
    ['the method', '_method=DELETE', '_method'],
    ['a list of the gateway', '_format[]=csv', '_format[]'],
    ['a flag of the gateway twice', '_totals=1&_totals=0', '_totals'],
    ['a flag that is none', 'byDate=yes', 'byDate'],
    ['no name', '=1', ''],
    ['an unknown name, single and as a list', 'x=1&x[]=2', 'x[]'],
    ['an unknown name twice', 'x=1&x=2', 'x'],
    ['a broken encoding', 'x=%zz', 'x'],
    ['an empty set', 'campaignIds[]=', 'campaignIds'],
    ['30 February', 'dateFrom=2026-02-30', 'dateFrom'],
    ['a period upside down', 'dateFrom=2026-11-02&dateTo=2026-11-01', 'dateTo'],
    ['a period beside dates', 'dateTo=2026-11-02&_period=today', '_period'],
    ['an unknown period', '_period=next_week', '_period'],
    ['an unknown format', '_format=xml', '_format'],
  ])('%s: %s', (_what, query, param) => {
    expect(faults(() => get(query))).toContain(param);
  });

  it('takes an encoded name for the name it spells, and refuses one that was encoded twice', () => {
    expect(identity(get('%61dvertiserId=1'))).toBe(identity(get('advertiserId=1')));
    expect(faults(() => get('%2561dvertiserId=1'))).toEqual(['%61dvertiserId']);
  });

  it('keys what it does not know, and keeps the order of a list that nobody declared a set', () => {
    expect(identity(get('advertiserId=1&utm_source=a'))).not.toBe(identity(get('advertiserId=1')));
    expect(identity(get('x[]=1&x[]=2'))).not.toBe(identity(get('x[]=2&x[]=1')));
    expect(target(get('x[]=2&x[]=1&x[]=2'))).toBe(
      '/api/v1/report/campaigns/get?x%5B%5D=2&x%5B%5D=1&x%5B%5D=2',
    );
  });

  it('refuses every near miss of a known or account name, single or as a list', () => {
    const known = [...RULES.table.kinds.keys()];
    const nearMiss = fc.constantFrom(...known).chain((name) =>
      fc
        .tuple(
          ...[...name].map((letter) => {
            const swapped = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
            return fc.constantFrom(letter, letter, swapped, swapped, `${letter}_`, `${swapped}__`);
          }),
        )
        .map((letters) => letters.join(''))
        .filter((spelt) => spelt !== name),
    );
    fc.assert(
      fc.property(nearMiss, fc.constantFrom('', '[]'), (name, brackets) => {
        expect(faults(() => get(`${name}${brackets}=1`))).toEqual([`${name}${brackets}`]);
      }),
    );
  });

  it.each([
    'advertiser.Id',
    'advertiser-id',
    ' advertiserId',
    'advertiserId ',
    'advertiserId\u0000x',
    'advertiser[Id]',
  ])('refuses %j, which the platform reads as advertiserId', (name) => {
    expect(faults(() => get(`${encodeURIComponent(name)}=1`))).toHaveLength(1);
  });

  it('refuses every inherited name, in a query and inside of a body, and leaves the prototype clean', () => {
    const before = Reflect.ownKeys(Object.prototype);
    for (const name of Object.getOwnPropertyNames(Object.prototype)) {
      expect(faults(() => get(`${name}=1`))).toEqual([name]);
      expect(faults(() => post(`{"filter":{"${name}":1}}`))).toEqual(['filter']);
    }
    expect(Reflect.ownKeys(Object.prototype)).toEqual(before);
  });

  it('tells all faults at once, each with its name', () => {
    expect(
      faults(() => get('advertiserId=x&byDate=maybe&dateFrom=1&_nothing=1&constructor=1'))?.toSorted(),
    ).toEqual(['_nothing', 'advertiserId', 'byDate', 'constructor', 'dateFrom']);
  });
});
