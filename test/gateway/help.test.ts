/** Every problem says what to do next: with names for a team, in one constant text for whoever has no key. */
import { describe, expect, it } from 'vitest';
import { refusal } from '../../src/api/proxy/guard-write.js';
import { CATALOGUE } from '../../src/errors/catalogue.js';
import { type ErrorCode, GatewayError } from '../../src/errors.js';
import { type Problem, toProblem } from '../../src/lib/http/problem.js';
import { checkWrite } from '../../src/teams/write-guard/check-write.js';
import { sharedGateway } from '../support/scene.js';
import { ADMIN_TOKEN, REPORT, type Reply, withGateway } from '../support/start-gateway.js';

const shared = sharedGateway();
const problem = (reply: Reply) => reply.json<Problem>();

describe('the help of an error', () => {
  it.each(Object.keys(CATALOGUE) as ErrorCode[])('%s is one sentence, without marks of code', (code) => {
    const { detail, help } = toProblem(new GatewayError(code), 'r');
    expect(help).toMatch(/^[A-Z].*\.$/);
    expect(help).not.toMatch(/[.!?] [A-Z]/);
    expect(detail + help).not.toContain('`');
  });

  it('says the correction of each fault of a query, and of five of many', async () => {
    const gateway = shared();
    const key = await gateway.addTeam();
    const asked = await gateway.call(`${REPORT}?advertiserId=x&dateFrom=never`, { key });
    expect(problem(asked).help).toMatch(
      /^Send advertiserId as a whole number .* at most 16 digits; send dateFrom as a calendar day .*\.$/,
    );
    const errors = Array.from({ length: 30 }, (_, index) => ({ param: `p${index}`, message: 'is bad' }));
    expect(toProblem(new GatewayError('invalid_query', { errors }), 'r').help).toBe(
      'Correct p0, which is bad; correct p1, which is bad; correct p2, which is bad; correct p3, which is bad; correct p4, which is bad; correct the others in errors.',
    );
  });

  it('says the first fault as its detail, how many there are, and what to use instead', async () => {
    const gateway = shared();
    const key = await gateway.addTeam();
    const ask = async (query: string) => {
      const { detail, help } = problem(await gateway.call(`${REPORT}?advertiserId=1&${query}`, { key }));
      return { detail, help };
    };
    expect(await ask('dateFrm=2026-11-01')).toEqual({
      detail: 'dateFrm is unknown: did you mean dateFrom?',
      help: 'Send dateFrom instead of dateFrm; if the platform has dateFrm too, ask your operator to declare it in report.endpoints."campaigns/get".knownParameters.',
    });
    // Another spelling of a known name cannot be allowed.
    expect(await ask('date_from=2026-11-01')).toEqual({
      detail: 'date_from is unknown: did you mean dateFrom?',
      help: 'Send dateFrom instead of date_from.',
    });
    expect(await ask('dateFrom=2026-11-01&_period=yesterday')).toEqual({
      detail: '_period stands instead of dateFrom and dateTo, not beside them.',
      help: 'Send either _period, or dateFrom and dateTo.',
    });
    expect(await ask('dateFrom=2026-11-20&dateTo=2026-11-10')).toEqual({
      detail: 'dateTo must not be before dateFrom.',
      help: 'Send dateTo on or after 2026-11-20.',
    });
    expect(await ask('_period=last_week')).toMatchObject({
      help: 'Send _period as one of today, yesterday, last_N_days (N from 1 to 400), month_to_date, last_month.',
    });
    expect(await ask('_period=last_500_days')).toEqual({
      detail: '_period is longer than the longest, last_400_days.',
      help: 'Send _period=last_400_days.',
    });
    for (const [given, meant] of [
      ['last7days', 'last_7_days'],
      ['Last_Month', 'last_month'],
      ['yesterdy', 'yesterday'],
    ])
      expect((await ask(`_period=${given}`)).help).toBe(`Send _period=${meant}.`);
    expect(await ask('spentBased=a&spentBased=b')).toEqual({
      detail: 'spentBased is given more than once.',
      help: 'Send spentBased once.',
    });
    for (const [query, help] of [
      ['_totals=2', 'Send _totals as 1 or 0.'],
      ['_fields=date,', 'Send _fields as column names separated by commas, such as date,spent.'],
      ['_fields=date,date', 'Leave out one of them.'],
      ['_bom=1', 'Send _format=csv, or omit _bom.'],
      [
        '_totals=1&_format=csv',
        'Omit _totals here, and send the same query with _totals=1&_format=json for meta.totals.',
      ],
    ] as const)
      expect((await ask(query)).help).toBe(help);
    expect((await ask('_freshness=1')).help).toMatch(
      /^Omit _freshness, or send one of these instead: _format, .*_bom\.$/,
    );
    const whole = 'byDate=1&dateFrom=2026-11-01&dateTo=2026-11-01';
    expect((await ask(`${whole}&_fields=date,profit`)).help).toBe('Leave out profit in _fields.');
    expect((await ask(`${whole}&_fields=date,click_s`)).help).toBe(
      'Send clicks instead of click_s in _fields.',
    );
    const changes = await gateway.call('/gateway/v1/changes?offset=x', { key });
    expect(problem(changes).help).toBe(
      'Send offset as -1, now, or stream-next-offset of an earlier answer, unchanged.',
    );
    expect(await ask('dateFrom=never&dateTo=never')).toEqual({
      detail: expect.stringMatching(/^dateFrom must be .*\. \(1 of 2 faults\)$/),
      help: expect.stringMatching(
        /^Send dateFrom as a calendar day as YYYY-MM-DD, from .*; send dateTo as .*\d\.$/,
      ),
    });
    const errors = [
      { param: 'p'.repeat(400), message: `must be one of ${'word, '.repeat(100)}` },
      { param: '', message: 'must be an object' },
    ];
    const { detail } = toProblem(new GatewayError('invalid_body', { errors }), 'r');
    expect(detail.length).toBeLessThanOrEqual(200);
    expect(detail).toMatch(/word … \(1 of 2 faults\)$/);
  });

  it('names the parameter that was meant, of every call', async () => {
    const gateway = shared();
    const key = await gateway.addTeam({ scopes: ['report:read', 'report:pin'] });
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    for (const [path, given, meant] of [
      ['/gateway/v1/changes?advertiserid=1', 'advertiserid', 'advertiserId'],
      ['/gateway/v1/changes?offsets=now', 'offsets', 'offset'],
      ['/gateway/v1/pins?Limit=1', 'Limit', 'limit'],
      ['/gateway/v1/finality?advertiserID=1', 'advertiserID', 'advertiserId'],
      [`${REPORT}?advertiserId=1&_fromat=csv`, '_fromat', '_format'],
    ] as const) {
      const { detail, help } = problem(await gateway.call(path, { key }));
      expect([detail, help]).toEqual([
        `${given} is unknown: did you mean ${meant}?`,
        `Send ${meant} instead of ${given}.`,
      ]);
    }
    const admin = await gateway.admin.inject({ url: '/admin/v1/audit?serach=x', headers });
    expect(admin.json<Problem>().help).toBe('Send search instead of serach.');
    const team = await gateway.admin.inject({
      method: 'POST',
      url: '/admin/v1/teams',
      payload: { id: 'growth', advertiser: [1] },
      headers,
    });
    expect(team.json<Problem>().detail).toBe(
      'advertiser is no member of this name; did you mean advertisers?',
    );
  });

  it('is true of two keys, each of them complete', async () => {
    const gateway = shared();
    const key = await gateway.addTeam();
    const headers = { authorization: 'Bearer dgw_other' };
    const reply = await gateway.call(`${REPORT}?advertiserId=1`, { key, headers });
    expect(reply.status).toBe(401);
    expect(problem(reply).detail).toBe('Two keys were sent; send one.');
    expect(problem(reply).help).toMatch(/^Send one complete key/);
  });

  it('says what the rule of a write guard refuses within 200 characters', () => {
    const names = Array.from({ length: 60 }, (_, at) => `field${at}`).join(', ');
    for (const limit of [names, 'EUR']) {
      const { detail, errors } = toProblem(
        refusal({ rule: 'allowFields', passed: false, value: 'x', limit }),
        'r',
      );
      expect(detail.length).toBeLessThanOrEqual(200);
      expect(detail).toMatch(
        /^The rule allowFields refuses this write: x; allowed is .*[.…] Nothing was sent\.$/,
      );
      expect(errors?.[0]?.message).toContain(limit.slice(0, 200));
    }
    const { checks } = checkWrite(
      { amounts: [] },
      { query: [], body: 'The body is not UTF-8.', hasIdempotencyKey: true },
    );
    const [failed] = checks.filter(({ passed }) => !passed);
    expect(failed?.value).toBe('The body is not UTF-8');
  });

  it('of a reason to stop writes says its length in words, not its pattern', async () => {
    const gateway = shared();
    const reply = await gateway.admin.inject({
      method: 'POST',
      url: '/admin/v1/writes/stop',
      payload: { reason: 'x'.repeat(301) },
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    expect(reply.json<Problem>().detail).toBe(
      'reason must be one line of 1 to 300 characters that is not blank.',
    );
  });

  it("names the scope that is missing, and the team's own", async () => {
    const gateway = shared();
    const key = await gateway.addTeam({ id: 'growth', scopes: ['platform:read'] });
    expect(problem(await gateway.call(`${REPORT}?advertiserId=1`, { key })).help).toBe(
      'Ask your operator to grant the team growth the scope report:read; it has platform:read.',
    );
  });

  it("names the team's own advertisers alone, at most twenty", async () => {
    const gateway = shared();
    const few = await gateway.addTeam({ id: 'few', advertisers: [1, 2] });
    expect(problem(await gateway.call(`${REPORT}?advertiserId=777`, { key: few })).help).toBe(
      'Choose one of the advertisers of your team (1, 2); for another, ask your operator to add it to the team few.',
    );
    expect(problem(await gateway.call(`${REPORT}?dateFrom=2026-11-01`, { key: few })).help).toContain(
      '(1, 2)',
    );
    const advertisers = Array.from({ length: 30 }, (_, index) => 101 + index);
    const many = await gateway.addTeam({ id: 'many', advertisers });
    const { help } = problem(await gateway.call(`${REPORT}?advertiserId=777`, { key: many }));
    expect(help.match(/\b1\d\d\b/g)).toHaveLength(20);
    expect(help).toContain('and 10 more, see GET /gateway/v1/me');
    const none = await gateway.addTeam({ id: 'none', advertisers: [] });
    expect(problem(await gateway.call(`${REPORT}?advertiserId=777`, { key: none })).help).toBe(
      'Ask your operator to grant the team none an advertiser; it has none.',
    );
  });

  it('names the very field of a body that names a foreign advertiser', async () => {
    const gateway = shared();
    const key = await gateway.addTeam({ id: 'one', advertisers: [1], scopes: ['platform:read'] });
    const reply = await gateway.call('/api/v1/campaign/get', { method: 'POST', key, json: { userId: 9 } });
    expect(problem(reply).detail).toBe('The team has no access to advertiser 9 in body.userId.');
  });
});

describe('an address', () => {
  it.each([
    ['/api/v1/%72eport/x', 'percent-encoded'],
    ['/api/v1//x', 'empty segment'],
    ['/api/v1/x/', 'ends with a slash'],
    ['/api/v1/Report/x', 'begins with /api/v1/Report instead of /api/v1/report'],
    ['/API/v1/x', 'begins with /API/v1 instead of /api/v1'],
    ['/api/v1/x:y', 'a character other than'],
  ])('%s is told which rule it breaks', async (path, rule) => {
    const gateway = shared();
    const { code, detail } = problem(await gateway.call(path));
    expect([code, detail]).toEqual(['invalid_path', expect.stringContaining(rule)]);
  });

  it('at which there is nothing is told of one that is near', async () => {
    const gateway = shared();
    const key = await gateway.addTeam();
    const told = async (path: string, shown?: string) =>
      problem(await gateway.call(path, shown === undefined ? {} : { key: shown }));
    expect(await told('/gateway/me')).toMatchObject({
      status: 404,
      detail: 'There is nothing at this address; did you mean /gateway/v1/me?',
      help: 'Use /gateway/v1/me, or see /docs for all addresses.',
    });
    expect((await told('/report/campaigns/get')).detail).toContain('/api/v1/report/campaigns/get?');
    expect((await told('/report/campaigns/get', key)).detail).toBe(
      (await told('/report/campaigns/get')).detail,
    );
    expect((await told('/wp-login.php')).detail).toBe('There is nothing at this address.');
  });

  it('of the admin plane is told of one there', async () => {
    const gateway = shared();
    const reply = await gateway.admin.inject('/admin/v2/status');
    expect(reply.json<Problem>().detail).toContain('did you mean /admin/v1/status?');
    expect((await gateway.admin.inject('/report/x')).json<Problem>().detail).toBe(
      'There is nothing at this address.',
    );
  });

  it('that takes other methods says which, and does not send to itself', async () => {
    const gateway = shared();
    const other = async (method: 'GET' | 'PUT', url: string) => {
      const reply = await gateway.admin.inject({ method, url });
      return [reply.statusCode, reply.headers.allow, reply.json<Problem>().detail];
    };
    const takes = (allow: string) => [405, allow, `This address supports ${allow}.`];
    expect(await other('PUT', '/admin/v1/status')).toEqual(takes('GET, HEAD'));
    expect(await other('PUT', '/admin/v1/teams/growth?x=1')).toEqual(takes('DELETE, GET, HEAD, PATCH'));
    expect(await other('GET', '/admin/v1/token/rotate')).toEqual(takes('POST'));
    expect(await other('PUT', '/openapi.json')).toEqual(takes('GET, HEAD'));
    expect((await other('GET', '/docs/errors/nope'))[0]).toBe(404);
    expect((await other('PUT', '/admin/v1/nothing'))[0]).toBe(404);
    expect(problem(await gateway.call('/docs', { method: 'POST' })).code).toBe('method_not_allowed');
  });

  it('of a report that an operator declared for a method is passed through', async () => {
    const route = { method: 'DELETE', path: '/api/v1/report/saved', account: [] };
    const gateway = await withGateway({ config: { routes: [route] } });
    const key = await gateway.addTeam();
    const reply = await gateway.call('/api/v1/report/saved', { method: 'DELETE', key });
    expect(reply.headers['cache-status']).toBe('dsp-gateway; fwd=bypass');
  });

  it('that is none but / is a page for a browser, and JSON for others', async () => {
    const gateway = shared();
    const page = await gateway.data.inject({ url: '/', headers: { accept: 'text/html,*/*;q=0.8' } });
    expect([page.statusCode, page.headers['content-type'], page.headers.vary]).toEqual([
      200,
      'text/html; charset=utf-8',
      'accept',
    ]);
    expect(page.body).toContain('<a href="/docs">');
    const plain = await gateway.data.inject('/');
    expect(plain.json()).toEqual({
      name: 'dsp-gateway',
      what: 'A gateway for reports of the advertising platform.',
      docs: '/docs',
      openapi: '/openapi.json',
    });
    expect(page.body + plain.body).not.toMatch(/\d+\.\d+\.\d+/);
    expect((await gateway.data.inject({ method: 'POST', url: '/' })).headers.allow).toBe('GET, HEAD');
  });
});
