/** What a team with a list of advertisers may send in a report: what is declared, of its kind, and nothing else. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalize } from '../../../src/reports/query/canonicalize.js';
import { buildPlatformCall } from '../../../src/reports/query/platform-call.js';
import { type JsonObject, parseJson } from '../../../src/reports/rows/json.js';
import { readInput } from '../../../src/simulator/php-input.js';
import { codeOf } from '../../support/problems.js';
import { RULES } from './canonical-request.js';

const KNOWN = [
  'filter.status:set',
  'filter.since:date',
  'page.size:int',
  'deep.er.still',
  'brand',
  'on:flag',
];
const read = (query: string, body: string | null, nonAccounts: readonly string[] = ['vouched']) =>
  canonicalize(
    {
      endpoint: 'campaigns/get',
      query,
      lenient: true,
      method: body === null ? 'GET' : 'POST',
      body: body === null ? null : (parseJson(body) as JsonObject),
    },
    {
      ...RULES,
      nonAccounts,
      endpoints: new Map([['campaigns/get', { knownParameters: KNOWN, unknownParameters: 'pass' }]]),
    },
  );
const faultsIn = (extra: string) => read(`advertiserId=1&${extra}`, null).undeclared();
const faultsOf = (body: object) => read('', JSON.stringify({ advertiserId: 1, ...body })).undeclared();
const named = (faults: ReturnType<typeof faultsIn>) => faults.map(({ param }) => param);

describe('a limited team', () => {
  it.each([
    'byDate=1&byCampaign=true&dateFrom=2026-11-01&dateTo=2026-11-07&spentBased=local&campaignIds[]=7',
    'byCreative=1&byAdvertiser=true&byOs=0&byX=',
    'limit=100&offset=0&page=2&perPage=50&pageSize=9999999999999999',
    'sort=-spent,clicks&sortBy=spent&order=spent:desc&orderBy=spent.desc&direction=asc',
    'timezone=Europe/Berlin&tz=America/Argentina/Buenos_Aires',
    'timezone=%2B02:00&tz=Etc/GMT%2B5',
    'timezone=EST5EDT&tz=America/Port-au-Prince',
    'timezone=UTC&tz=CET&currency=EUR&lang=de&locale=de-CH&granularity=day&interval=hour&sort=',
    'campaignId=7&creativeIds=7,8&dealIds[]=7&dealIds[]=8',
    'sort=advertiserId,spent',
    'brand=acme_2.1:x&on=1',
    'vouched=advertiser,eq,2&_format=csv',
  ])('may send %s', (extra) => expect(faultsIn(extra)).toEqual([]));

  it.each([
    ['sort2=spent', 'sort2'],
    ['Sort=spent', 'Sort'],
    ['advertiser=1', 'advertiser'],
    ['filter=status', 'filter'],
    ['status=7', 'status'],
    ['ids[]=1', 'ids'],
    ['bydate2=1', 'bydate2'],
    ['byOs=linux', 'byOs'],
    ['byAdvertiser=2', 'byAdvertiser'],
    ['limit=-1', 'limit'],
    ['limit=01', 'limit'],
    ['limit=1e3', 'limit'],
    ['limit[]=1', 'limit'],
    ['sort[]=spent', 'sort'],
    ['sort=a/b', 'sort'],
    ['timezone=advertiser/2', 'timezone'],
    ['tz=advertiserId', 'tz'],
    ['tz=Europe/Berlin,advertiserId', 'tz'],
    ['sort[]=advertiser&sort[]=2', 'sort'],
    ['sort=spent%20desc', 'sort'],
    ['sort=%7B%22advertiserId%22:2%7D', 'sort'],
    ['sort=advertiserId%253D2', 'sort'],
    ['sort=%EF%BD%81dvertiser', 'sort'],
    [`sort=${'x'.repeat(65)}`, 'sort'],
    ['creativeIds=7,x', 'creativeIds'],
    ['dealIds[]=7&dealIds[]=', 'dealIds'],
    ['on=2', 'on'],
    // Account fields as words, alone or before a number.
    ...[
      ...[
        'advertiserId',
        'userId',
        '-advertiserId',
        'advertiser',
        'sub_account',
        'user.id',
        'client-ids',
        'uid',
      ],
      ...[
        'advertiserId:2',
        'advertiser_id.2',
        'user,eq,2',
        'client2',
        'x,user-id:eq:2',
        'spent:1,adv.id,2',
        'act-as.2',
      ],
    ].flatMap((word) => [
      [`sort=${word}`, 'sort'],
      [`spentBased=${word}`, 'spentBased'],
      [`brand=${word}`, 'brand'],
    ]),
  ])('may not send %s', (extra, name) => expect(named(faultsIn(extra as string))).toEqual([name]));

  it.each<object>([
    { byOs: true, byDay2: false, limit: 5, offset: '0', sort: 'spent', creativeIds: [7, '8'], dealIds: 7 },
    {
      filter: { status: [1, 2], since: '2026-11-01' },
      page: { size: 5 },
      deep: { er: { still: 'x' } },
      on: null,
    },
    { vouched: [{ advertiser: 2 }] },
  ])('may send the body %j', (body) => expect(faultsOf(body)).toEqual([]));

  it.each<[string[], object]>([
    [['filter.by', 'filter.values'], { filter: { by: 'advertiser', values: [2] } }],
    [['filter'], { filter: [{ status: [1] }] }],
    [['filter'], { filter: {} }],
    [['filter.status'], { filter: { status: 'active' } }],
    [['filter.status'], { filter: { status: [[1]] } }],
    [['filter.status'], { filter: { status: [{ id: 2 }] } }],
    [['page.limit'], { page: { limit: 5 } }],
    [['page.size.x'], { page: { size: { x: 5 } } }],
    [['deep.er'], { deep: { er: 'x' } }],
    [['deep.er.still'], { deep: { er: { still: ['x'] } } }],
    [['deep.vouched'], { deep: { vouched: 1 } }],
    [['x.byOs'], { x: { byOs: true } }],
    [['brand'], { brand: '{"advertiserId":2}' }],
    [['sort'], { sort: ['advertiser', 2] }],
    [['limit'], { limit: null }],
    [['limit'], { limit: 1.5 }],
    [['a'], { a: [] }],
  ])('may not send %j of a body', (names, body) => expect(named(faultsOf(body))).toEqual(names));

  it('is told what to send instead, then which setting an operator may change', () => {
    expect(faultsIn('filter=x')).toEqual([
      {
        param: 'filter',
        message: 'is not declared, and a team with a list of advertisers may send declared parameters only',
        help: 'Omit filter, or ask your operator to declare it in report.endpoints."campaigns/get".knownParameters, or in report.nonAccountParameters if it is an expression, an object or a list of objects.',
      },
    ]);
    const [fault] = faultsIn('limit=all');
    expect(fault?.message).toBe('must be a whole number without sign or leading zero, at most 16 digits');
    expect(fault?.help).toMatch(/^Send limit as a whole number .*, or ask your operator .*knownParameters/);
  });
});

describe('what reaches the platform from a limited team', () => {
  /** Written anew: every path that may reach the platform, and what its values may be. */
  const NUMBER = /^(?:0|[1-9][0-9]*)$/;
  const WORD = /^[\w.,:-]{0,64}$/;
  const ZONE = /^[\w/+:-]{0,180}$/;
  const ALLOWED = new Map<string, RegExp>([
    ...['advertiserId', 'userId', 'campaignIds', 'campaignId', 'creativeIds', 'dealIds', 'filter.status'].map(
      (name): [string, RegExp] => [name, /^[1-9][0-9]*(?:,[1-9][0-9]*)*$/],
    ),
    ...['limit', 'offset', 'page', 'perPage', 'pageSize', 'page.size'].map((name): [string, RegExp] => [
      name,
      NUMBER,
    ]),
    ...`sort sortBy order orderBy direction currency lang locale granularity interval spentBased brand
      deep.er.still`
      .split(/\s+/)
      .map((name): [string, RegExp] => [name, WORD]),
    ...['timezone', 'tz'].map((name): [string, RegExp] => [name, ZONE]),
    ...['dateFrom', 'dateTo', 'filter.since'].map((name): [string, RegExp] => [name, /^\d{4}-\d\d-\d\d$/]),
    ['on', /^(?:1|0|true|false|null|)$/],
  ]);
  const isAllowed = (path: string, value: string) =>
    (/^by[A-Z]\w*$/.test(path) ? /^(?:1|0|true|false|null|)$/ : ALLOWED.get(path))?.test(value) ?? false;

  /** Paths and scalars, as the platform's framework reads them; items of lists have the path of the list. */
  function leaves(path: string, value: unknown): [string, string][] {
    if (Array.isArray(value)) {
      expect(value.every((item) => typeof item !== 'object')).toBe(true);
      return value.map((item) => [path, String(item)]);
    }
    if (typeof value === 'object' && value !== null)
      return Object.entries(value).flatMap(([name, inside]) => leaves(`${path}.${name}`, inside));
    return [[path, String(value)]];
  }

  /** @returns null: it is refused */
  function received(query: string, body: string | null): [string, string][] | null {
    let parsed: ReturnType<typeof read> | null = null;
    if (
      codeOf(() => {
        parsed = read(query, body, []);
      }) !== null
    )
      return null;
    const { report, undeclared } = parsed as unknown as ReturnType<typeof read>;
    if (undeclared().length > 0) return null;
    const { target, body: sent } = buildPlatformCall(report, report.from, report.to);
    const input = readInput(target.split('?')[1] ?? '', 'application/json', sent ?? '');
    return [...input].flatMap(([name, value]) => leaves(name, value));
  }

  const declared = [...ALLOWED.keys()].map((path) => path.split('.')[0] as string);
  const owner = fc.constantFrom(
    'advertiser',
    'advertiserId',
    'user_id',
    'clients',
    'sub_account',
    'actAs',
    'ids',
    'x',
  );
  const name = fc.oneof(
    owner,
    fc.constantFrom(...declared, 'status', 'size', 'er', 'still', 'byOs'),
    fc
      .tuple(
        fc.constantFrom(...declared),
        fc.constantFrom('[]', '[id]', '[0]', '.id', '_', '%00', ' ', '2', '\u0000x'),
      )
      .map(([one, more]) => `${one}${more}`),
    fc.string({ maxLength: 8 }),
  );
  const text = fc.oneof(
    fc.constantFrom(
      '1',
      '7',
      '0',
      'true',
      '',
      'spent',
      '2026-11-01',
      '1,2',
      'advertiserId:2',
      '{"advertiserId":2}',
    ),
    fc.string({ maxLength: 12 }),
  );
  /** Percent-encodes some characters, as a caller may. */
  const spelt = (one: fc.Arbitrary<string>) =>
    fc.tuple(one, fc.infiniteStream(fc.nat(3))).map(([plain, dice]) =>
      [...plain]
        .map((char) => {
          const encoded = encodeURIComponent(char);
          const code = char.charCodeAt(0);
          if (dice.next().value !== 0 || code > 126 || code < 33) return encoded;
          return `%${code.toString(16).padStart(2, '0')}`;
        })
        .join(''),
    );
  const query = fc
    .array(fc.tuple(spelt(name), spelt(text)), { maxLength: 4 })
    .map((pairs) => ['advertiserId=1', ...pairs.map((pair) => pair.join('='))].join('&'));

  it('has no undeclared name, and no value of another kind, by whatever spelling of a query', () => {
    let passed = 0;
    fc.assert(
      fc.property(query, (sent) => {
        const all = received(sent, null);
        if (all !== null) passed += 1;
        expect((all ?? []).filter(([path, value]) => !isAllowed(path, value))).toEqual([]);
      }),
      { numRuns: 2000 },
    );
    expect(passed).toBeGreaterThan(0);
  });

  it('has none at any depth of a body', () => {
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        text,
        fc.constantFrom<unknown>(1, 7, 0, -1, 1.5, true, null),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
      ),
    }));
    const body = fc.dictionary(name, value, { maxKeys: 3, noNullPrototype: true });
    fc.assert(
      fc.property(body, (members) => {
        const all = received('', JSON.stringify({ advertiserId: 1, ...members })) ?? [];
        expect(all.filter(([path, one]) => !isAllowed(path, one))).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });
});

it('what was found of a query is found once, for it is equal for every limited team', () => {
  const { undeclared } = read('advertiserId=1&sort2=x', null);
  expect(undeclared()).toBe(undeclared());
});
