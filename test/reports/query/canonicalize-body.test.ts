import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ParsedReport } from '../../../src/reports/query/canonicalize.js';
import { faults, get, identity, post, sentBody, target } from './canonical-request.js';

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
    ['{"advertiserId":1e0}', 'advertiserId'],
    ['{"advertiserId":true}', 'advertiserId'],
    ['{"advertiserId":"01"}', 'advertiserId'],
    ['{"advertiserId":99999999999999999}', 'advertiserId'],
    ['{"advertiser_id":1}', 'advertiser_id'],
    ['{" advertiserId":1}', ' advertiserId'],
    ['{"advertiserId\\u0000":1}', 'advertiserId\u0000'],
    ['{"byDate":[true]}', 'byDate'],
    ['{"byDate":2}', 'byDate'],
    ['{"byDate":1.0}', 'byDate'],
    ['{"dateFrom":20261101}', 'dateFrom'],
    ['{"dateFrom":null}', 'dateFrom'],
    ['{"campaignIds":[]}', 'campaignIds'],
    ['{"campaignIds":[1,null]}', 'campaignIds'],
    ['{"campaignIds":[[1]]}', 'campaignIds'],
    ['{"campaignIds":{"0":1}}', 'campaignIds'],
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
