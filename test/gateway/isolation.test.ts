/**
 * Contract: whatever way an advertiser is spelt or smuggled, a limited team gets no other one's data, cached or not, by
 * report or by pass-through; and no platform call made for it names another account, or none.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { advertiserName } from '../../src/simulator/advertiser-names.js';
import { readInput } from '../../src/simulator/php-input.js';
import { ask, daysBefore, newTeam, type PlatformCall, REPORT } from '../support/ask.js';
import { type OpenGateway, openGateway } from '../support/open-gateway.js';
import { exchange, head } from '../support/raw-socket.js';
import { messagesOfTools, type ToolMessage } from './isolation-by-tools.js';

const OWN = '1';
const FOREIGN = '2';
const FORMATS = ['json', 'csv', 'ndjson', 'raw'];
/** Calls that take a report by `endpoint` and `query`. */
const ASKED_ABOUT = ['revisions', 'diff', 'finality', 'truth', 'explain'].map(
  (name) => `/gateway/v1/${name}`,
);
const FREE = { requestsPerMinute: 1_000_000, upstreamCallsPerDay: 1_000_000, maxConcurrent: 1000 };
const ACCOUNT = /^(user|account|advertiser|client|customer|agency|owner|parent)ids?$/;

/** As bytes of a query; where it matters, bodies have them too. */
const NAMES = [
  ...`advertiserId advertiserid ADVERTISERID AdvertiserID advertiser_id advertiser-id advertiser.id advertiser%20id
    advertiser+id %61dvertiserId advertiser%49d %20advertiserId +advertiserId advertiserId%20 advertiserId%00
    advertiserId%00x %00advertiserId %09advertiserId advertiserId[] advertiserId%5B%5D advertiserId[0]
    advertiserId[a][b] advertiserId[ advertiserId] advertiserIds advertiserIds[] advertiser[id] advertisers[0][id]
    filter[advertiserId] [advertiserId] userId user_id userIds[] user.id User-Id users[][id] accountId account_ids[]
    clientId customerId agencyId ownerId parentId _advertiserId __proto__[advertiserId] %EF%BD%81dvertiserId
    adverti%C5%BFerId advertiserId;x x;advertiserId x%26advertiserId`.split(/\s+/),
  'advertiser\xadId',
];
const VALUES = [
  ...`2 02 +2 %2B2 %202 2%20 2.0 2e0 0x2 2%00 2%00,1 %EF%BC%92 2,1 1,2 1;2 1;advertiserId=2 1%26advertiserId%3D2
    1%26userId=2 1%23 1%0a2 1|2 [2] * null -1 0 1%20OR%201=1 1%2F..%2F2 00000000000000000002 2147483650 %32
    1%32`.split(/\s+/),
  '',
];
const BODY_VALUES: readonly unknown[] = JSON.parse(
  '[2,"2"," 2","2 ","02",2.5,[2],[1,2],["2"],{"id":2},{"a":2},[[2]],{"0":2},null,true,"","*",{},[]]',
);

let platform: OpenGateway['platform'];
let inside: OpenGateway['inside'];
let gateway: OpenGateway['gateway'];
let sim: OpenGateway['sim'];
let limited: string;
/** What only another advertiser's data holds. */
let marks: readonly string[];
/** A period of which everything is cached for everybody, and one of which nothing is. */
let periods: readonly string[];
/** Those that are tried: where the router has every request, what is cached is enough. */
let tried: readonly string[];
/** Tag of the other advertiser's cached report. */
let etag: string;

async function prepare(logLevel: string): Promise<void> {
  ({ platform, gateway, sim, inside } = await openGateway({ logLevel }));
  await sim.set({ accountNames: 'plain' });
  const all = (await newTeam(gateway, { id: 'all', limits: FREE })).key;
  const scopes = ['report:read', 'platform:read', 'platform:write', 'cache:refresh', 'mcp'];
  limited = (await newTeam(gateway, { id: 'limited', scopes, advertisers: [Number(OWN)], limits: FREE })).key;
  const today = await sim.today();
  const [from, to, older] = [daysBefore(today, 20), daysBefore(today, 14), daysBefore(today, 30)];
  periods = [`dateFrom=${from}&dateTo=${to}`, `dateFrom=${older}&dateTo=${older}`];
  tried = logLevel === 'debug' ? periods.slice(0, 1) : periods;
  const split = 'byCampaign=1&byDate=1';
  const own = new Set((await campaignsOf(OWN)).map(({ name }) => name));
  marks = (await campaignsOf(FOREIGN)).map(({ name }) => name).filter((name) => !own.has(name));
  // Names of advertisers, of which the gateway tells by itself too.
  marks = [...marks, advertiserName(Number(FOREIGN), 'plain')];
  for (const advertiser of [OWN, FOREIGN]) {
    for (const format of FORMATS) {
      for (const spelling of [`advertiserId=${advertiser}`, `userId=${advertiser}`]) {
        const answer = await ask(
          `${gateway.data}${REPORT}?${spelling}&${split}&${periods[0]}&_format=${format}`,
          {
            key: all,
          },
        );
        expect(answer.status).toBe(200);
        // The marks do mark.
        if (spelling.startsWith('advertiserId')) expect(isForeign(answer.text)).toBe(advertiser === FOREIGN);
        if (advertiser === FOREIGN && format === 'json') etag = String(answer.headers.etag);
      }
    }
  }
  await ask(`${gateway.data}/api/v1/campaign/create`, {
    method: 'POST',
    key: all,
    json: campaign({ userId: 2 }),
  });
  marks = [...marks, 'Secret campaign'];
}

const campaign = (account: object) => ({
  ...account,
  name: 'Secret campaign',
  adDomain: 'example.com',
  clickUrl: 'https://example.com/',
  dates: { from: '2027-12-01', to: '2027-12-31' },
  country: 'DE',
  bid: 1.5,
  budget: { daily: 10, total: 100 },
  creativeSetIds: [1],
});

interface Attempt {
  readonly method?: string;
  readonly target: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

/** Sends it byte for byte. @returns what came back, as text */
async function attempt({ method = 'GET', target, headers = [], body }: Attempt): Promise<string> {
  const bytes = body === undefined ? '' : Buffer.from(body, 'utf8').toString('latin1');
  const length = body === undefined ? [] : [`content-length: ${bytes.length}`];
  const lines = ['host: gateway', `x-api-key: ${limited}`, 'connection: close', ...headers, ...length];
  return exchange(gateway.data, head(`${method} ${target} HTTP/1.1`, lines, bytes));
}

/** Whether a text holds the other advertiser's rows, as JSON or CSV, or one of its campaigns. */
function isForeign(text: string): boolean {
  return (
    /"(advertiser|user)_?id":\s*"?2\b/i.test(text) ||
    /,2,(?:[^,\r\n]*,)?[A-Z]{3},/.test(text) ||
    marks.some((mark) => text.includes(mark))
  );
}

const JSON_TYPE = ['content-type: application/json'];
const FORM_TYPE = ['content-type: application/x-www-form-urlencoded'];

const get = (path: string, query: string): Attempt => ({ target: `${path}?${query}` });
const post = (path: string, query: string, body: string, headers = JSON_TYPE): Attempt => ({
  method: 'POST',
  target: query === '' ? path : `${path}?${query}`,
  headers,
  body,
});

/** A call of a tool, by the revision that needs no handshake before it. */
function byTool({ tool, args }: ToolMessage): Attempt {
  const params = { name: tool, arguments: args };
  return post('/mcp', '', JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }), [
    ...JSON_TYPE,
    'accept: application/json, text/event-stream',
    'mcp-protocol-version: 2025-11-25',
  ]);
}

/** What an attempt leaves to be worried about: foreign data, a tag that confirms it, or a call that reached for it. */
async function leaksOf(attempts: readonly Attempt[]): Promise<{ leaks: string[]; allowed: number }> {
  // The gateway compares days of the team with all advertisers.
  await inside.services.settled();
  await sim.forget();
  const leaks: string[] = [];
  let allowed = 0;
  for (let at = 0; at < attempts.length; at += 8) {
    await Promise.all(
      attempts.slice(at, at + 8).map(async (one) => {
        const text = await attempt(one);
        const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
        const shown = `${one.method ?? 'GET'} ${one.target} ${one.body ?? ''} → ${status}`;
        if (status < 400) allowed += 1;
        if (!(status >= 200 && status < 500)) leaks.push(`${shown}: no plain answer`);
        if (status === 304) leaks.push(`${shown}: confirmed`);
        if (status < 400 && text.includes(etag)) leaks.push(`${shown}: tag`);
        if (isForeign(text)) leaks.push(`${shown}: data`);
      }),
    );
  }
  for (const call of await sim.calls()) {
    const accounts = accountsOf(call);
    if (accounts.length === 0 || accounts.some((account) => account !== OWN))
      leaks.push(`platform: ${call.method} ${call.url} ${call.body} names ${JSON.stringify(accounts)}`);
  }
  return { leaks, allowed };
}

/** The accounts that a call names to the platform, as its framework reads it. */
function accountsOf({ url, headers, body }: PlatformCall): string[] {
  const cut = url.indexOf('?');
  const input = readInput(cut < 0 ? '' : url.slice(cut + 1), headers['content-type'] ?? '', body);
  const scalars = (value: unknown): string[] =>
    typeof value === 'object' && value !== null ? Object.values(value).flatMap(scalars) : [String(value)];
  return [...input].flatMap(([name, value]) =>
    ACCOUNT.test(name.toLowerCase().replace(/[\s\0_.[\]-]/g, '')) ? scalars(value) : [],
  );
}

/** `SEEDS=200`, as `npm run test:all` sets it: each attempt in every way. */
const ALL = process.env.SEEDS !== undefined;

/** Each attempt in one of several ways, in turn: a fault in what is made of a name or value shows in any of them. */
function inTurn<Way>(ways: readonly Way[], build: (way: Way) => readonly Attempt[]): readonly Attempt[] {
  const built = ways.map(build);
  if (ALL) return built.flat();
  return (built[0] ?? []).map((_, at) => built[at % built.length]?.[at] as Attempt);
}

/** Both periods, and raw beside the usual format, for the bytes of an answer are kept by themselves. */
const everywhere = (build: (rest: string) => readonly Attempt[]): readonly Attempt[] =>
  inTurn(
    tried.flatMap((period) => [period, `${period}&_format=raw`]),
    (period) => build(`byCampaign=1&byDate=1&${period}`),
  );

// On `debug` nothing is answered before the router; what is no plain GET never is.
describe.each(['debug', 'info'])('a limited team, on %s', (logLevel) => {
  beforeAll(() => prepare(logLevel));

  it('gets its own data by every way that is tried below', async () => {
    const attempts = [
      ...tried.flatMap((period) => [
        get(REPORT, `advertiserId=1&byCampaign=1&byDate=1&${period}`),
        get(REPORT, `advertiserId=1&byCampaign=1&byDate=1&${period}&_format=raw`),
        post(REPORT, `byCampaign=1&byDate=1&${period}`, '{"advertiserId":1}'),
        post(REPORT, `byCampaign=1&byDate=1&${period}&_format=raw`, '{"advertiserId":1}'),
      ]),
      post('/api/v1/campaign/get', '', '{"userId":1}'),
      get('/api/v1/report/creatives/get', `advertiserId=1&${periods[0]}`),
    ];
    const { leaks, allowed } = await leaksOf(attempts);
    expect(leaks).toEqual([]);
    expect(allowed).toBe(attempts.length);
  });

  it('gets nothing else by any name in a query', async () => {
    const attempts = everywhere((rest) =>
      NAMES.flatMap((name) => [
        get(REPORT, `${name}=${FOREIGN}&${rest}`),
        get(REPORT, `advertiserId=${OWN}&${name}=${FOREIGN}&${rest}`),
        get(REPORT, `${name}=${FOREIGN}&${rest}&advertiserId=${OWN}`),
      ]),
    );
    const { leaks } = await leaksOf(attempts);
    expect(leaks).toEqual([]);
  });

  it('gets nothing else by any value in a query', async () => {
    const attempts = everywhere((rest) =>
      ['advertiserId', 'userId'].flatMap((name) =>
        VALUES.flatMap((value) => [
          get(REPORT, `${name}=${value}&${rest}`),
          get(REPORT, `advertiserId=${OWN}&${name}=${value}&${rest}`),
        ]),
      ),
    );
    const { leaks } = await leaksOf(attempts);
    expect(leaks).toEqual([]);
  });

  it('gets nothing else by other paths, methods and headers', async () => {
    const { id } = await foreignCampaign();
    const query = `advertiserId=${FOREIGN}&byCampaign=1&byDate=1&${periods[0]}`;
    const own = `advertiserId=${OWN}&byCampaign=1&byDate=1&${periods[0]}`;
    const attempts: Attempt[] = [
      ...['GET', 'HEAD', 'DELETE', 'PUT', 'PATCH', 'POST'].map((method) => ({
        method,
        target: `/api/v1/campaign/${id}?userId=${OWN}`,
      })),
      ...['creatives/get', 'export/get', 'Campaigns/get', 'campaigns/GET'].map((path) =>
        get(`/api/v1/report/${path}`, query),
      ),
      { method: 'HEAD', target: `${REPORT}?${query}` },
      { target: `${REPORT}?${query}`, headers: [`if-none-match: ${etag}`] },
      { target: `${REPORT}?${query}`, headers: ['if-none-match: *', 'cache-control: only-if-cached'] },
      { target: `${REPORT}?${query}`, headers: ['cache-control: max-stale=99999999'] },
      { target: `${REPORT}?${query}`, headers: ['x-forwarded-for: 127.0.0.1', 'x-gateway-team: all'] },
      ...[
        `cookie: advertiserId=${FOREIGN}`,
        `x-advertiser-id: ${FOREIGN}`,
        `x-http-method-override: POST`,
        `x-original-url: ${REPORT}?${query}`,
        `x-rewrite-url: ${REPORT}?${query}`,
        `referer: http://gateway${REPORT}?${query}`,
        'range: bytes=0-99999',
      ].map((line) => ({ target: `${REPORT}?${own}`, headers: [line] })),
      ...['_method=POST', '_advertiserId=2', '_format=raw&_format=json', 'page=2&advertiser=2'].map((extra) =>
        get(REPORT, `${own}&${extra}`),
      ),
    ];
    const { leaks } = await leaksOf(attempts);
    expect(leaks).toEqual([]);
    for (const { headers } of await sim.calls()) {
      for (const name of ['cookie', 'x-advertiser-id', 'x-original-url', 'x-rewrite-url', 'referer'])
        expect(headers[name]).toBeUndefined();
    }
  });

  it("gets nothing else where the platform itself mixes in another one's rows", async () => {
    await sim.set({ foreignRows: true });
    try {
      for (const format of FORMATS) {
        for (const query of [`byDate=1&${periods[1]}`, `byCampaign=1&${periods[0]}`]) {
          const text = await attempt(get(REPORT, `advertiserId=${OWN}&${query}&_format=${format}`));
          expect(text).toMatch(/^HTTP\/1\.1 (200|502) /);
          expect(isForeign(text)).toBe(false);
        }
      }
    } finally {
      await sim.set({ foreignRows: false });
    }
  });

  if (logLevel === 'info')
    describe('by what is no plain GET of a report', () => {
      it('gets nothing else by a body, in whatever member, shape or encoding', async () => {
        const names = [...new Set(NAMES.map((name) => decodeName(name)))];
        const bodies = [
          ...names.flatMap((name) => [
            JSON.stringify({ [name]: 2 }),
            JSON.stringify({ advertiserId: 1, [name]: 2 }),
            JSON.stringify({ advertiserId: 1, filter: { [name]: '2' } }),
            JSON.stringify({ advertiserId: 1, list: [{ [name]: [1, 2] }] }),
          ]),
          ...BODY_VALUES.flatMap((value) => [
            JSON.stringify({ advertiserId: value }),
            JSON.stringify({ userId: value }),
            JSON.stringify({ advertiserId: 1, userId: value }),
          ]),
          '{"advertiserId":1,"advertiserId":2}',
          '{"advertiserId":2,"advertiserId":1}',
          '{"advertiserId":1,"advertiser\\u0049d":2}',
          '{"advertiserId":2e0}',
          '{"advertiserId":2.0}',
          '{"advertiserId":1,"__proto__":{"advertiserId":2}}',
          '\ufeff{"advertiserId":2}',
          '[{"advertiserId":2}]',
          '"advertiserId=2"',
          '',
        ];
        const attempts = everywhere((rest) =>
          bodies.flatMap((body) => [
            post(REPORT, rest, body),
            post(REPORT, `advertiserId=${OWN}&${rest}`, body),
            post('/api/v1/report/creatives/get', rest, body),
          ]),
        );
        const { leaks } = await leaksOf(attempts);
        expect(leaks).toEqual([]);
      });

      it('gets nothing else by a query and a body that disagree, or by a body of another type', async () => {
        const attempts = everywhere((rest) =>
          NAMES.flatMap((name) => [
            post(REPORT, `${name}=${FOREIGN}&${rest}`, '{"advertiserId":1}'),
            post(REPORT, `advertiserId=${OWN}&${rest}`, `${name}=${FOREIGN}`, FORM_TYPE),
            post(REPORT, rest, `advertiserId=${OWN}&${name}=${FOREIGN}`, ['content-type: text/plain']),
          ]),
        );
        const { leaks } = await leaksOf(attempts);
        expect(leaks).toEqual([]);
      });

      it('gets nothing else by what is passed through', async () => {
        const names = [...new Set(NAMES.map((name) => decodeName(name)))];
        const own = campaign({ userId: 1, name: 'Own' });
        const attempts = ['/api/v1/campaign/get', '/api/v1/campaign/create'].flatMap((path) => [
          ...NAMES.flatMap((name) => [
            post(path, `${name}=${FOREIGN}`, JSON.stringify({ ...own, name: 'Own' })),
            post(path, '', `userId=${OWN}&${name}=${FOREIGN}`, FORM_TYPE),
            post(path, `${name}=${FOREIGN}`, '{}'),
          ]),
          ...names
            .filter((name) => name !== 'userId')
            .flatMap((name) => [
              post(path, '', JSON.stringify({ ...own, name: 'Own', [name]: 2 })),
              post(path, '', JSON.stringify({ ...own, name: 'Own', filter: { [name]: [2] } })),
            ]),
          ...BODY_VALUES.map((value) =>
            post(path, '', JSON.stringify({ ...own, name: 'Own', userId: value })),
          ),
          post(path, '', '{"userId":1,"userId":2}'),
          post(path, '', '{"userId":1}', [...JSON_TYPE, 'content-encoding: gzip']),
          post(path, '', '{"userId":2}', ['content-type: application/json; charset=utf-16']),
          post(path, '', '{"userId":2}', []),
          post(path, '', '{"userId":2}', ['content-type: multipart/form-data; boundary=x']),
          post(path, '', ''),
        ]);
        const { leaks } = await leaksOf(attempts);
        expect(leaks).toEqual([]);
      });

      it('gets nothing else by calls about reports and advertisers', async () => {
        const about = (query: string) => `endpoint=campaigns/get&query=${encodeURIComponent(query)}`;
        const rest = `byCampaign=1&byDate=1&${periods[0]}`;
        const foreign = NAMES.flatMap((name) => [
          `${name}=${FOREIGN}&${rest}`,
          `advertiserId=${OWN}&${name}=${FOREIGN}&${rest}`,
        ]);
        const attempts = [
          ...inTurn(ASKED_ABOUT, (path) => [
            ...foreign.map((query) => get(path, about(query))),
            ...VALUES.map((value) => get(path, about(`advertiserId=${value}&${rest}`))),
          ]),
          ...['finality', 'truth'].map((path) => get(`/gateway/v1/${path}`, `advertiserId=${FOREIGN}`)),
          ...[FOREIGN, 'Baltic', '', '%25', '*', '.'].map((search) =>
            get('/gateway/v1/advertisers', `search=${search}`),
          ),
          ...NAMES.map((name) => get('/gateway/v1/advertisers', `${name}=${FOREIGN}`)),
          get('/gateway/v1/advertisers', 'limit=10000'),
        ];
        const { leaks } = await leaksOf(attempts);
        expect(leaks).toEqual([]);
        const own = await attempt(get('/gateway/v1/advertisers', ''));
        expect(own).toContain(advertiserName(Number(OWN), 'plain'));
        expect(own).not.toMatch(/"id":2\b/);
      });

      it('gets nothing else by the tools of an assistant, by whatever argument', async () => {
        const names = [...new Set(NAMES.map((name) => decodeName(name)))];
        const attempts = inTurn(periods, (text) => {
          const period = { from: text.slice(9, 19), to: text.slice(-10) };
          return messagesOfTools(names, VALUES, BODY_VALUES, period).map(byTool);
        });
        const { leaks } = await leaksOf(attempts);
        expect(leaks).toEqual([]);
        const [from, to] = [periods[0]?.slice(9, 19), periods[0]?.slice(-10)];
        const args = { advertiserId: Number(OWN), period: { from, to }, split: ['date', 'campaign'] };
        expect(await attempt(byTool({ tool: 'query_report', args }))).toContain('"truncated":');
      });

      it('has created nothing for anybody else', async () => {
        const { id, campaigns } = await foreignCampaign();
        expect(campaigns).toEqual([id]);
      });
    });
});

/** As it stands in a body. */
function decodeName(name: string): string {
  return decodeURIComponent(name.replaceAll('+', ' ').replaceAll('\xad', '%C2%AD'));
}

/** All campaigns of an advertiser, as the platform has them. */
async function campaignsOf(advertiser: string): Promise<{ id: number; name: string }[]> {
  const answer = await ask(`${platform.url}/api/v1/campaign/get?per_page=500`, {
    method: 'POST',
    bearer: platform.token,
    json: { userId: Number(advertiser) },
  });
  return answer.json<{ data: { id: number; name: string }[] }>().data;
}

/** The one campaign that was made for the other advertiser, and all that it has of those made here. */
async function foreignCampaign(): Promise<{ id: number; campaigns: number[] }> {
  const made = (await campaignsOf(FOREIGN)).filter(
    ({ name }) => name === 'Secret campaign' || name === 'Own',
  );
  const campaigns = made.map(({ id }) => id);
  return { id: campaigns[0] ?? 0, campaigns };
}
