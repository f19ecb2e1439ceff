/**
 * Answers of the admin plane could be stored by a browser, a HEAD of an unmodified pin said that the pin was empty, the
 * metrics port named pages that it does not have, and an address with its port was taken for none.
 */
import { describe, expect, it } from 'vitest';
import { buildMetricsPlane } from '../../src/api/metrics.js';
import { fixedSecret } from '../../src/config/secret.js';
import { listenGateway } from '../support/listen-gateway.js';
import { exchange, head, readAnswers } from '../support/raw-socket.js';
import { ADMIN_TOKEN, REPORT, withGateway } from '../support/start-gateway.js';
import { ask, signIn } from '../teams/sessions/signed-in.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';

it('no answer of the admin plane may be stored, by cookie or by token', async () => {
  const gateway = await withGateway();
  const { cookie } = await signIn(gateway.admin, '/admin/v1/session', { token: ADMIN_TOKEN });
  for (const url of ['/admin/v1/status', '/admin/v1/teams', '/admin/v1/session', '/admin/v1/nothing'])
    expect([url, (await ask(gateway.admin, url, { headers: { cookie } })).headers['cache-control']]).toEqual([
      url,
      'no-store',
    ]);
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const byToken = await gateway.admin.inject({ url: '/admin/v1/teams', headers });
  expect([byToken.statusCode, byToken.headers['cache-control']]).toEqual([200, 'no-store']);
});

it('HEAD of an unmodified pin says nothing of its length, and else what GET says', async () => {
  const gateway = await withGateway();
  const key = await gateway.addTeam({ scopes: ['report:read', 'report:pin'] });
  const made = await gateway.call('/gateway/v1/pins', {
    ...{ key, method: 'POST' },
    json: { endpoint: 'campaigns/get', query: QUERY },
  });
  expect([made.status, made.text]).toEqual([201, expect.anything()]);
  const url = made.headers.location as string;
  const get = await gateway.call(url, { key });
  const whole = await gateway.call(url, { key, method: 'HEAD' });
  expect([whole.status, whole.text, whole.headers['content-length']]).toEqual([
    200,
    '',
    String(get.body.length),
  ]);
  const headers = { 'if-none-match': get.headers.etag as string };
  const same = await gateway.call(url, { key, method: 'HEAD', headers });
  expect([same.status, same.headers['content-length'], same.headers.etag]).toEqual([
    304,
    undefined,
    get.headers.etag,
  ]);
});

it('the metrics port names what it has where there is nothing', async () => {
  const { services } = await withGateway();
  const metrics = await buildMetricsPlane({
    ...{ services, adminToken: fixedSecret('ADMIN_TOKEN', ADMIN_TOKEN), stopping: () => false },
    ...{ metricsText: async () => '', workersReady: () => true },
  });
  for (const url of ['/nothing', '/doc', '/metric'])
    expect((await metrics.inject({ url })).json()).toMatchObject({
      ...{ status: 404, code: 'not_found', detail: 'There is nothing at this address.' },
      help: 'Ask /healthz, /readyz, /metrics.',
    });
});

describe('an address with its port', () => {
  const statusOf = async (trustedProxies: readonly string[], forwarded: string) => {
    const gateway = await withGateway({ logLevel: 'info', config: { server: { trustedProxies } } });
    const key = await gateway.addTeam({ ipAllow: ['10.1.0.0/16', '2001:db8::/32'] });
    const url = await listenGateway(gateway);
    const sent = head(`GET ${REPORT}?${QUERY} HTTP/1.1`, [
      ...['host: a', `x-api-key: ${key}`, 'connection: close', `x-forwarded-for: ${forwarded}`],
    ]);
    const statuses = [];
    // From the platform, from the store or memory, and before the router.
    for (let times = 0; times < 3; times += 1)
      statuses.push(...readAnswers(await exchange(url, sent)).map(({ status }) => status));
    return [...new Set(statuses)];
  };

  it.each([
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
  ])('%s of a trusted proxy: %i', async (forwarded, status) => {
    expect(await statusOf(['127.0.0.1/32'], forwarded)).toEqual([status]);
  });

  it('is not believed of anybody else', async () => {
    expect(await statusOf([], '10.1.2.3:4711')).toEqual([403]);
    expect(await statusOf(['192.0.2.1/32'], '10.1.2.3:4711')).toEqual([403]);
  });
});
