/** What requests and answers look like on the wire, at each port. */
import { describe, expect, it } from 'vitest';
import { buildMetricsPlane } from '../../../src/api/metrics.js';
import { fixedSecret } from '../../../src/config/secret.js';
import { GatewayError } from '../../../src/errors.js';
import { type Problem, toProblem } from '../../../src/lib/http/problem.js';
import type { Services } from '../../../src/server/services.js';
import { listenGateway } from '../../support/listen-gateway.js';
import { exchange, head, readAnswers } from '../../support/raw-socket.js';
import { rule, sharedGateway } from '../../support/scene.js';
import { ADMIN_TOKEN, outcomeOf, REPORT, withGateway } from '../../support/start-gateway.js';
import { ask, signIn } from '../../teams/sessions/signed-in.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';

const metricsPlaneOf = (services: Services) =>
  buildMetricsPlane({
    services,
    adminToken: fixedSecret('ADMIN_TOKEN', ADMIN_TOKEN),
    stopping: () => false,
    metricsText: async () => '',
    workersReady: () => true,
    dataUrl: () => null,
  });

describe('an answer', () => {
  const shared = sharedGateway();

  it('no answer of the admin plane may be stored, by cookie or by token', async () => {
    const { admin } = shared();
    const { cookie } = await signIn(admin, '/admin/v1/session', { token: ADMIN_TOKEN });
    for (const url of ['/admin/v1/status', '/admin/v1/teams', '/admin/v1/session', '/admin/v1/nothing']) {
      const { headers } = await ask(admin, url, { headers: { cookie } });
      expect([url, headers['cache-control']]).toEqual([url, 'no-store']);
    }
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const byToken = await admin.inject({ url: '/admin/v1/teams', headers });
    expect([byToken.statusCode, byToken.headers['cache-control']]).toEqual([200, 'no-store']);
  });

  it('HEAD of an unmodified pin says nothing of its length, and else what GET says', async () => {
    const key = await shared().addTeam({ scopes: ['report:read', 'report:pin'] });
    const json = { endpoint: 'campaigns/get', query: QUERY };
    const made = await shared().call('/gateway/v1/pins', { key, method: 'POST', json });
    expect([made.status, made.text]).toEqual([201, expect.anything()]);
    const url = made.headers.location as string;
    const get = await shared().call(url, { key });
    const whole = await shared().call(url, { key, method: 'HEAD' });
    const length = String(get.body.length);
    expect([whole.status, whole.text, whole.headers['content-length']]).toEqual([200, '', length]);
    const { etag } = get.headers;
    const headers = { 'if-none-match': etag as string };
    const same = await shared().call(url, { key, method: 'HEAD', headers });
    expect([same.status, same.headers['content-length'], same.headers.etag]).toEqual([304, undefined, etag]);
  });

  it('the metrics port names what it has where there is nothing', async () => {
    const metrics = await metricsPlaneOf(shared().services);
    for (const url of ['/nothing', '/doc', '/metric'])
      expect((await metrics.inject({ url })).json()).toMatchObject({
        status: 404,
        code: 'not_found',
        detail: 'There is nothing at this address.',
        help: 'Use /healthz, /readyz, /metrics.',
      });
  });

  it('an id of any length is answered as a problem, by the route it belongs to', async () => {
    const key = await shared().addTeam({ scopes: ['report:read', 'report:pin'] });
    const reply = await shared().call(`/gateway/v1/pins/pin_${'a'.repeat(3_000)}`, { key });
    expect(reply.headers['content-type']).toMatch('application/problem+json');
    expect(reply.json<Problem>()).toMatchObject({ code: 'not_found', requestId: expect.any(String) });
  });

  it('leaves a sentence of a usual length whole', () => {
    const detail = 'A sentence. '.repeat(60);
    expect(toProblem(new GatewayError('conflict', { detail }), 'id').detail).toBe(detail);
  });

  it('of many faults twenty are listed, with their number', async () => {
    const key = await shared().addTeam();
    const query = Array.from({ length: 60 }, (_, index) => `x-${index}=1`).join('&');
    for (const path of [REPORT, '/api/v1/campaign/1']) {
      const { errors = [], ...problem } = (await shared().call(`${path}?${query}`, { key })).json<Problem>();
      expect([errors.length, problem]).toEqual([20, expect.objectContaining({ errorCount: 60 })]);
    }
  });

  it.each(['/api/v1/report/', '/api/v1/', '/'])('a path below %s is cut where a line ends', async (below) => {
    const { statusCode } = await shared().data.inject({ url: below + 'a'.repeat(4000) });
    expect([401, 404]).toContain(statusCode);
    const line = shared().log.findLast(({ msg, plane }) => msg === 'request' && plane === 'data');
    expect(line?.path).toHaveLength(256);
  });
});

describe('a body', () => {
  const JSON_TYPE = { 'content-type': 'application/json' };

  it('whoever has no valid key is refused at once, and its body is not waited for', async () => {
    const url = await listenGateway(await withGateway());
    const headers = ['host: a', 'x-api-key: nobody', 'content-type: application/json'];
    for (const path of [REPORT, '/api/v1/campaign/create'])
      for (const framing of ['content-length: 1000000', 'transfer-encoding: chunked']) {
        const sent = head(`POST ${path} HTTP/1.1`, [...headers, framing]);
        const [answer] = readAnswers(await exchange(url, sent, { patienceMs: 5000 }));
        expect(answer?.status).toBe(401);
        expect(JSON.parse(answer?.body ?? '')).toMatchObject({ code: 'invalid_api_key' });
      }
    // A connection is kept for the next request when the body that was refused is small.
    const refused = head(`POST ${REPORT} HTTP/1.1`, [...headers, 'content-length: 2'], '{}');
    const next = head('GET /healthz HTTP/1.1', ['host: a', 'connection: close']);
    expect(readAnswers(await exchange(url, refused + next)).map(({ status }) => status)).toEqual([401, 200]);
  });

  const members = (count: number, prefix = 'x') =>
    Array.from({ length: count }, (_, index) => `"${prefix}${index}":1`).join();
  const shared = sharedGateway();

  it.each<[string, string]>([
    ['members', `{${members(257)}}`],
    ['members of members', `{"filter":{${members(256)}}}`],
    ['bad names', `{${members(80_000, 'x-')}}`],
    ['list items', `{"campaignIds":[${'1,'.repeat(10_000)}1]}`],
  ])('a body of too many %s is refused in few words', async (_what, body) => {
    const key = await shared().addTeam();
    const reply = await shared().call(REPORT, { method: 'POST', key, body, headers: JSON_TYPE });
    expect(outcomeOf(reply)).toBe('400 invalid_body');
    expect(reply.body.length).toBeLessThan(1000);
    expect(reply.text).toContain('256 members');
    expect(shared().simulator.calls).toEqual([]);
  });

  it('a body of as many members as a query may have is taken', async () => {
    const call = { method: 'POST', key: await shared().addTeam(), headers: JSON_TYPE } as const;
    const body = `{"advertiserId":1,${members(255)}}`;
    expect((await shared().call(`${REPORT}?_period=yesterday`, { ...call, body })).status).toBe(200);
  });
});

it('any version of HTTP but 1.0 and 1.1 is 400, and the connection is closed', async () => {
  const gateway = await withGateway({ logLevel: 'info', config: rule({ divisible: 'never' }) });
  const key = await gateway.addTeam();
  for (let times = 0; times < 2; times += 1) await gateway.report(key, QUERY);
  const calls = gateway.simulator.callCount;
  const metrics = await metricsPlaneOf(gateway.services);
  const [data, admin] = [await listenGateway(gateway), await listenGateway({ data: gateway.admin })];
  const targets = [
    [data, `${REPORT}?${QUERY}`],
    [data, '/api/v1/campaign/1'],
    [data, '//'],
    [admin, '/admin/v1/status'],
    [await listenGateway({ data: metrics }), '/metrics'],
  ] as const;
  const versions = [
    '',
    ...['HTTP/0.9', 'HTTP/0.8', 'HTTP/1.2', 'HTTP/2.0', 'HTTP/3.0', 'HTTP/1', 'http/1.1'],
  ];
  const headers = ['host: gateway.test', `x-api-key: ${key}`, 'connection: keep-alive'];
  for (const version of versions)
    for (const [url, target] of targets)
      for (const sent of [
        head(`GET ${target} ${version}`.trim(), headers),
        head(`POST ${target} ${version}`.trim(), [...headers, 'content-length: 2'], '{}'),
      ]) {
        const answers = readAnswers(await exchange(url, sent));
        expect([sent, answers.map(({ status }) => status)]).toEqual([sent, [400]]);
        expect(answers[0]?.head).toMatch(/^connection: close$/im);
        expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ status: 400, code: 'invalid_request' });
      }
  expect(gateway.simulator.callCount).toBe(calls);
  await metrics.close();
}, 30_000);

describe('an address with its port', () => {
  async function openBehind(trustedProxies: readonly string[]) {
    const gateway = await withGateway({ logLevel: 'info', config: { server: { trustedProxies } } });
    const key = await gateway.addTeam({ ipAllow: ['10.1.0.0/16', '2001:db8::/32'] });
    const url = await listenGateway(gateway);
    return async (forwarded: string) => {
      const headers = ['host: a', `x-api-key: ${key}`, 'connection: close', `x-forwarded-for: ${forwarded}`];
      const statuses = new Set<number>();
      // From the platform, from the store or memory, and before the router.
      for (let times = 0; times < 3; times += 1) {
        const text = await exchange(url, head(`GET ${REPORT}?${QUERY} HTTP/1.1`, headers));
        for (const { status } of readAnswers(text)) statuses.add(status);
      }
      return [forwarded, ...statuses];
    };
  }

  it('of a trusted proxy is that address, where the port is one', async () => {
    const from = await openBehind(['127.0.0.1/32']);
    for (const [forwarded, status] of [
      ['10.1.2.3:4711', 200],
      ['[2001:db8::1]:443', 200],
      ['[2001:db8::1]', 200],
      ['8.8.8.8:1, 10.1.2.3:4711, 127.0.0.1:80', 200],
      ['10.2.2.3:4711', 403],
      ['10.1.2.3:4711, 8.8.8.8:1', 403],
      ['10.1.2.3:65535', 200],
      ['10.1.2.3:65536', 403],
      ['10.1.2.3:99999', 403],
      ['[2001:db8::1]:70000', 403],
      ['[2001:db8::1]:', 403],
      ['10.1.2.3:', 403],
      ['10.1.2.3:port', 403],
      ['[10.1.2.3]:1', 403],
      ['2001:db8::1]:443', 403],
    ] as const)
      expect(await from(forwarded)).toEqual([forwarded, status]);
  });

  it('is not believed of anybody else', async () => {
    for (const proxies of [[], ['192.0.2.1/32']]) {
      const from = await openBehind(proxies);
      expect(await from('10.1.2.3:4711')).toEqual(['10.1.2.3:4711', 403]);
    }
  });
});
