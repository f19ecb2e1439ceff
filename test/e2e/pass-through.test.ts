/** What is not a report: streamed to the platform and back, never cached, writes never twice, accounts checked. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { request } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, type Ask, ask, newTeam, simulatorOf } from '../support/ask.js';
import { type Gateway, type Platform, startGateway, startPlatform } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

let platform: Platform;
let gateway: Gateway;
let sim: ReturnType<typeof simulatorOf>;
let key: string;
let limited: string;

beforeAll(async () => {
  platform = await startPlatform();
  gateway = await startGateway(platform.env);
  sim = simulatorOf(platform.url);
  key = (await newTeam(gateway, { id: 'pass' })).key;
  limited = (await newTeam(gateway, { id: 'limited', advertisers: [1] })).key;
});
beforeEach(async () => void (await sim.forget()));

const call = (path: string, options: Ask = {}): Promise<Answer> =>
  ask(`${gateway.data}/api/v1${path}`, { key, ...options });
const CAMPAIGN = {
  ...{
    userId: 1,
    name: 'Autumn',
    adDomain: 'shop.example',
    clickUrl: 'https://shop.example/',
    country: 'DE',
  },
  ...{ dates: { from: '2027-01-01', to: '2027-02-01' }, bid: 1.5, budget: { daily: 10, total: 300 } },
  creativeSetIds: [1],
};

describe('a call that is passed through', () => {
  it('creates, reads, lists and deletes a campaign, and nothing of it is cached', async () => {
    const created = await call('/campaign/create', { method: 'POST', json: CAMPAIGN });
    expect(created.status).toBeLessThan(300);
    const { id } = created.json<{ id: number }>();
    for (const _ of [1, 2]) {
      const read = await call(`/campaign/${id}`);
      expect(read.status).toBe(200);
      expect(read.headers['cache-status']).toBe('dsp-gateway; fwd=bypass');
      expect(read.headers['cache-control']).toBe('private, no-store');
      expect(read.text).toContain('Autumn');
    }
    const list = await call('/campaign/get?per_page=200', { method: 'POST', json: { userId: 1 } });
    expect(list.text).toContain('Autumn');
    expect((await call(`/campaign/${id}`, { method: 'DELETE' })).status).toBeLessThan(300);
    expect((await call(`/campaign/${id}`)).status).toBe(404);
    const calls = await sim.calls();
    expect(calls.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /api/v1/campaign/create',
      `GET /api/v1/campaign/${id}`,
      `GET /api/v1/campaign/${id}`,
      'POST /api/v1/campaign/get?per_page=200',
      `DELETE /api/v1/campaign/${id}`,
      `GET /api/v1/campaign/${id}`,
    ]);
    for (const { headers } of calls) expect(headers.authorization).toBe(`Bearer ${platform.token}`);
    // The very bytes that came are the bytes that went.
    expect(calls[0]?.body).toBe(JSON.stringify(CAMPAIGN));
  });

  it('is tried again when it reads, and never when it writes', async () => {
    await sim.fault({ kind: 'status', status: 503 });
    expect((await call('/campaign/999999999')).status).toBe(404);
    expect(await sim.calls()).toHaveLength(2);
    for (const fault of [{ kind: 'status', status: 503 }, { kind: 'reset' }]) {
      await sim.forget();
      await sim.fault(fault);
      const answer = await call('/campaign/create', { method: 'POST', json: CAMPAIGN });
      expect([answer.status, answer.json().code]).toEqual([502, 'upstream_error']);
      expect(await sim.calls()).toHaveLength(1);
    }
  });

  it('hides the token from a platform that shows it', async () => {
    await sim.set({ echoToken: true });
    const answer = await call('/nothing');
    await sim.set({ echoToken: false });
    expect(answer.status).toBe(404);
    expect(answer.json().message).toMatch(/^\[token \*{20,}\] /);
    expect(JSON.stringify(answer.headers)).not.toContain(platform.token);
  });

  it('cannot change its method or smuggle a name', async () => {
    const refused: [string, Ask][] = [
      ['/campaign/1?_method=DELETE', {}],
      ['/campaign/1', { method: 'POST', json: { _method: 'DELETE' } }],
      [
        '/campaign/1',
        { method: 'POST', body: '{"a":1,"a":2}', headers: { 'content-type': 'application/json' } },
      ],
      ['/campaign/1?a%00b=1', {}],
      ['/campaign/1?%5Fx=1', {}],
    ];
    for (const [path, options] of refused) {
      const answer = await call(path, options);
      expect([path, options.method, answer.status]).toEqual([path, options.method, 400]);
    }
    expect(await sim.calls()).toEqual([]);
  });
});

describe('a team limited to advertisers', () => {
  const create = (json: unknown) => call('/campaign/create', { method: 'POST', key: limited, json });

  it('passes on declared routes with an account of its own, and with no other anywhere', async () => {
    expect((await create(CAMPAIGN)).status).toBeLessThan(300);
    const own = await call('/campaign/get', { method: 'POST', key: limited, json: { userId: 1 } });
    expect(own.status).toBe(200);
    expect(await sim.calls()).toHaveLength(2);
    const bodies: [unknown, string][] = [
      [{ ...CAMPAIGN, userId: 2 }, 'advertiser_forbidden'],
      [{ ...CAMPAIGN, userId: undefined }, 'advertiser_required'],
      [{ ...CAMPAIGN, advertiserId: 2 }, 'advertiser_forbidden'],
      [{ ...CAMPAIGN, target: { account_id: 2 } }, 'advertiser_forbidden'],
      [{ ...CAMPAIGN, list: [{ clientIds: [1, 2] }] }, 'advertiser_forbidden'],
      [{ ...CAMPAIGN, userId: [1] }, 'advertiser_forbidden'],
    ];
    for (const [body, code] of bodies) {
      const answer = await create(body);
      expect([body, answer.status, answer.json().code]).toEqual([body, 403, code]);
    }
    const inQuery = await call('/campaign/create?userId=2', { method: 'POST', key: limited, json: CAMPAIGN });
    expect(inQuery.json()).toMatchObject({ code: 'advertiser_forbidden' });
    const routes: [string, Ask][] = [
      ['/campaign/1', {}],
      ['/campaign/1', { method: 'DELETE' }],
      ['/anything', {}],
      ['/campaign/create/more', { method: 'POST', json: CAMPAIGN }],
    ];
    for (const [path, options] of routes) {
      expect((await call(path, { key: limited, ...options })).json()).toMatchObject({
        code: 'route_forbidden',
      });
    }
    expect(await sim.calls()).toHaveLength(2);
  });
});

describe('large bodies', () => {
  const size = 24 * 1024 * 1024;
  const started: string[] = [];
  /** A platform that takes and gives files, and waits in the middle until it is told to go on. */
  let goOn: () => void = () => {};
  const server = createServer((incoming: IncomingMessage, response: ServerResponse) => {
    if (incoming.method === 'GET') return void give(response);
    const hash = createHash('sha256');
    incoming.once('data', () => started.push('upload'));
    incoming.on('data', (chunk: Buffer) => hash.update(chunk));
    incoming.on('end', () => response.end(hash.digest('hex')));
  });
  async function give(response: ServerResponse): Promise<void> {
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size });
    response.write(Buffer.alloc(1024, 'a'));
    await new Promise<void>((resolve) => {
      goOn = resolve;
    });
    response.end(Buffer.alloc(size - 1024, 'a'));
  }
  let streaming: Gateway;
  let streamKey: string;
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    streaming = await startGateway({ PLATFORM_BASE_URL: url, PLATFORM_TOKEN: 'streaming-token' });
    streamKey = (await newTeam(streaming, { id: 'stream' })).key;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('come through while they are still being sent, in both directions', async () => {
    const url = `${streaming.data}/api/v1/files/1`;
    const headers = { 'x-api-key': streamKey, 'content-type': 'application/octet-stream' };
    const down = await request(url, { headers });
    const iterator = down.body[Symbol.asyncIterator]();
    const first = (await iterator.next()).value as Buffer;
    expect(first.length).toBeGreaterThan(0);
    goOn();
    let received = first.length;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
      received += (next.value as Buffer).length;
    }
    expect(received).toBe(size);

    const piece = Buffer.alloc(256 * 1024, 'b');
    const hash = createHash('sha256');
    async function* pieces() {
      for (let sent = 0; sent < size; sent += piece.length) {
        // The first pieces arrive before the last are made.
        if (sent === size / 2) await waitFor('the upload at the platform', () => started.includes('upload'));
        hash.update(piece);
        yield piece;
      }
    }
    const up = await request(url, { method: 'PUT', headers, body: Readable.from(pieces()) });
    expect(up.statusCode).toBe(200);
    expect(await up.body.text()).toBe(hash.digest('hex'));
  });
});
