import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { faults, get, identity, post, RULES, target } from '../query/canonical-request.js';

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
    ['a leading zero', 'advertiserId=01', 'advertiserId'],
    ['a sign', 'advertiserId=%2B1', 'advertiserId'],
    ['a plus, which is a space', 'advertiserId=+1', 'advertiserId'],
    ['a space', 'advertiserId=%201', 'advertiserId'],
    ['a fraction', 'advertiserId=1.0', 'advertiserId'],
    ['an exponent', 'advertiserId=1e0', 'advertiserId'],
    ['hexadecimal', 'advertiserId=0x1', 'advertiserId'],
    ['full-width', 'advertiserId=%EF%BC%91', 'advertiserId'],
    ['NUL', 'advertiserId=1%00', 'advertiserId'],
    ['a list', 'advertiserId=1,2', 'advertiserId'],
    ['nothing', 'advertiserId=', 'advertiserId'],
    ['zero', 'advertiserId=0', 'advertiserId'],
    ['minus', 'advertiserId=-1', 'advertiserId'],
    ['17 digits', 'advertiserId=12345678901234567', 'advertiserId'],
    ['an encoded fragment in a name', 'a%23=1', 'a#'],
    ['a prototype', '__proto__=1', '__proto__'],
    ['a constructor', 'constructor=1', 'constructor'],
    ['a constructor as a list', 'constructor[]=1', 'constructor[]'],
    ['another inherited name', 'hasOwnProperty=1', 'hasOwnProperty'],
    ['an inherited name as an id', 'advertiserId=constructor', 'advertiserId'],
    ['an unknown name of the gateway', '_formt=csv', '_formt'],
    ['the method', '_method=DELETE', '_method'],
    ['a list of the gateway', '_format[]=csv', '_format[]'],
    ['two lists of the gateway', '_format[]=csv&_format[]=json', '_format[]'],
    ['a flag of the gateway twice', '_totals=1&_totals=0', '_totals'],
    ['an inherited name as a flag', '_totals=constructor', '_totals'],
    ['a flag that is none', 'byDate=yes', 'byDate'],
    ['a flag in capitals', 'byDate=TRUE', 'byDate'],
    ['a name without letters', '1a=1', '1a'],
    ['no name', '=1', ''],
    ['a dash in a name', 'a-b=1', 'a-b'],
    ['a nested name', 'a[b]=1', 'a[b]'],
    ['brackets twice', 'a[][]=1', 'a[][]'],
    ['a letter beyond ASCII', '%C3%A4=1', 'ä'],
    ['an unknown name, single and as a list', 'x=1&x[]=2', 'x[]'],
    ['an unknown name twice', 'x=1&x=2', 'x'],
    ['a broken encoding', 'x=%zz', 'x'],
    ['an overlong encoding', 'x=%c0%af', 'x'],
    ['a raw byte above ASCII', 'x=\u00e4', 'x'],
    ['an empty set', 'campaignIds[]=', 'campaignIds'],
    ['a set with a hole', 'campaignIds=1,,2', 'campaignIds'],
    ['30 February', 'dateFrom=2026-02-30', 'dateFrom'],
    ['a date with a time', 'dateFrom=2026-11-01T00:00:00Z', 'dateFrom'],
    ['an empty date', 'dateFrom=', 'dateFrom'],
    ['a period upside down', 'dateFrom=2026-11-02&dateTo=2026-11-01', 'dateTo'],
    ['a period beside dates', 'dateTo=2026-11-02&_period=today', '_period'],
    ['an unknown period', '_period=next_week', '_period'],
    ['an unknown format', '_format=xml', '_format'],
  ])('%s: %s', (_what, query, param) => {
    expect(faults(() => get(query))).toContain(param);
  });

  it('takes an encoded name for the name it spells', () => {
    expect(identity(get('%61dvertiserId=1'))).toBe(identity(get('advertiserId=1')));
  });

  it('refuses a name that was encoded twice', () => {
    expect(faults(() => get('%2561dvertiserId=1'))).toEqual(['%61dvertiserId']);
  });

  it('keeps the order of a list that nobody declared a set', () => {
    expect(identity(get('x[]=1&x[]=2'))).not.toBe(identity(get('x[]=2&x[]=1')));
    expect(target(get('x[]=2&x[]=1&x[]=2'))).toBe(
      '/api/v1/report/campaigns/get?x%5B%5D=2&x%5B%5D=1&x%5B%5D=2',
    );
  });

  it('keys what it does not know', () => {
    expect(identity(get('advertiserId=1&utm_source=a'))).not.toBe(identity(get('advertiserId=1')));
    expect(target(get('utm_source=a&advertiserId=1'))).toBe(
      '/api/v1/report/campaigns/get?advertiserId=1&utm_source=a',
    );
  });

  it('refuses every near miss of a known or account name, single or as a list', () => {
    const known = [...RULES.table.kinds.keys()];
    const nearMiss = fc.constantFrom(...known).chain((name) =>
      fc
        .array(fc.tuple(fc.boolean(), fc.constantFrom('', '', '', '_', '__')), {
          minLength: name.length,
          maxLength: name.length,
        })
        .map((how) =>
          how
            .map(([swap, after], at) => {
              const letter = name.charAt(at);
              const swapped = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
              return (swap ? swapped : letter) + after;
            })
            .join(''),
        )
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

  it('refuses more than 256 parameters', () => {
    const query = Array.from({ length: 257 }, (_, at) => `x${at}=1`).join('&');
    expect(faults(() => get(query))).toEqual(['']);
    expect(faults(() => get(query.slice(0, query.lastIndexOf('&'))))).toBeNull();
  });
});
