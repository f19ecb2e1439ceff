import { request } from 'undici';
import { describe, expect, it, vi } from 'vitest';
import type { Problem } from '../../../src/errors.js';
import { exchange } from '../../support/raw-socket.js';
import type { LogLine } from '../../support/start-gateway.js';
import { type Listening, listening } from './listening.js';

/** The log lines of requests, once there are so many. */
function requestLines(server: Listening, count: number): Promise<readonly LogLine[]> {
  return vi.waitFor(() => {
    const lines = server.log.filter(({ msg }) => msg === 'request');
    expect(lines).toHaveLength(count);
    return lines;
  });
}

async function ask(server: Listening, path: string, options: Parameters<typeof request>[1] = {}) {
  const response = await request(`${server.url}${path}`, options);
  const text = await response.body.text();
  return {
    status: response.statusCode,
    headers: response.headers,
    text,
    problem: () => JSON.parse(text) as Problem,
  };
}

describe('a problem', () => {
  it('has the members of RFC 9457, the code, and the id of the request', async () => {
    const server = await listening();
    const { status, headers, problem } = await ask(server, '/refused', {
      headers: { 'x-request-id': 'mine' },
    });
    expect(status).toBe(503);
    expect(headers).toMatchObject({
      'content-type': 'application/problem+json; charset=utf-8',
      'cache-control': 'no-store',
      vary: 'accept, accept-encoding, authorization, x-api-key',
      'retry-after': '3',
      'x-more': '1',
    });
    expect(problem()).toEqual({
      type: '/docs/errors/overloaded',
      title: 'Overloaded',
      status: 503,
      detail: 'for the caller',
      help: 'Wait for as many seconds as retry-after says, and send fewer at once.',
      code: 'overloaded',
      requestId: headers['x-request-id'],
    });
    expect(headers['x-request-id']).not.toBe('mine');
  });

  it('keeps to the log what is not for the caller', async () => {
    const server = await listening();
    const refused = await ask(server, '/refused');
    const broken = await ask(server, '/broken');
    expect(broken.status).toBe(500);
    expect(broken.problem()).toMatchObject({
      code: 'internal_error',
      detail: 'The gateway failed. It is not your fault.',
    });
    expect(refused.text + broken.text).not.toMatch(/for the log|the inside|server\.test/);
    const lines = await requestLines(server, 2);
    const causeOf = ({ cause }: LogLine) => (typeof cause === 'object' ? (cause as Error).message : cause);
    expect(lines.map((line) => [line.level, line.code, causeOf(line)])).toEqual([
      ['warn', 'overloaded', 'for the log'],
      ['warn', 'internal_error', 'a detail of the inside'],
    ]);
  });

  it('has no body for HEAD', async () => {
    const server = await listening();
    const { status, text, headers } = await ask(server, '/refused', { method: 'HEAD' });
    expect([status, text]).toEqual([503, '']);
    expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
  });

  it('names each fault of a body by its place', async () => {
    const server = await listening();
    const send = (body: unknown) =>
      ask(server, '/json', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const missing = await send({ kind: 'c', extra: 1, deep: { n: 'x' } });
    expect(missing.status).toBe(400);
    expect(missing.problem().code).toBe('invalid_body');
    expect(
      missing
        .problem()
        .errors?.map(({ param }) => param)
        .toSorted(),
    ).toEqual(['deep.n', 'extra', 'id', 'kind']);
    expect(missing.problem().errors?.find(({ param }) => param === 'kind')?.message).toBe(
      'must be one of a, b',
    );
    expect((await send({ id: 'xyz' })).status).toBe(200);
  });

  it('has the status of its plane when a body does not fit', async () => {
    const server = await listening({ problems: { invalidBodyStatus: 422 } });
    for (const body of ['{}', '{', '']) {
      const answer = await ask(server, '/json', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      expect([answer.status, answer.problem().code]).toEqual([422, 'invalid_body']);
    }
  });
});

describe('every request', () => {
  it('has one log line, and is counted once', async () => {
    const server = await listening();
    await ask(server, '/ok?secret=1');
    await ask(server, '/nothing/at/all');
    await ask(server, '/%6fk');
    await ask(server, '/broken');
    const lines = await requestLines(server, 4);
    expect(lines.map(({ level, method, path, status }) => [level, method, path, status])).toEqual([
      ['info', 'GET', '/ok', 200],
      ['info', 'GET', '/nothing/at/all', 404],
      ['info', 'GET', '/%6fk', 400],
      ['warn', 'GET', '/broken', 500],
    ]);
    expect(server.done).toEqual(['GET 200', 'GET 404', 'GET 400', 'GET 500']);
    expect(JSON.stringify(server.log)).not.toContain('secret');
  });

  it('that cannot be parsed has one too', async () => {
    const server = await listening();
    await exchange(server.url, 'BOGUS / HTTP/1.1\r\nhost: x\r\n\r\n');
    await exchange(server.url, `GET /ok HTTP/1.1\r\nhost: x\r\nlong: ${'x'.repeat(5000)}\r\n\r\n`);
    const lines = await requestLines(server, 2);
    expect(lines.map(({ level, path, status, code }) => [level, path, status, code])).toEqual([
      ['info', null, 400, 'invalid_request'],
      ['info', null, 431, 'headers_too_large'],
    ]);
    expect(server.done).toEqual(['broken 400', 'broken 431']);
  });

  it('has the address of its socket, unless a trusted proxy says another', async () => {
    const forwarded = { headers: { 'x-forwarded-for': '192.0.2.1, 198.51.100.7' } };
    const ip = async (trustedProxies: string[]) =>
      JSON.parse((await ask(await listening({ trustedProxies }), '/ok', forwarded)).text).ip;
    expect(await ip([])).toBe('127.0.0.1');
    expect(await ip(['10.0.0.0/8'])).toBe('127.0.0.1');
    expect(await ip(['127.0.0.1'])).toBe('198.51.100.7');
    expect(await ip(['127.0.0.0/8', '198.51.100.0/24'])).toBe('192.0.2.1');
  });
});
