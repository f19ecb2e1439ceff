/** A platform that broke off between its head and its body was told as a fault of the gateway. */
import { once } from 'node:events';
import { PassThrough, pipeline } from 'node:stream';
import { finished } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { request } from 'undici';
import { expect, it } from 'vitest';
import { createOutlet } from '../../src/api/proxy/clean-answer.js';
import { listenGateway } from '../support/listen-gateway.js';
import { type Handler, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt } from '../support/start-gateway.js';

const HEAD = { 'content-type': 'text/csv', etag: '"e"', 'content-disposition': 'attachment' };
const whole = gzipSync('x'.repeat(1000));

it.each<[string, Handler, number, string]>([
  [
    'breaks off',
    (_request, response) => {
      response.writeHead(200, { ...HEAD, 'content-length': '10' }).flushHeaders();
      setTimeout(() => response.destroy(), 20);
    },
    502,
    'upstream_error',
  ],
  [
    'sends what cannot be decoded',
    (_request, response) => {
      response.writeHead(200, { ...HEAD, 'content-encoding': 'gzip' }).end('no gzip at all');
    },
    502,
    'upstream_invalid_response',
  ],
  [
    'ends before its coding does',
    (_request, response) => {
      response.writeHead(200, { ...HEAD, 'content-encoding': 'gzip' }).end(whole.subarray(0, 10));
    },
    502,
    'upstream_invalid_response',
  ],
  [
    'falls silent',
    (_request, response) => {
      response.writeHead(200, { ...HEAD, 'content-length': '10' }).flushHeaders();
    },
    504,
    'upstream_timeout',
  ],
])(
  'a platform that %s after its head is told as the platform’s failure',
  async (_what, handler, status, code) => {
    const platform = await startRawPlatform(handler);
    const gateway = await gatewayAt(platform, { config: { platform: { timeoutMs: 500 } } });
    const [key, url] = [await gateway.addTeam(), await listenGateway(gateway)];
    for (const headers of [{}, { 'idempotency-key': 'k1' }]) {
      const {
        statusCode,
        headers: got,
        body,
      } = await request(`${url}/api/v1/export`, {
        method: 'POST',
        headers: { 'x-api-key': key, ...headers },
      });
      const problem = (await body.json()) as { code: string };
      expect([statusCode, problem.code]).toEqual([status, code]);
      expect(got['content-type']).toBe('application/problem+json; charset=utf-8');
      expect([got.etag, got['content-disposition']]).toEqual([undefined, undefined]);
    }
    expect(gateway.services.budget.running).toBe(0);
  },
);

it('an answer that broke off before anybody read it is told as the platform’s failure, too', async () => {
  const rules = { silenceMs: 60_000, minBytesPerSecond: 1, overMs: 60_000 };
  const [answer, outlet] = [new PassThrough(), createOutlet(rules, 0)];
  pipeline(answer, outlet, () => {});
  const closed = once(outlet, 'close');
  answer.destroy(new Error('broken off'));
  await expect(closed).rejects.toMatchObject({ code: 'upstream_error' });
  // As Fastify looks at a stream that it is given later, such as after a charge was written down.
  await expect(finished(outlet)).rejects.toMatchObject({ code: 'upstream_error' });
});
