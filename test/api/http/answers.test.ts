/** What an answer is made with, and where it may be asked for. */

import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { serverTiming } from '../../../src/api/http/finish.js';
import { nearPath, nearReport } from '../../../src/api/http/not-found.js';
import { isOwnHost } from '../../../src/api/http/own-host.js';
import { inTurns, onResponseClosed } from '../../../src/api/http/send.js';
import { withGateway } from '../../support/start-gateway.js';

describe('a large body on its way out', () => {
  it('comes whole, in small pieces, and never much of it in one turn of the event loop', async () => {
    const content = [3_000_000, 10, 0, 1_000_000].map((bytes, at) => Buffer.alloc(bytes, `${at}`));
    let turn = 0;
    let isOver = false;
    const count = () => {
      turn += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const perTurn = new Map<number, number>();
    const pieces: Buffer[] = [];
    for await (const piece of inTurns(content)) {
      pieces.push(piece);
      perTurn.set(turn, (perTurn.get(turn) ?? 0) + piece.length);
    }
    isOver = true;
    expect(Buffer.concat(pieces).equals(Buffer.concat(content))).toBe(true);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(65_536);
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(262_144);
  });
});

/** An answer whose connection may be gone. */
function answerOn(state: { readonly destroyed: boolean; readonly writableFinished: boolean }) {
  return Object.assign(new EventEmitter(), state) as unknown as ServerResponse;
}

it('tells at the end of the answer, and when the connection closes', () => {
  const answer = answerOn({ destroyed: false, writableFinished: false });
  let told = 0;
  onResponseClosed(answer)(() => (told += 1));
  expect(told).toBe(0);
  answer.emit('close');
  expect(told).toBe(1);
});

it.each([
  { destroyed: true, writableFinished: false },
  { destroyed: false, writableFinished: true },
])('tells at once of a request that is over already: no event will come', (state) => {
  let told = 0;
  onResponseClosed(answerOn(state))(() => (told += 1));
  expect(told).toBe(1);
});

const KNOWN = ['/', '/healthz', '/readyz', '/gateway/v1/me', '/openapi.json', '/docs', '/docs/errors'];

describe('an address at which there is nothing', () => {
  it.each([
    ['/me', '/gateway/v1/me'],
    ['/v1/me', '/gateway/v1/me'],
    ['/gateway/me', '/gateway/v1/me'],
    ['/gateway/v2/me', '/gateway/v1/me'],
    ['/Gateway/v1/me/', '/gateway/v1/me'],
    ['/healtz', '/healthz'],
    ['/health', '/healthz'],
    ['/gateway/v1/health', '/healthz'],
    ['/gateway/readyz', '/readyz'],
    ['/ready', '/readyz'],
    ['/swagger', '/docs'],
    ['/doc', '/docs'],
    ['/swagger.json', '/openapi.json'],
    ['/errors/invalid_query', '/docs/errors'],
  ])('%s is near %s', (path, near) => {
    expect(nearPath(path, KNOWN)).toBe(near);
  });

  it.each(['/', '/wp-login.php', '/favicon.ico', '/x', '/gateway/v1/metrics', '/admin/v1/teams'])(
    '%s is near none',
    (path) => {
      expect(nearPath(path, KNOWN)).toBeUndefined();
    },
  );

  it.each([
    ['/report/campaigns/get', '/api/v1/report/campaigns/get'],
    ['/v1/report/campaigns/get', '/api/v1/report/campaigns/get'],
    ['/api/report/campaigns/get', '/api/v1/report/campaigns/get'],
    ['/reports/campaigns/get/', '/api/v1/report/campaigns/get'],
  ])('%s means the report %s', (path, report) => {
    expect(nearReport(path)).toBe(report);
  });

  it.each(['/report', '/report/', '/reporting/x', `/report/${'x'.repeat(200)}`])(
    '%s means no report',
    (path) => {
      expect(nearReport(path)).toBeUndefined();
    },
  );
});

describe('server-timing', () => {
  it('adds up the turns of a stage, in the order of the first', () => {
    const stages = [
      { stage: 'admit', endedMs: 1 },
      { stage: 'fetch', endedMs: 4.5 },
      { stage: 'keep', endedMs: 5 },
      { stage: 'fetch', endedMs: 7 },
    ] as const;
    expect(serverTiming({ stages }, 8.006)).toBe(
      'admit;dur=1.00, fetch;dur=5.50, keep;dur=0.50, total;dur=8.01',
    );
    expect(serverTiming({ stages: [] }, 0)).toBe('total;dur=0.00');
  });

  it('is sent with misses, hits and refusals where the setting says so', async () => {
    const gateway = await withGateway({ config: { server: { serverTiming: true } }, logLevel: 'warn' });
    const key = await gateway.addTeam();
    const query = 'advertiserId=1&byDate=1&dateFrom=2026-10-01&dateTo=2026-10-02';
    const timed = async (target: string) => {
      const { headers } = await gateway.report(key, target);
      return (headers['server-timing'] ?? '').split(', ').map((part) => part.replace(/;dur=\d+\.\d\d$/, ''));
    };
    expect(await timed(query)).toEqual(
      expect.arrayContaining(['admit', 'understand', 'look-up', 'decide', 'fetch', 'keep', 'total']),
    );
    expect(await timed(query)).toEqual(['admit', 'understand', 'render', 'total']);
    expect(await timed('byDate=maybe')).toEqual(['admit', 'total']);
  });

  it('is not sent otherwise', async () => {
    const gateway = await withGateway();
    const { headers } = await gateway.report(await gateway.addTeam(), 'advertiserId=1');
    expect(headers).not.toHaveProperty('server-timing');
  });
});

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
    const long = await gateway.admin.inject({
      url: '/metrics',
      headers: { host: `evil.${'x'.repeat(900)}` },
    });
    expect(long.json<{ detail: string }>().detail.length).toBeLessThanOrEqual(200);
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
