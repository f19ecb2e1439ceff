import { createHash, randomBytes } from 'node:crypto';
import { type EventEmitter, once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { listenGateway } from '../support/listen-gateway.js';
import { type Handler, sends, startHeldPlatform, startRawPlatform } from '../support/raw-platform.js';
import { type GatewayOptions, gatewayAt, type TestGateway } from '../support/start-gateway.js';

const QUICK: GatewayOptions = { config: { platform: { timeoutMs: 300, retry: { baseMs: 1 } } } };

async function open(handler: Handler, options: GatewayOptions = {}) {
  const platform = await startRawPlatform(handler);
  const gateway = await gatewayAt(platform, options);
  return { platform, gateway, key: await gateway.addTeam(), url: await listenGateway(gateway) };
}

/** Resolves when it is closed, with an error or without. */
function closing(emitter: EventEmitter): Promise<void> {
  return new Promise((resolve) => emitter.once('close', () => resolve()));
}

/** Nothing holds a turn in the platform's budget any more. */
const settled = ({ services }: TestGateway) =>
  expect.poll(() => [services.budget.running, services.budget.queued]).toEqual([0, 0]);

describe('a body', () => {
  it('from the platform arrives in pieces, while the rest is not there yet', async () => {
    let answering: ServerResponse | undefined;
    const { gateway, key, url } = await open((_request, response) => {
      answering = response;
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      response.write('first');
    });
    const { body } = await request(`${url}/api/v1/export`, { headers: { 'x-api-key': key } });
    const pieces = body[Symbol.asyncIterator]();
    expect(String((await pieces.next()).value)).toBe('first');
    answering?.write('second');
    expect(String((await pieces.next()).value)).toBe('second');
    answering?.end();
    expect((await pieces.next()).done).toBe(true);
    await settled(gateway);
  });

  it.each(['text/plain', 'text/plain;', 'text/plain; charset=utf/8', 'text/plain; charset=iso-8859-1'])(
    'of type %s arrives as its bytes, and is no failure of the platform',
    async (type) => {
      const received: Buffer[] = [];
      const types: unknown[] = [];
      const { gateway, key, url } = await open((incoming, response) => {
        types.push(incoming.headers['content-type']);
        incoming.on('data', (piece: Buffer) => void received.push(piece));
        incoming.on('end', () => response.end('done'));
      });
      const body = Buffer.from([0xff, 0xfe, 0x80, 0x00, 0xe9]);
      const headers = { 'x-api-key': key, 'content-type': type };
      const reply = await request(`${url}/api/v1/upload`, { method: 'POST', headers, body });
      expect([reply.statusCode, await reply.body.text()]).toEqual([200, 'done']);
      expect([Buffer.concat(received), types]).toEqual([body, [type]]);
      await settled(gateway);
    },
  );

  it('to the platform arrives in pieces, while the rest is not sent yet', async () => {
    const received: Buffer[] = [];
    const { gateway, key, url } = await open((incoming, response) => {
      incoming.on('data', (piece: Buffer) => void received.push(piece));
      incoming.on('end', () => response.end('done'));
    });
    const upload = new Readable({ read: () => {} });
    const answered = request(`${url}/api/v1/upload`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'video/mp4' },
      body: upload,
    });
    upload.push('first');
    await expect.poll(() => Buffer.concat(received).toString()).toBe('first');
    upload.push('second');
    await expect.poll(() => Buffer.concat(received).toString()).toBe('firstsecond');
    upload.push(null);
    const { statusCode, body } = await answered;
    expect([statusCode, await body.text()]).toEqual([200, 'done']);
    await settled(gateway);
  });

  it('that is large comes through whole, both ways', async () => {
    const large = randomBytes(5_000_000);
    const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
    const { key, url } = await open((incoming, response) => {
      const pieces: Buffer[] = [];
      incoming.on('data', (piece: Buffer) => void pieces.push(piece));
      incoming.on('end', () => {
        const body = Buffer.concat(pieces);
        response.writeHead(200, {
          etag: `"${digest(body)}"`,
          'content-type': 'video/mp4',
          'content-length': body.length,
        });
        response.end(body);
      });
    });
    const reply = await request(`${url}/api/v1/upload`, {
      method: 'PUT',
      headers: { 'x-api-key': key, 'content-type': 'video/mp4' },
      body: large,
    });
    expect(reply.headers.etag).toBe(`"${digest(large)}"`);
    expect(digest(Buffer.from(await reply.body.arrayBuffer()))).toBe(digest(large));
  });

  it('that is JSON and too large to be read is streamed, for a team that may use everything', async () => {
    const { platform, key, url } = await open((incoming, response) => {
      incoming.resume().on('end', () => response.end('{}'));
    });
    const body = JSON.stringify({ x: 'x'.repeat(1_100_000) });
    const reply = await request(`${url}/api/v1/bulk`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body,
    });
    expect(reply.statusCode).toBe(200);
    expect(platform.requests[0]?.headers['content-length']).toBe(String(body.length));
  });
});

describe('a platform that falls silent', () => {
  it('before its answer is a timeout', async () => {
    const { gateway, key, url } = await open((incoming) => void incoming.resume(), QUICK);
    for (const method of ['GET', 'POST'] as const) {
      const { statusCode, body } = await request(`${url}/api/v1/thing`, {
        method,
        headers: { 'x-api-key': key },
      });
      expect([statusCode, ((await body.json()) as { code: string }).code]).toEqual([504, 'upstream_timeout']);
    }
    await settled(gateway);
  });

  it('in the middle of its answer is cut off, so that the caller is not left waiting, and the turn is free', async () => {
    const { gateway, key, url } = await open((_request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('12345');
    }, QUICK);
    const { statusCode, body } = await request(`${url}/api/v1/thing`, { headers: { 'x-api-key': key } });
    expect(statusCode).toBe(200);
    await expect(body.text()).rejects.toThrow();
    await settled(gateway);
  });

  it('by breaking off is broken off to the caller, too', async () => {
    const { gateway, key, url } = await open((_request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('12345', () => response.destroy());
    });
    const { body } = await request(`${url}/api/v1/thing`, { headers: { 'x-api-key': key } });
    await expect(body.text()).rejects.toThrow();
    await settled(gateway);
  });
});

describe('a caller who goes away', () => {
  /** A call that can be broken off. */
  function call(url: string, key: string, method = 'GET') {
    const outgoing = httpRequest(`${url}/api/v1/thing`, { method, headers: { 'x-api-key': key } });
    outgoing.on('error', () => {});
    return outgoing;
  }

  it('before a read is answered has it broken off', async () => {
    const platform = await startHeldPlatform(sends('{}'));
    const gateway = await gatewayAt(platform);
    const [key, url] = [await gateway.addTeam(), await listenGateway(gateway)];
    const outgoing = call(url, key);
    outgoing.end();
    await platform.arrived(1);
    const [received] = platform.requests as [IncomingMessage];
    const closed = closing(received.socket);
    outgoing.destroy();
    await closed;
    await settled(gateway);
    await expect
      .poll(() =>
        gateway.log
          .filter(({ msg, plane }) => msg === 'request' && plane === 'data')
          .map(({ status }) => status),
      )
      .toEqual([499]);
  });

  it('in the middle of an answer has it broken off', async () => {
    let cut: Promise<unknown> | undefined;
    const { gateway, key, url } = await open((_request, response) => {
      cut = closing(response);
      response.write('x'.repeat(1000));
    });
    const outgoing = call(url, key);
    outgoing.end();
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    await once(incoming, 'data');
    outgoing.destroy();
    await cut;
    await settled(gateway);
  });

  it('before a write is answered does not have it broken off: what it did would not be known', async () => {
    const platform = await startHeldPlatform(sends('{"id":7}'));
    const gateway = await gatewayAt(platform);
    const [key, url] = [await gateway.addTeam(), await listenGateway(gateway)];
    const outgoing = call(url, key, 'DELETE');
    outgoing.end();
    await platform.arrived(1);
    const [received] = platform.requests as [IncomingMessage];
    let broken = false;
    received.socket.once('close', () => (broken = true));
    const gone = closing(outgoing);
    outgoing.destroy();
    await gone;
    await platform.arrived(1);
    expect(broken).toBe(false);
    platform.release();
    await settled(gateway);
    expect(broken).toBe(false);
    expect(platform.requests).toHaveLength(1);
  });

  it('before a write without a body is answered finds its answer under its idempotency key', async () => {
    const platform = await startHeldPlatform(sends('{"id":7}', { 'content-type': 'application/json' }, 201));
    const gateway = await gatewayAt(platform);
    const [key, url] = [await gateway.addTeam(), await listenGateway(gateway)];
    const outgoing = call(url, key, 'POST');
    outgoing.setHeader('idempotency-key', 'once');
    outgoing.setHeader('content-length', '0');
    outgoing.end();
    await platform.arrived(1);
    const gone = closing(outgoing);
    outgoing.destroy();
    await gone;
    platform.release();
    await settled(gateway);
    const headers = { 'x-api-key': key, 'idempotency-key': 'once' };
    const again = await request(`${url}/api/v1/thing`, { method: 'POST', headers });
    expect([again.statusCode, again.headers['idempotency-replayed'], await again.body.text()]).toEqual([
      201,
      'true',
      '{"id":7}',
    ]);
    expect(platform.requests).toHaveLength(1);
  });

  it('in the middle of an upload leaves no half of it waiting', async () => {
    let cut: Promise<unknown> | undefined;
    const { gateway, platform, key, url } = await open((incoming) => {
      cut = closing(incoming);
      incoming.resume().on('error', () => {});
    });
    const outgoing = call(url, key, 'POST');
    outgoing.setHeader('content-length', '100');
    outgoing.write('half');
    await expect.poll(() => platform.requests.length).toBe(1);
    outgoing.destroy();
    await cut;
    await settled(gateway);
  });
});

describe('a call that fails', () => {
  it.each(['GET', 'HEAD'] as const)('is tried again when it reads: %s', async (method) => {
    const { platform, key, url } = await open(
      (incoming, response) => {
        if (platform.requests.length === 1) return void incoming.socket.resetAndDestroy();
        if (platform.requests.length === 2)
          return sends('{}', { 'retry-after': '0' }, 503)(incoming, response);
        return sends('{"ok":true}')(incoming, response);
      },
      { config: { platform: { retry: { baseMs: 1 } } } },
    );
    const { statusCode, body } = await request(`${url}/api/v1/thing`, {
      method,
      headers: { 'x-api-key': key },
    });
    await body.dump();
    expect([statusCode, platform.requests.length]).toEqual([200, 3]);
  });

  it('tells what the platform said of a refusal, and nothing of what it said when it failed', async () => {
    const { platform, gateway, key, url } = await open(sends('{"message":"name is missing"}', {}, 422));
    const ask = () => request(`${url}/api/v1/thing`, { method: 'POST', headers: { 'x-api-key': key } });
    const refused = await ask();
    expect([refused.statusCode, await refused.body.text(), refused.headers['content-type']]).toEqual([
      422,
      '{"message":"name is missing"}',
      'application/json',
    ]);
    platform.answer(sends('<html>stack trace of the inside</html>', { 'content-type': 'text/html' }, 500));
    const failed = await ask();
    const text = await failed.body.text();
    expect([failed.statusCode, failed.headers['content-type']]).toEqual([
      502,
      'application/problem+json; charset=utf-8',
    ]);
    expect(text).not.toContain('inside');
    platform.answer(sends('', { location: 'http://169.254.169.254/' }, 302));
    const redirected = await ask();
    expect([redirected.statusCode, redirected.headers.location]).toEqual([502, undefined]);
    await redirected.body.dump();
    platform.answer(sends('{}', { 'retry-after': '20' }, 429));
    const limited = await ask();
    await limited.body.dump();
    expect([limited.statusCode, limited.headers['retry-after']]).toEqual([503, '20']);
    const paused = await ask();
    await paused.body.dump();
    expect([paused.statusCode, platform.requests.length]).toEqual([503, 4]);
    await settled(gateway);
  });
});
