/** A body cut off for its decoded size was reported as broken off by the platform, and asked for again. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { request } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { readBody } from '../../src/platform/read-body.js';

it.each([10_000, 100_000, 10_000_000])('%i bytes, packed small, are too large', async (size) => {
  const packed = gzipSync(Buffer.alloc(size));
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': packed.length }).end(packed);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { body } = await request(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await expect(readBody(body, 'gzip', 2048)).rejects.toMatchObject({ code: 'upstream_too_large' });
});
