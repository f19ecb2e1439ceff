/** Calls that are passed through and go wrong: what the caller is told of a write, of a platform that breaks off, and of `_method`. */
import { once } from 'node:events';
import { PassThrough, pipeline, Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { Agent, request } from 'undici';
import { beforeAll, describe, expect, it } from 'vitest';
import { createOutlet } from '../../../src/api/proxy/clean-answer.js';
import { holdsToken } from '../../../src/platform/scrub.js';
import { SPELLINGS } from '../../platform/spellings.js';
import { listenGateway } from '../../support/listen-gateway.js';
import { deadUrl, type Handler, sends, startRawPlatform } from '../../support/raw-platform.js';
import { openScene, sharedScene } from '../../support/scene.js';
import { type Call, gatewayAt, outcomeOf, type TestGateway } from '../../support/start-gateway.js';

describe('a write that failed', () => {
  const MAY_BE_DONE = 'The write may have been executed.';
  const config = (timeoutMs = 30_000) => ({ platform: { timeoutMs, retry: { attempts: 0 } } });
  const WRITES: readonly Call[] = [
    { method: 'POST', json: { userId: 1 } },
    { method: 'POST', json: { userId: 1 }, headers: { 'idempotency-key': 'k' } },
    { method: 'PUT', body: 'film', headers: { 'content-type': 'video/mp4' } },
    { method: 'DELETE' },
  ];

  async function tell({ call }: Pick<TestGateway, 'call'>, key: string, one: Call = WRITES[0] as Call) {
    const reply = await call('/api/v1/campaign/create', { key, ...one });
    return [outcomeOf(reply), String(reply.json().detail)] as const;
  }

  it.each<[string, Handler, string]>([
    ['500', sends('', {}, 500), '502 upstream_error'],
    ['a redirect elsewhere', sends('', { location: '/x' }, 303), '502 upstream_invalid_response'],
    ['silence', () => {}, '504 upstream_timeout'],
  ])('may have been carried out, and says so: %s', async (how, handler, outcome) => {
    // Only who waits for nothing must not wait long.
    const { gateway } = await openScene(handler, { config: config(how === 'silence' ? 300 : undefined) });
    for (const call of WRITES) {
      const [said, detail] = await tell(gateway, await gateway.addTeam(), call);
      expect(said).toBe(outcome);
      expect(detail).toContain(MAY_BE_DONE);
      expect(detail).not.toContain('cached');
    }
  });

  it.each<[string, Handler, string]>([
    ['429', sends('', { 'retry-after': '1' }, 429), '503 upstream_rate_limited'],
    ['401', sends('', {}, 401), '503 credential_unavailable'],
  ])('was certainly not carried out, and is not said to be: %s', async (_how, handler, outcome) => {
    const { gateway, key } = await openScene(handler, { config: config() });
    const [said, detail] = await tell(gateway, key);
    expect([said, detail]).toEqual([outcome, expect.not.stringContaining('carried out')]);
  });

  it('is a fault of the gateway, for which no circuit opens, where the proxy throws before it sends', async () => {
    const agent = new Agent();
    agent.request = () => {
      throw new Error('refused before anything was sent');
    };
    const gateway = await gatewayAt(
      { url: (await deadUrl()).href, token: '42|token-of-this-test' },
      { agent, config: { platform: { ...config().platform, circuit: { failures: 1 } } } },
    );
    const key = await gateway.addTeam();
    for (let call = 0; call < 3; call++) expect((await tell(gateway, key))[0]).toBe('500 internal_error');
  });

  it('was certainly not carried out where nobody listens', async () => {
    const gateway = await gatewayAt(
      { url: (await deadUrl()).href, token: '42|token-of-this-test' },
      { config: config() },
    );
    for (const call of WRITES.filter(({ body }) => body === undefined)) {
      const [said, detail] = await tell(gateway, await gateway.addTeam(), call);
      expect([said, detail]).toEqual(['502 upstream_error', expect.not.stringContaining('carried out')]);
    }
  });

  it('is no read: those may be asked again', async () => {
    const { gateway, key } = await openScene(sends('', {}, 500), { config: config() });
    const told = ['502 upstream_error', 'The platform answered with status 500.'];
    expect(await tell(gateway, key, { method: 'GET' })).toEqual(told);
  });
});

describe('a platform that broke off', () => {
  const HEAD = { 'content-type': 'text/csv', etag: '"e"', 'content-disposition': 'attachment' };
  const GZIP = { ...HEAD, 'content-encoding': 'gzip' };

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
      (_request, response) => void response.writeHead(200, GZIP).end('no gzip at all'),
      502,
      'upstream_invalid_response',
    ],
    [
      'ends before its coding does',
      (_request, response) =>
        void response.writeHead(200, GZIP).end(gzipSync('x'.repeat(1000)).subarray(0, 10)),
      502,
      'upstream_invalid_response',
    ],
    [
      'falls silent',
      (_request, response) => response.writeHead(200, { ...HEAD, 'content-length': '10' }).flushHeaders(),
      504,
      'upstream_timeout',
    ],
  ])(
    'a platform that %s after its head is told as the platform’s failure',
    async (_what, handler, status, code) => {
      const { gateway, key } = await openScene(handler, { config: { platform: { timeoutMs: 500 } } });
      const url = `${await listenGateway(gateway)}/api/v1/export`;
      for (const more of [{}, { 'idempotency-key': 'k1' }]) {
        const answer = await request(url, { method: 'POST', headers: { 'x-api-key': key, ...more } });
        expect([answer.statusCode, await answer.body.json()]).toEqual([
          status,
          expect.objectContaining({ code }),
        ]);
        expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
        for (const name of ['etag', 'content-disposition']) expect(answer.headers).not.toHaveProperty(name);
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
});

describe('`_method` in a body', () => {
  let whole = 0;
  const shared = sharedScene((incoming, response) => {
    incoming.on('error', () => {}).resume();
    incoming.on('end', () => {
      whole += 1;
      response.end('{}');
    });
  });
  let url: string;
  beforeAll(async () => {
    url = await shared().gateway.data.listen({ host: '127.0.0.1', port: 0 });
  });

  it.each<[string, string, string]>([
    [
      'a form in parts',
      'multipart/form-data; boundary=b',
      '--b\r\ncontent-disposition: form-data; name="_method"',
    ],
    ['JSON of more than 1 MiB', 'application/json', `{"a":"${'x'.repeat(3_000_000)}","_method":"DELETE"}`],
  ])(
    '%s is streamed for a team without a write guard, which may use any method',
    async (_what, type, body) => {
      const headers = { 'x-api-key': shared().key, 'content-type': type };
      const before = whole;
      expect((await request(`${url}/api/v1/thing`, { method: 'POST', headers, body })).statusCode).toBe(200);
      expect(whole).toBe(before + 1);
    },
  );

  it.each<[string, string, string, boolean]>([
    ['chunked JSON', 'application/json', '{"_method":"DELETE"}', true],
    ['a chunked form', 'application/x-www-form-urlencoded', '_method=DELETE', true],
    ['JSON of another name', 'application/vnd.api+json', '{"_method":"DELETE"}', false],
  ])(
    '%s with another method is refused, and the platform never has the whole',
    async (_what, type, body, chunked) => {
      const before = whole;
      const reply = await request(`${url}/api/v1/thing`, {
        method: 'POST',
        headers: { 'x-api-key': shared().key, 'content-type': type },
        body: chunked ? Readable.from([body]) : body,
      }).catch((error: Error) => error);
      // Whoever is still sending may find the connection closed before it reads why.
      if (!(reply instanceof Error)) {
        expect(reply.statusCode).toBe(400);
        expect(await reply.body.json()).toMatchObject({
          code: 'invalid_body',
          errors: [{ param: '_method' }],
        });
      }
      await expect.poll(() => shared().gateway.services.budget.running).toBe(0);
      expect(whole).toBe(before);
    },
  );
});

it.each(Object.entries(SPELLINGS))(
  'a token %s is in no report, no refusal and no header, and is not kept',
  async (name, spell) => {
    // Its base64 holds each of `+`, `/` and `=`.
    const token = 'ey?/eX>AiO+iJKV1Q?iLCJh~NiJ9_secret';
    const platform = { ...(await startRawPlatform(sends(''))), token };
    const { gateway, key } = await openScene(platform);
    const query = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';
    const spelt = spell(token);
    // A control character is no JSON, and no header, as it is.
    const isText = !name.includes('UTF-16');
    if (isText) {
      platform.answer(sends(`{"data":[{"date":"2026-11-01","note":"${spelt}"}]}`));
      for (const format of ['json', 'csv', 'raw', 'ndjson'])
        expect(outcomeOf(await gateway.report(key, `${query}&_format=${format}`))).toBe(
          '502 upstream_invalid_response',
        );
      platform.answer(sends(`{"message":"no ${spelt} here"}`, {}, 422));
      const refused = await gateway.report(key, `${query}&byCampaign=1`);
      expect(outcomeOf(refused)).toBe('422 upstream_rejected');
      expect(holdsToken(refused.body, token)).toBe(false);
    }
    const headers = { etag: `"${spelt}"`, 'content-disposition': `attachment; filename="${spelt}"` };
    platform.answer(sends(`page ${spelt}`, isText ? headers : {}));
    const reply = await gateway.call('/api/v1/thing', { key });
    expect(holdsToken(reply.body, token)).toBe(false);
    for (const header of ['etag', 'content-disposition']) expect(reply.headers).not.toHaveProperty(header);
  },
);
