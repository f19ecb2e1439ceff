/** Node's parser takes `GET /path` and 2.0 for versions of HTTP, and such a request was answered, on each port. */
import type { FastifyInstance } from 'fastify';
import { expect, it } from 'vitest';
import { buildMetricsPlane } from '../../src/api/metrics.js';
import { fixedSecret } from '../../src/config/secret.js';
import { listenGateway } from '../support/listen-gateway.js';
import { exchange, head, readAnswers } from '../support/raw-socket.js';
import { ADMIN_TOKEN, REPORT, withGateway } from '../support/start-gateway.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';
const VERSIONS = [
  '',
  ' HTTP/0.9',
  ' HTTP/0.8',
  ' HTTP/1.2',
  ' HTTP/2.0',
  ' HTTP/3.0',
  ' HTTP/1',
  ' http/1.1',
];

it('any version of HTTP but 1.0 and 1.1 is 400, and the connection is closed', async () => {
  const gateway = await withGateway({ logLevel: 'info' });
  const key = await gateway.addTeam();
  for (let times = 0; times < 2; times += 1) await gateway.report(key, QUERY);
  const calls = gateway.simulator.callCount;
  const metrics = await buildMetricsPlane({
    services: gateway.services,
    adminToken: fixedSecret('ADMIN_TOKEN', ADMIN_TOKEN),
    stopping: () => false,
    metricsText: async () => '',
    workersReady: () => true,
  });
  const planes: readonly [FastifyInstance, string][] = [
    [gateway.data, `${REPORT}?${QUERY}`],
    [gateway.data, '/api/v1/campaign/1'],
    [gateway.data, '//'],
    [gateway.admin, '/admin/v1/status'],
    [metrics, '/metrics'],
  ];
  const urls = new Map<FastifyInstance, string>();
  for (const plane of [gateway.data, gateway.admin, metrics])
    urls.set(plane, await listenGateway({ data: plane }));
  const headers = ['host: gateway.test', `x-api-key: ${key}`, 'connection: keep-alive'];
  for (const version of VERSIONS)
    for (const [plane, target] of planes)
      for (const sent of [
        head(`GET ${target}${version}`, headers),
        head(`POST ${target}${version}`, [...headers, 'content-length: 2'], '{}'),
      ]) {
        const answers = readAnswers(await exchange(urls.get(plane) as string, sent));
        expect([sent, answers.map(({ status }) => status)]).toEqual([sent, [400]]);
        expect(answers[0]?.head).toMatch(/^connection: close$/im);
        expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ status: 400, code: 'invalid_request' });
      }
  expect(gateway.simulator.callCount).toBe(calls);
  await metrics.close();
}, 30_000);
