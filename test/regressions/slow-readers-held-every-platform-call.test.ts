/** A caller who does not read its answer held a platform call for as long as it liked; eight of them held them all. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { listenGateway } from '../support/listen-gateway.js';
import { startRawPlatform } from '../support/raw-platform.js';
import { type GatewayOptions, gatewayAt } from '../support/start-gateway.js';

const MIB = 1_048_576;
const REPORT = '/api/v1/report/campaigns/get?advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-01&byDate=1';

/** A platform with reports, and bodies of as many MiB as the path says, of known length or not. */
async function open(options: GatewayOptions = {}) {
  const platform = await startRawPlatform((request, response) => {
    request.resume();
    const size = /\/(\d+)-mib(-chunked)?$/.exec(request.url ?? '');
    if (size === null) {
      response.setHeader('content-type', 'application/json');
      response.end('{"data":[{"date":"2026-11-01","spent":1}]}');
    } else {
      const bytes = Number(size[1]) * MIB;
      if (size[2] === undefined) response.setHeader('content-length', bytes);
      stream(response, bytes);
    }
  });
  const gateway = await gatewayAt(platform, options);
  return { platform, gateway, url: await listenGateway(gateway) };
}

function stream(response: ServerResponse, bytes: number): void {
  const entry = Buffer.alloc(Math.min(bytes, 65_536), 'x');
  if (bytes <= entry.length) response.end(entry);
  else if (response.write(entry)) setImmediate(() => stream(response, bytes - entry.length));
  else response.once('drain', () => stream(response, bytes - entry.length));
}

/** Asks, and reads nothing of the answer. */
async function askOnly(url: string, key: string, path: string, header = ''): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).pause();
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\nx-api-key: ${key}\r\n${header}\r\n`);
  return socket;
}

async function readAll(socket: Socket): Promise<number> {
  let size = 0;
  for await (const entry of socket as AsyncIterable<Buffer>) size += entry.length;
  return size;
}

it('leaves reports their calls, and other teams a place, however many read slowly', async () => {
  const { platform, gateway, url } = await open({ config: { platform: { timeoutMs: 8000 } } });
  const [slow, other] = [await gateway.addTeam(), await gateway.addTeam()];
  for (let n = 0; n < 12; n++) await askOnly(url, slow, '/api/v1/export/64-mib');
  // Of eight calls six are for streams, and one team does not get the last of them.
  await expect.poll(() => platform.requests.length).toBe(5);
  const report = await gateway.call(REPORT, { key: slow });
  expect([report.status, report.headers['cache-status']]).toEqual([
    200,
    expect.stringContaining('dsp-gateway; fwd=miss'),
  ]);
  expect((await gateway.call('/api/v1/campaign/1', { key: other })).status).toBe(200);
  const refused = await gateway.call('/api/v1/campaign/1', { key: slow });
  expect([refused.status, refused.json<{ code: string }>().code]).toEqual([503, 'overloaded']);
  expect(refused.headers['retry-after']).toBe('1');
  expect(gateway.services.streamPlaces.running).toBe(5);
});

it.each(['/api/v1/file/1-mib', '/api/v1/file/1-mib-chunked'])(
  'gives the call back when a small body waits for its caller: %s',
  async (path) => {
    const { platform, gateway, url } = await open();
    const key = await gateway.addTeam();
    const sockets: Socket[] = [];
    for (let n = 0; n < 8; n++) sockets.push(await askOnly(url, key, path, 'connection: close\r\n'));
    await expect.poll(() => platform.requests.length).toBe(8);
    const { budget, streamPlaces } = gateway.services;
    await expect.poll(() => [budget.running, streamPlaces.running]).toEqual([0, 0]);
    const bytes = await Promise.all(sockets.map((socket) => readAll(socket.resume())));
    for (const size of bytes) expect(size).toBeGreaterThan(MIB);
  },
);

it('cuts off a caller who reads nothing, and frees its call', async () => {
  const { gateway, url } = await open({ config: { server: { minReadOverSeconds: 1 } } });
  const key = await gateway.addTeam();
  const socket = await askOnly(url, key, '/api/v1/export/64-mib');
  await expect.poll(() => gateway.services.budget.running).toBe(1);
  await expect.poll(() => gateway.services.budget.running, { timeout: 10_000 }).toBe(0);
  expect(await readAll(socket).catch(() => 0)).toBeLessThan(64 * MIB);
});

it('does not take a caller who pauses for a platform that is silent', async () => {
  const { gateway, url } = await open({ config: { platform: { timeoutMs: 250 } } });
  const socket = await askOnly(url, await gateway.addTeam(), '/api/v1/export/64-mib');
  // Several times the longest silence.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  let size = 0;
  socket.on('data', (entry: Buffer) => (size += entry.length)).resume();
  await expect.poll(() => size, { timeout: 100_000 }).toBeGreaterThan(64 * MIB);
});
