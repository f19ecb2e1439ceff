import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ProxySettings } from '../../src/config/load.js';
import { createAgent } from '../../src/platform/client.js';
import { startHttpPlatform } from '../support/raw-platform.js';

interface Proxy {
  readonly url: string;
  /** What it was asked for: `CONNECT host:port`, or a method and an absolute address. */
  readonly asked: readonly string[];
  readonly credentials: readonly (string | undefined)[];
}

/** A forward proxy: tunnels, and takes absolute addresses. */
async function startProxy(answer: 'tunnel' | 'refuse' = 'tunnel'): Promise<Proxy> {
  const asked: string[] = [];
  const credentials: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const note = (request: IncomingMessage) => {
    asked.push(`${request.method} ${request.url}`);
    credentials.push(request.headers['proxy-authorization']);
  };
  const server = createServer((request, response) => {
    note(request);
    response.writeHead(501).end();
  });
  server.on('connect', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    note(request);
    sockets.add(socket);
    if (answer === 'refuse') return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const [host = '', port = ''] = (request.url ?? '').split(':');
    const target = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.write(head);
      socket.pipe(target).pipe(socket);
    });
    for (const end of [socket, target]) end.on('error', () => end.destroy());
    socket.on('close', () => target.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, credentials };
}

async function get(proxy: ProxySettings, url: URL): Promise<number> {
  const agent = createAgent(proxy, 4);
  onTestFinished(() => agent.destroy());
  const { statusCode, body } = await agent.request({ origin: url.origin, path: '/x', method: 'GET' });
  await body.dump();
  return statusCode;
}

describe('the connection pool', () => {
  it('asks the platform itself when there is no proxy', async () => {
    const { url, seen } = await startHttpPlatform((_request, response) => void response.end('fine'));
    expect(await get({}, url)).toBe(200);
    expect(seen).toHaveLength(1);
  });

  it('goes through the proxy of the scheme', async () => {
    const proxy = await startProxy();
    const { url, seen } = await startHttpPlatform((_request, response) => void response.end('fine'));
    expect(await get({ httpProxy: proxy.url }, url)).toBe(200);
    expect(proxy.asked).toEqual([`CONNECT ${url.host}`]);
    expect(seen).toMatchObject([{ method: 'GET', url: '/x', headers: { host: url.host } }]);
    // A tunnel to the platform, which never sees that there is a proxy.
    expect(seen[0]?.headers).not.toHaveProperty('proxy-connection');
  });

  it('shows the proxy its own credentials, and nobody else', async () => {
    const proxy = await startProxy();
    const { url, seen } = await startHttpPlatform((_request, response) => void response.end('fine'));
    const address = new URL(proxy.url);
    Object.assign(address, { username: 'me', password: 'pass' });
    await get({ httpProxy: address.href }, url);
    expect(proxy.credentials).toEqual([`Basic ${Buffer.from('me:pass').toString('base64')}`]);
    expect(JSON.stringify(seen)).not.toContain('Basic');
  });

  it.each([
    ['127.0.0.1', true],
    ['other.example,127.0.0.1', true],
    ['other.example 127.0.0.1', true],
    ['*', true],
    ['other.example', false],
    ['127.0.0.1:1', false],
    ['', false],
  ])('with NO_PROXY %j goes past the proxy: %s', async (noProxy, past) => {
    const proxy = await startProxy();
    const { url } = await startHttpPlatform((_request, response) => void response.end('fine'));
    await get({ httpProxy: proxy.url, noProxy }, url);
    expect(proxy.asked).toHaveLength(past ? 0 : 1);
  });

  it('leaves the proxy of another scheme alone', async () => {
    const proxy = await startProxy();
    const { url, seen } = await startHttpPlatform((_request, response) => void response.end('fine'));
    expect(await get({ httpsProxy: proxy.url }, url)).toBe(200);
    expect([proxy.asked.length, seen.length]).toEqual([0, 1]);
  });

  it('reads nothing from the environment', async () => {
    const proxy = await startProxy();
    const { url, seen } = await startHttpPlatform((_request, response) => void response.end('fine'));
    for (const name of ['HTTP_PROXY', 'http_proxy']) vi.stubEnv(name, proxy.url);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await get({}, url)).toBe(200);
    expect(await get({ httpsProxy: proxy.url }, url)).toBe(200);
    expect([proxy.asked.length, seen.length]).toEqual([0, 2]);
    for (const name of ['NO_PROXY', 'no_proxy']) vi.stubEnv(name, '*');
    expect(await get({ httpProxy: proxy.url }, url)).toBe(200);
    expect(proxy.asked).toHaveLength(1);
  });

  it('fails when the proxy refuses, and does not go round it', async () => {
    const proxy = await startProxy('refuse');
    const { url, seen } = await startHttpPlatform((_request, response) => void response.end('fine'));
    await expect(get({ httpProxy: proxy.url }, url)).rejects.toThrow('407');
    expect(seen).toEqual([]);
  });

  it('follows no redirect', async () => {
    const target = await startHttpPlatform((_request, response) => void response.end('fine'));
    const { url } = await startHttpPlatform(
      (_request, response) => void response.writeHead(302, { location: target.url.href }).end(),
    );
    expect(await get({}, url)).toBe(302);
    expect(target.seen).toEqual([]);
  });

  it('has no more connections than it may', async () => {
    const { url, connections } = await startHttpPlatform((_request, response) => {
      setTimeout(() => response.end('fine'), 20);
    });
    const agent = createAgent({}, 3);
    onTestFinished(() => agent.destroy());
    let most = 0;
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const { body } = await agent.request({ origin: url.origin, path: '/', method: 'GET' });
        most = Math.max(most, connections.size);
        await body.dump();
      }),
    );
    expect(most).toBe(3);
  });
});
