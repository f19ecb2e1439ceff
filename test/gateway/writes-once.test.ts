/** Contract: a write reaches the platform once, whatever goes wrong, with an idempotency key or without. */
import { Agent, request } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listenGateway } from '../support/listen-gateway.js';
import { startHttpPlatform } from '../support/raw-platform.js';
import { gatewayAt } from '../support/start-gateway.js';

const FAULTS: readonly [string, Parameters<typeof startHttpPlatform>[0]][] = [
  ['breaks the connection', (incoming) => void incoming.socket.destroy()],
  ['breaks it by a reset', (incoming) => void incoming.socket.resetAndDestroy()],
  [
    'breaks off its answer',
    (_incoming, response) =>
      void response.writeHead(200, { 'content-length': 9 }).write('x', () => response.destroy()),
  ],
  ['does not answer', (incoming) => void incoming.resume()],
  ['answers 401', (_incoming, response) => void response.writeHead(401).end()],
  [
    'redirects to the login',
    (_incoming, response) => void response.writeHead(302, { location: '/login' }).end(),
  ],
  [
    'redirects elsewhere',
    (_incoming, response) => void response.writeHead(307, { location: '/elsewhere' }).end(),
  ],
  ['answers 408', (_incoming, response) => void response.writeHead(408).end()],
  ['answers 425', (_incoming, response) => void response.writeHead(425).end()],
  ['answers 429', (_incoming, response) => void response.writeHead(429, { 'retry-after': '0' }).end()],
  ['answers 500', (_incoming, response) => void response.writeHead(500).end()],
  ['answers 502', (_incoming, response) => void response.writeHead(502).end()],
  [
    'answers 503 and wants it again at once',
    (_incoming, response) => void response.writeHead(503, { 'retry-after': '0' }).end(),
  ],
  ['answers 504', (_incoming, response) => void response.writeHead(504).end()],
];

const JSON_BODY = { headers: { 'content-type': 'application/json' }, body: '{"userId":1}' };
const WRITES = [
  { method: 'POST', ...JSON_BODY },
  { method: 'POST', body: '{}', headers: { ...JSON_BODY.headers, 'idempotency-key': 'k' } },
  { method: 'PUT', headers: { 'content-type': 'video/mp4' }, body: 'streamed' },
  { method: 'DELETE' },
] as const;

describe('a write is sent once when the platform', () => {
  it.each(FAULTS)('%s', async (_how, handler) => {
    const platform = await startHttpPlatform(handler);
    const gateway = await gatewayAt(
      { url: platform.url.href, token: 'platform-token' },
      { config: { platform: { timeoutMs: 300, retry: { attempts: 5, baseMs: 1 } } } },
    );
    const key = await gateway.addTeam();
    const url = await listenGateway(gateway);
    for (const [at, { method, ...write }] of WRITES.entries()) {
      // Past any pause, and with two tokens: a refused one could be followed by a second try.
      gateway.clock.advance(60_000);
      await gateway.manage('POST', '/token/rotate', { token: `token-${at}`, force: true });
      const headers = { 'x-api-key': key, ...('headers' in write ? write.headers : {}) };
      const answer = await request(`${url}/api/v1/campaign/7`, { method, ...write, headers });
      // What is broken off on the platform's side is broken off here.
      await answer.body.dump().catch(() => {});
      expect(platform.seen.map((one) => one.method)).toEqual(
        WRITES.slice(0, at + 1).map((one) => one.method),
      );
    }
  });
});

describe('a connection that was kept open', () => {
  it.each(['POST', 'PUT', 'DELETE'] as const)(
    'and ends under a %s does not make it go twice',
    async (method) => {
      let asked = 0;
      const platform = await startHttpPlatform((incoming, response) => {
        asked += 1;
        // The first use leaves it open; whatever comes next on it finds it closed.
        if (asked === 1) response.end('{}');
        else incoming.socket.end();
      });
      const gateway = await gatewayAt({ url: platform.url.href, token: 'platform-token' });
      const key = await gateway.addTeam();
      const url = await listenGateway(gateway);
      const agent = new Agent();
      onTestFinished(() => agent.destroy());
      const send = async (verb: 'GET' | typeof method) => {
        const { statusCode, body } = await request(`${url}/api/v1/campaign/7`, {
          dispatcher: agent,
          method: verb,
          headers: { 'x-api-key': key },
        });
        await body.dump();
        return statusCode;
      };
      expect(await send('GET')).toBe(200);
      expect(await send(method)).toBe(502);
      expect(platform.seen.map((one) => one.method)).toEqual(['GET', method]);
    },
  );
});
