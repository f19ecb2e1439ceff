/** The environment's proxy between the gateway and the platform. */
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { startGateway, startPlatform } from '../support/processes.js';

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
