import { expect, it } from 'vitest';
import { isOwnHost } from '../../../src/api/http/own-host.js';
import { withGateway } from '../../support/start-gateway.js';

it.each<[string | undefined, boolean]>([
  [undefined, true],
  ['127.0.0.1:8081', true],
  ['10.1.2.3', true],
  ['[::1]:8081', true],
  ['localhost', true],
  ['LOCALHOST:8081', true],
  ['gateway:9090', true],
  ['gateway.ads.svc', true],
  ['gateway.ads.svc.cluster.local:9090', true],
  ['listed.example', true],
  ['Listed.example.:80', true],
  ['evil.example', false],
  ['evil.example:8081', false],
  ['127.0.0.1.evil.example', false],
  ['localhost.evil.example', false],
  ['evil.example/localhost', false],
  ['', false],
])('%j is a name of ours: %s', (host, wanted) => {
  expect(isOwnHost(host, ['listed.example'])).toBe(wanted);
});

it('numbers are told under names of ours alone, unless a token is asked for', async () => {
  for (const metricsAuth of [false, true]) {
    const gateway = await withGateway({
      config: { server: { metricsHosts: ['metrics.example'], metricsAuth } },
    });
    const status = async (host: string) =>
      (await gateway.admin.inject({ url: '/metrics', headers: { host } })).statusCode;
    const open = metricsAuth ? 401 : 200;
    expect([await status('127.0.0.1:8081'), await status('metrics.example')]).toEqual([open, open]);
    expect(await status('evil.example')).toBe(metricsAuth ? 401 : 421);
  }
});

it('whoever tries admin tokens is held back more and more', async () => {
  const gateway = await withGateway();
  const held: string[] = [];
  const { slowFailures } = gateway.services;
  const before = slowFailures.delayMs('203.0.113.9');
  for (let n = 0; n < 30; n++) {
    const { statusCode } = await gateway.admin.inject({
      url: '/admin/v1/teams',
      headers: { authorization: 'Bearer wrong-admin-token' },
      remoteAddress: '203.0.113.9',
    });
    held.push(String(statusCode));
  }
  expect(new Set(held)).toEqual(new Set(['401']));
  expect([before, slowFailures.delayMs('203.0.113.9') > 0]).toEqual([0, true]);
});
