/** Content codings and conditional requests on a real connection, where a client tidies nothing. */
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { listenGateway } from '../support/listen-gateway.js';
import { exchange, head } from '../support/raw-socket.js';
import { withGateway } from '../support/start-gateway.js';

const REPORT = '/api/v1/report/campaigns/get';
const QUERY = `${REPORT}?advertiserId=1&byDate=1&_period=yesterday`;

async function open() {
  const gateway = await withGateway({ config: { cache: { compressMinBytes: 0 } } });
  const [key, url] = [await gateway.addTeam(), await listenGateway(gateway)];
  const ask = async (method: string, headers: readonly string[]) => {
    const text = await exchange(
      url,
      head(`${method} ${QUERY} HTTP/1.1`, ['host: a', `x-api-key: ${key}`, 'connection: close', ...headers]),
    );
    const top = text.slice(0, text.indexOf('\r\n\r\n'));
    return {
      status: Number(/ (\d+) /.exec(top)?.[1]),
      head: top,
      etag: /^etag: (.*)$/im.exec(top)?.[1] ?? '',
      coding: /^content-encoding: (.*)$/im.exec(top)?.[1],
      body: text.slice(top.length + 4),
    };
  };
  return { gateway, ask };
}

describe('a 304', () => {
  it('has no length of a body, whether it was asked for by GET or HEAD', async () => {
    const { ask } = await open();
    const { etag } = await ask('GET', []);
    for (const method of ['GET', 'HEAD']) {
      const { status, head: top } = await ask(method, [`if-none-match: ${etag}`]);
      expect(status).toBe(304);
      expect(top).not.toMatch(/content-length|transfer-encoding/i);
    }
    expect((await ask('HEAD', [])).head).toMatch(/^content-length: [1-9]\d+$/im);
  });

  it('is given for the coding that the caller would get, and for no other', async () => {
    const { ask } = await open();
    const zipped = await ask('GET', ['accept-encoding: gzip']);
    expect([zipped.status, zipped.coding]).toEqual([200, 'gzip']);
    expect((await ask('GET', ['accept-encoding: gzip', `if-none-match: ${zipped.etag}`])).status).toBe(304);
    for (const accepted of [[], ['accept-encoding: br']]) {
      const other = await ask('GET', [...accepted, `if-none-match: ${zipped.etag}`]);
      expect(other.status).toBe(200);
      expect(other.etag).not.toBe(zipped.etag);
    }
  });
});

it('a small body is compressed for a caller who wants no plain one', async () => {
  const gateway = await withGateway({ config: { cache: { compressMinBytes: 1_000_000 } } });
  const key = await gateway.addTeam();
  const ask = (accepted: string) => gateway.call(QUERY, { key, headers: { 'accept-encoding': accepted } });
  // Twice: what one of them left in the cache is not for the other.
  for (let turn = 0; turn < 2; turn++) {
    expect((await ask('gzip')).headers['content-encoding']).toBeUndefined();
    for (const accepted of ['gzip, identity;q=0', 'gzip, *;q=0']) {
      const reply = await ask(accepted);
      expect(reply.headers['content-encoding']).toBe('gzip');
      expect(JSON.parse(gunzipSync(reply.body).toString())).toHaveProperty('data');
    }
    // Nothing fits: plain is better than none.
    expect((await ask('identity;q=0')).headers['content-encoding']).toBeUndefined();
  }
});
