/** Names and values of parameters: which are taken, and what is meant by those that are not. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalize } from '../../../src/reports/query/canonicalize.js';
import { dayNumber, isoDay } from '../../../src/reports/query/days.js';
import {
  type EndpointNames,
  GATEWAY_PARAMETERS,
  isInteger,
  type Kind,
  nameFault,
  parameterTable,
  readJson,
  readText,
  unknownNameFaults,
  unknownNames,
} from '../../../src/reports/query/parameters.js';
import { type Json, parseJson } from '../../../src/reports/rows/json.js';
import { get, post, RULES } from './canonical-request.js';

const TABLE = parameterTable(['advertiserId', 'userId']);

it('other account fields are known where they are configured', () => {
  const { kinds } = parameterTable(['clientId']);
  expect([kinds.get('clientId'), kinds.has('advertiserId')]).toEqual(['int', false]);
});

describe('nameFault', () => {
  it.each([
    ['advertiser_id', 'is unknown: did you mean `advertiserId`?'],
    ['campaign_ids[]', 'is unknown: did you mean `campaignIds`?'],
    ['advertiserId[]', 'takes one value, not a list'],
    ['toString', 'is not allowed as a parameter name'],
  ])('refuses %j: %s', (name, message) => {
    expect(nameFault(name, TABLE)?.message).toBe(message);
  });

  it.each(['', '[]', '1x', 'a.b', 'a-b', 'a b', 'a[0]', 'a[]b', '[a]', 'ä', 'a\n', '_x'])(
    'refuses %j as no name',
    (name) => {
      expect(nameFault(name, TABLE)?.message).toMatch(/^is not a parameter name/);
    },
  );
});

const TODAY = dayNumber('2026-11-21') as number;
const text = (kind: Kind, ...values: string[]) => readText(kind, values, TODAY);
const json = (kind: Kind, source: string) => readJson(kind, parseJson(source), TODAY);
const isFault = (read: object) => 'allowed' in read;

describe('readText', () => {
  it('takes integers in their one spelling, up to 16 digits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 9_999_999_999_999_999n }), (value) => {
        expect(text('int', String(value))).toEqual({ texts: [String(value)] });
        expect(isInteger(String(value))).toBe(true);
      }),
    );
  });

  it.each(['', '0', '-1', '+1', '01', '1.0', '1e3', ' 1', '1\n', '１', '10000000000000000'])(
    'refuses %j as an integer',
    (value) => {
      expect(isFault(text('int', value))).toBe(true);
      expect(isInteger(value)).toBe(false);
    },
  );

  it.each(['2', 'on', 'TRUE', '01', ' 1', 'null', 'constructor'])('refuses the flag %j', (value) => {
    expect(isFault(text('flag', value))).toBe(true);
  });

  it('takes exactly the calendar days from 2000-01-01 to today + 366', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10_000, max: 21_200 }), (day) => {
        const inRange = day >= (dayNumber('2000-01-01') as number) && day <= TODAY + 366;
        expect(isFault(text('date', isoDay(day)))).toBe(!inRange);
      }),
    );
    for (const value of ['2026-02-29', '2026-11-01 ', '', 'x'])
      expect(text('date', value)).toEqual({
        allowed: expect.stringContaining('YYYY-MM-DD, from 2000-01-01 to 2027-11-22'),
      });
  });

  it.each([[['']], [['1,']], [[',1']], [['1', '']], [['1,x']], [['01']], [['1 ,2']]])(
    'refuses the set %j',
    (values) => {
      expect(isFault(text('set', ...values))).toBe(true);
    },
  );

  it('takes a set of 10,000 and no more', () => {
    const list = (count: number) => Array.from({ length: count }, (_, at) => at + 1).join(',');
    expect(isFault(text('set', list(10_000)))).toBe(false);
    expect(isFault(text('set', list(10_001)))).toBe(true);
  });

  it('leaves text as it is, and takes empty text for none', () => {
    expect(text('text', ' Usd, ü ')).toEqual({ texts: [' Usd, ü '] });
    expect(text('text', '')).toEqual({ texts: [] });
  });
});

describe('readJson', () => {
  it('reads numbers, texts and lists as the query would have them', () => {
    expect(json('int', '7')).toEqual(text('int', '7'));
    expect(json('int', '"7"')).toEqual(text('int', '7'));
    expect(json('int', '9007199254740993')).toEqual({ texts: ['9007199254740993'] });
    expect(json('flag', 'true')).toEqual(text('flag', '1'));
    expect(json('flag', '0')).toEqual(text('flag', '0'));
    expect(json('set', '[3,"1","2,3"]')).toEqual(text('set', '1', '2', '3'));
    expect(json('set', '5')).toEqual(text('set', '5'));
    expect(json('date', '"2026-11-01"')).toEqual(text('date', '2026-11-01'));
    expect(json('text', '"usd"')).toEqual(text('text', 'usd'));
  });

  it('takes null for an absent flag or text, and for a fault elsewhere', () => {
    expect(json('flag', 'null')).toEqual({ texts: [] });
    expect(json('text', 'null')).toEqual({ texts: [] });
    for (const kind of ['int', 'date', 'set'] as const) expect(isFault(json(kind, 'null'))).toBe(true);
  });

  it('refuses every other type, and never throws', () => {
    const value = fc.jsonValue({ maxDepth: 2 }).map((plain): Json => parseJson(JSON.stringify(plain)));
    const kinds = fc.constantFrom<Kind>('int', 'flag', 'date', 'set', 'text');
    fc.assert(
      fc.property(kinds, value, (kind, given) => {
        const read = readJson(kind, given, TODAY);
        const isList = Array.isArray(given);
        if (isList && kind !== 'set') expect(isFault(read)).toBe(true);
        if (kind === 'int' && !isFault(read)) {
          expect('texts' in read && read.texts.length === 1 && isInteger(read.texts[0] as string)).toBe(true);
        }
      }),
    );
  });

  it.each<[Kind, string]>([
    ['int', '1e0'],
    ['int', '-1'],
    ['flag', '{}'],
    ['text', 'true'],
    ['set', '[true]'],
    ['set', '{"0":1}'],
  ])('refuses a %s that is %s', (kind, source) => {
    expect(isFault(json(kind, source))).toBe(true);
  });
});

const ENDPOINT = 'campaigns/get';
/** Of the platform's document; this list is its own, so that no change of the tables can shorten it. */
const DOCUMENTED = ['advertiserId', 'byDate', 'byCampaign', 'dateFrom', 'dateTo', 'spentBased'];
const KNOWN = [...DOCUMENTED, 'userId', 'campaignIds'];

function rulesWith(names: Partial<EndpointNames>) {
  const rule: EndpointNames = { knownParameters: [], unknownParameters: 'pass', ...names };
  return { ...RULES, endpoints: new Map([[ENDPOINT, rule]]) };
}

const meant = (name: string, names: Partial<EndpointNames> = {}) =>
  unknownNames([{ name, list: false }], ENDPOINT, rulesWith(names))[0]?.meant;

/** What the query's names are refused with, as `name: message`. */
function refusals(query: string, names: Partial<EndpointNames> = {}, lenient = false): string[] {
  try {
    canonicalize({ endpoint: ENDPOINT, method: 'GET', query, body: null, lenient }, rulesWith(names));
    return [];
  } catch (error) {
    const { options } = error as { options: { errors: { param: string; message: string }[] } };
    return options.errors.map(({ param, message }) => `${param}: ${message}`);
  }
}

const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_]{0,15}$/).filter((one) => !(one in Object.prototype));
const letter = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz');

describe('a name that is meant for a known one', () => {
  it.each([
    ...['from', 'start', 'since', 'dateStart', 'startDate', 'fromDate'].map((one) => [one, 'dateFrom']),
    ...['to', 'end', 'until', 'dateEnd', 'endDate', 'toDate'].map((one) => [one, 'dateTo']),
    ...[
      ['byDay', 'byDate'],
      ['FROM', 'dateFrom'],
      ['format', '_format'],
      ['period', '_period'],
      ['spendBased', 'spentBased'],
      ['dateForm', 'dateFrom'],
      ['byCampagn', 'byCampaign'],
      ...['byDat', 'byDte', 'byDtae', 'byDates'].map((one) => [one, 'byDate']),
      ['byCampaigns', 'byCampaign'],
      ['peroid', '_period'],
    ],
  ])('%s is refused for %s', (given, known) => {
    expect(meant(given as string)).toEqual([known]);
    expect(refusals(`${given}=1`)).toEqual([`${given}: is unknown: did you mean \`${known}\`?`]);
  });

  it('may be meant for one of two', () => {
    expect(refusals('groupBy=date')).toEqual(['groupBy: is unknown: did you mean `byDate` or `byCampaign`?']);
    expect(meant('days')).toEqual(['_period', '_days']);
  });

  it.each(['campaignId', 'byDate2', 'dateFrom2', 'b1yDate', 'byDa', 'bom2', 'page', 'byCreative', 'byOs'])(
    '%s is not: a plural, a number, a short name, another thing',
    (given) => {
      expect(meant(given)).toEqual([]);
      expect(refusals(`${given}=1`)).toEqual([]);
    },
  );

  it('is refused as a list and as a member of a body too, each by its name', () => {
    expect(refusals('from[]=1&until=2').map((one) => one.split(':')[0])).toEqual(['from[]', 'until']);
    expect(() => post('{"since":"2026-11-01"}')).toThrow(
      expect.objectContaining({
        options: {
          errors: [
            expect.objectContaining({
              param: 'since',
              message: 'is unknown: did you mean `dateFrom`?',
            }),
          ],
        },
      }),
    );
    expect(post('{"filter":{"from":1}}').report.passedOn).toEqual([{ name: 'filter', meant: [] }]);
  });

  it('is found for every slip of one letter in a known name of six letters and more', () => {
    const slip = fc
      .tuple(fc.constantFrom(...KNOWN), fc.nat(), letter, fc.constantFrom('less', 'more', 'other'))
      .map(([known, at, one, kind]) => {
        // The first letter stays, so that it is a name.
        const place = 1 + (at % (known.length - 1));
        const rest = known.slice(place + (kind === 'more' ? 0 : 1));
        return { known, slipped: `${known.slice(0, place)}${kind === 'less' ? '' : one}${rest}` };
      })
      .filter(
        ({ known, slipped }) =>
          slipped.length >= 6 &&
          !KNOWN.some((one) => slipped.toLowerCase() === one.toLowerCase()) &&
          `${known}s` !== slipped &&
          `${slipped}s` !== known,
      );
    fc.assert(
      fc.property(slip, ({ slipped }) => {
        expect(meant(slipped)).toHaveLength(1);
      }),
    );
  });
});

describe('a name that goes to the platform', () => {
  it('is never refused when the platform has it in its document', () => {
    const values: Record<string, string> = { dateFrom: '2026-11-01', dateTo: '2026-11-02' };
    for (const unknownParameters of ['pass', 'refuse'] as const)
      for (const one of DOCUMENTED)
        expect(refusals(`${one}=${values[one] ?? 1}`, { unknownParameters })).toEqual([]);
  });

  it('is never refused when an operator vouches for it, nor listed', () => {
    fc.assert(
      fc.property(fc.oneof(name, fc.constantFrom('from', 'to', 'groupBy', 'format')), (one) => {
        const vouched = { knownParameters: [one], unknownParameters: 'refuse' } as const;
        expect(unknownNames([{ name: one, list: true }], ENDPOINT, rulesWith(vouched))).toEqual([]);
      }),
    );
    expect(meant('timeZone', { knownParameters: ['timezone'] })).toEqual(['timezone']);
    expect(meant('timezon', { knownParameters: ['timezone'] })).toEqual(['timezone']);
    expect(meant('byHou', { knownParameters: ['byHour:flag'] })).toEqual(['byHour']);
    expect(meant('byAgo', { knownParameters: ['byAge'] })).toEqual([]);
    // That is refused as another spelling of `dateFrom`, and must not be advised.
    expect(meant('dateForm', { knownParameters: ['date_from'] })).toEqual(['dateFrom']);
  });

  it('is known, or refused, or listed: never none of them', () => {
    const asked = fc.tuple(name, fc.boolean(), fc.constantFrom('pass', 'refuse'), fc.boolean());
    fc.assert(
      fc.property(asked, ([one, list, unknownParameters, lenient]) => {
        const rules = rulesWith({ unknownParameters });
        const unknown = unknownNames([{ name: one, list }], ENDPOINT, rules);
        expect(unknown).toHaveLength(KNOWN.includes(one) ? 0 : 1);
        const passed = unknown.filter(({ meant: known }) => known.length === 0 || lenient);
        expect(unknownNameFaults(unknown, ENDPOINT, rules, lenient)).toHaveLength(
          unknown.length - (unknownParameters === 'refuse' ? 0 : passed.length),
        );
      }),
    );
  });

  it('is refused with what is allowed where unknown ones are', () => {
    expect(refusals('sort=x', { unknownParameters: 'refuse', knownParameters: ['page'] })).toEqual([
      `sort: is unknown; allowed: ${['byDate', 'byCampaign', 'dateFrom', 'dateTo', 'spentBased', 'campaignIds', 'advertiserId', 'userId', 'page'].join(', ')}`,
    ]);
    // An operator who says so means apps of the platform's too.
    expect(refusals('from=x', { unknownParameters: 'refuse' }, true)).toHaveLength(1);
  });

  it('is listed with what it was meant for where it is passed on all the same', () => {
    expect(refusals('from=x', {}, true)).toEqual([]);
    const ask = { endpoint: 'creatives/get', method: 'GET', query: 'x=1&from=2&a[]=3', body: null } as const;
    expect(canonicalize(ask, RULES).report.passedOn).toEqual([
      { name: 'a[]', meant: [] },
      { name: 'from', meant: ['dateFrom'] },
      { name: 'x', meant: [] },
    ]);
  });

  const TAKES: Readonly<Record<string, string>> = {
    _format: 'json',
    _period: 'today',
    _vintage: 'first',
    _final: 'only',
    _fields: 'date',
  };
  it('is none of the gateway’s own', () => {
    expect(
      get(GATEWAY_PARAMETERS.map((one) => `${one}=${TAKES[one] ?? ''}`).join('&')).report.passedOn,
    ).toEqual([]);
  });
});
