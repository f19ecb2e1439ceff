import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalize } from '../../../src/reports/query/canonicalize.js';
import {
  type EndpointNames,
  GATEWAY_PARAMETERS,
  unknownNameFaults,
  unknownNames,
} from '../../../src/reports/query/parameters.js';
import { get, post, RULES } from './canonical-request.js';

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
      ['byDays', 'byDate'],
      ['FROM', 'dateFrom'],
      ['start_date', 'dateFrom'],
      ['format', '_format'],
      ['period', '_period'],
      ['totals', '_totals'],
      ['bom', '_bom'],
      ['DateFrom', 'dateFrom'],
      ['spendBased', 'spentBased'],
      ['datefrm', 'dateFrom'],
      ['dateForm', 'dateFrom'],
      ['byCampagn', 'byCampaign'],
      ['peroid', '_period'],
    ],
  ])('%s is refused for %s', (given, known) => {
    expect(meant(given as string)).toEqual([known]);
    expect(refusals(`${given}=1`)).toEqual([`${given}: is not known here: did you mean \`${known}\`?`]);
  });

  it.each(['datefrom', 'DateFrom', 'date_from', 'DATE_TO'])('%s is refused for its spelling', (given) => {
    expect(refusals(`${given}=2026-11-01`)[0]).toMatch(/did you mean `date(From|To)`\?$/);
  });

  it('may be meant for one of two', () => {
    expect(refusals('groupBy=date')).toEqual([
      'groupBy: is not known here: did you mean `byDate` or `byCampaign`?',
    ]);
    expect(meant('days')).toEqual(['_period', '_days']);
  });

  it.each([
    'campaignId',
    'byCampaigns',
    'byDates',
    'dateFrom2',
    'byDate1',
    'b1yDate',
    'byDa',
    'bom2',
    'page',
    'country',
    'byCreative',
    'sort',
  ])('%s is not: a plural, a number, a short name, another thing', (given) => {
    expect(meant(given)).toEqual([]);
    expect(refusals(`${given}=1`)).toEqual([]);
  });

  it('is refused as a list and as a member of a body too, each by its name', () => {
    expect(refusals('from[]=1&until=2').map((one) => one.split(':')[0])).toEqual(['from[]', 'until']);
    expect(() => post('{"since":"2026-11-01"}')).toThrow(
      expect.objectContaining({
        options: { errors: [{ param: 'since', message: 'is not known here: did you mean `dateFrom`?' }] },
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
      `sort: is not known here; allowed are ${['byDate', 'byCampaign', 'dateFrom', 'dateTo', 'spentBased', 'campaignIds', 'advertiserId', 'userId', 'page'].join(', ')}`,
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

  it('is none of the gateway’s own', () => {
    expect(
      get(
        GATEWAY_PARAMETERS.map((one) => `${one}=`)
          .join('&')
          .replace('_format=', '_format=json')
          .replace('_period=', '_period=today')
          .replace('_vintage=', '_vintage=first')
          .replace('_final=', '_final=only')
          .replace('_fields=', '_fields=date'),
      ).report.passedOn,
    ).toEqual([]);
  });
});
