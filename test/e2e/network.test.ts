/** Between networks: an outbound proxy, reverse proxies in front, browsers of other origins. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { startGateway, startPlatform, tempFolder } from '../support/processes.js';

const QUERY = `${REPORT}?advertiserId=1&_period=yesterday`;

/** A forward proxy that documents whom it was asked for. */
async function startProxy(): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((incoming, response) => {
    asked.push(new URL(incoming.url ?? '').host);
    incoming.pipe(
      httpRequest(
        incoming.url ?? '',
        { method: incoming.method ?? 'GET', headers: incoming.headers },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        },
      ),
    );
  });
  server.on('connect', (incoming, socket, first) => {
    asked.push(incoming.url ?? '');
    const [host = '', port] = (incoming.url ?? '').split(':');
    const tunnel = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      tunnel.write(first);
      tunnel.pipe(socket).pipe(tunnel);
    });
    tunnel.on('error', () => socket.destroy());
    socket.on('error', () => tunnel.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

it('HTTP_PROXY leads to the platform, NO_PROXY past it', async () => {
  const [platform, proxy] = await Promise.all([startPlatform(), startProxy()]);
  const host = new URL(platform.url).host;
  const [through, past] = await Promise.all([
    startGateway({ ...platform.mintEnv, HTTP_PROXY: proxy.url }),
    startGateway({ ...platform.env, HTTP_PROXY: proxy.url, NO_PROXY: 'other.example,127.0.0.1' }),
  ]);
  const { key } = await newTeam(through, { id: 'through' });
  expect((await ask(through.data + QUERY, { key })).status).toBe(200);
  expect((await ask(`${through.data}/api/v1/campaign/999999999`, { key })).status).toBe(404);
  expect(new Set(proxy.asked)).toEqual(new Set([host]));
  const count = proxy.asked.length;
  const other = await newTeam(past, { id: 'past' });
  expect((await ask(past.data + QUERY, { key: other.key })).status).toBe(200);
  expect(proxy.asked).toHaveLength(count);
  expect((await simulatorOf(platform.url).calls()).map(({ path }) => path)).toEqual([
    '/oauth/token',
    REPORT,
    '/api/v1/campaign/999999999',
    REPORT,
  ]);
});

it('a proxy in front is believed only when it is named, and CORS is off unless an origin is', async () => {
  const platform = await startPlatform();
  const yaml = join(await tempFolder(), 'gateway.yaml');
  await writeFile(
    yaml,
    "server: { trustedProxies: ['127.0.0.1/32'], corsOrigins: ['https://reports.example'] }\n",
  );
  const [plain, fronted] = await Promise.all([
    startGateway(platform.env),
    startGateway({ ...platform.env, GATEWAY_CONFIG: yaml }),
  ]);
  const team = { id: 'inside', ipAllow: ['10.1.0.0/16'] };
  const [alone, behind] = [await newTeam(plain, team), await newTeam(fronted, team)];
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const status = async (data: string, key: string, address: string) =>
    (await ask(data + QUERY, { key, headers: from(address) })).status;
  expect(await status(plain.data, alone.key, '10.1.2.3')).toBe(403);
  expect(await status(fronted.data, behind.key, '10.1.2.3')).toBe(200);
  expect(await status(fronted.data, behind.key, '10.2.2.3')).toBe(403);
  // The nearest address that is no proxy of ours counts, whatever the caller wrote before it.
  expect(await status(fronted.data, behind.key, '10.1.2.3, 8.8.8.8')).toBe(403);
  expect(await status(fronted.data, behind.key, '8.8.8.8, 10.1.2.3')).toBe(200);

  const preflight = (data: string, origin: string) =>
    ask(data + QUERY, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'x-api-key',
      },
    });
  const allowed = await preflight(fronted.data, 'https://reports.example');
  expect(allowed.status).toBe(204);
  expect(allowed.headers['access-control-allow-origin']).toBe('https://reports.example');
  const foreign = await preflight(fronted.data, 'https://evil.example');
  expect(foreign.headers['access-control-allow-origin']).not.toBe('https://evil.example');
  expect(foreign.headers['access-control-allow-origin']).not.toBe('*');
  const off = await preflight(plain.data, 'https://reports.example');
  expect(off.headers['access-control-allow-origin']).toBeUndefined();
  const answer = await ask(fronted.data + QUERY, {
    key: behind.key,
    headers: { ...from('10.1.2.3'), origin: 'https://reports.example' },
  });
  expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([
    200,
    'https://reports.example',
  ]);
  // What a cache may not mix up, the answer still says.
  for (const name of ['accept', 'accept-encoding', 'authorization', 'x-api-key', 'origin']) {
    expect((answer.headers.vary ?? '').toLowerCase().split(/, */)).toContain(name);
  }
});
