/** The HTTP server of both planes, byte for byte: problems, what the framework refuses, paths that the gate refuses, pages of other origins. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { request } from 'undici';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CATALOGUE } from '../../../src/errors/catalogue.js';
import { type ErrorCode, GatewayError } from '../../../src/errors.js';
import { type Problem, toProblem } from '../../../src/lib/http/problem.js';
import { exchange, head, readAnswers } from '../../support/raw-socket.js';
import type { LogLine } from '../../support/start-gateway.js';
import { waitFor } from '../../support/wait-for.js';
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
      help: 'Wait for 3 s, and send fewer requests at once.',
      code: 'overloaded',
      requestId: headers['x-request-id'],
    });
    expect(headers['x-request-id']).not.toBe('mine');
  });

  it.each(
    (Object.keys(CATALOGUE) as ErrorCode[]).filter((code) => /\{(wait|again)\}/.test(CATALOGUE[code].remedy)),
  )('%s says how long to wait, where that is known', (code) => {
    const helpOf = (options = {}) => toProblem(new GatewayError(code, options), 'r').help;
    expect(helpOf({ retryAfterS: 90 })).toMatch(/^(Wait for|Repeat after) 1 min 30 s\b/);
    expect(helpOf()).toMatch(/^(Wait for the seconds in retry-after|Try again later)\b/);
  });

  it('keeps to the log what is not for the caller', async () => {
    const server = await listening();
    const refused = await ask(server, '/refused');
    const broken = await ask(server, '/broken');
    expect(broken.status).toBe(500);
    expect(broken.problem()).toMatchObject({
      code: 'internal_error',
      detail: 'The gateway failed; the request is not at fault.',
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
/** One request on a connection of its own, byte for byte. */
async function raw(server: Listening, line: string, headers: readonly string[] = [], body = '') {
  const bytes = head(line, ['host: gateway.example', 'connection: close', ...headers], body);
  const text = await exchange(server.url, bytes);
  const [answer] = readAnswers(text);
  if (answer === undefined) throw new Error(`no answer in ${JSON.stringify(text)}`);
  return {
    ...answer,
    headerOf: (name: string) => new RegExp(`^${name}: (.*?)\r?$`, 'im').exec(answer.head)?.[1],
    problem: () => JSON.parse(answer.body) as Problem,
  };
}

describe('what the framework refuses', () => {
  const [GET, POST] = ['GET /ok HTTP/1.1', 'POST /json HTTP/1.1'];
  const [JSON_TYPE, CSV_TYPE] = ['content-type: application/json', 'content-type: text/csv'];
  const [CHUNKED, NO_CHUNKS] = ['transfer-encoding: chunked', '0\r\n\r\n'];
  const LARGE = 'x'.repeat(101);
  const LARGE_CHUNK = `65\r\n${LARGE}\r\n${NO_CHUNKS}`;
  const lengthOf = (bytes: number) => `content-length: ${bytes}`;

  it.each<[what: string, line: string, headers: string[], body: string, outcome: string]>([
    ['a body that is too large', POST, [JSON_TYPE, lengthOf(101)], LARGE, '413 body_too_large'],
    ['a chunked body that is too large', POST, [JSON_TYPE, CHUNKED], LARGE_CHUNK, '413 body_too_large'],
    ['a long target', `GET /ok?${'x'.repeat(1000)} HTTP/1.1`, [], '', '414 uri_too_long'],
    ['a body of another type', POST, [CSV_TYPE, lengthOf(1)], 'x', '415 unsupported_media_type'],
    ['a body without a type', POST, [lengthOf(1)], 'x', '415 unsupported_media_type'],
    ['a head that is too large', GET, [`x-large: ${'x'.repeat(5000)}`], '', '431 headers_too_large'],
    ['an address that is none', 'GET /nothing HTTP/1.1', [], '', '404 not_found'],
    ['a method without a route', 'DELETE /ok HTTP/1.1', [], '', '405 method_not_allowed'],
    ['a path in another spelling', 'GET /%6fk HTTP/1.1', [], '', '400 invalid_path'],
    ['a target in absolute form', 'GET http://gateway.example/ok HTTP/1.1', [], '', '400 invalid_path'],
    [
      'such a path, whatever its body is',
      'POST /%6fk HTTP/1.1',
      [CSV_TYPE, lengthOf(101)],
      LARGE,
      '400 invalid_path',
    ],
    ['a GET with a body', GET, [lengthOf(2)], '{}', '400 invalid_request'],
    ['a GET with a chunked body', GET, [CHUNKED], NO_CHUNKS, '400 invalid_request'],
    ['a HEAD with a body', 'HEAD /ok HTTP/1.1', [lengthOf(2)], '{}', '400'],
    ['two hosts', GET, ['host: other.example'], '', '400 invalid_request'],
    ['two lengths', POST, [lengthOf(1), lengthOf(2)], 'xx', '400 invalid_request'],
    ['a length and chunks', POST, [lengthOf(5), CHUNKED], NO_CHUNKS, '400 invalid_request'],
    ['a space before the colon', POST, ['transfer-encoding : chunked'], NO_CHUNKS, '400 invalid_request'],
    ['a folded line', GET, ['x-a: 1\r\n x-b: 2'], '', '400 invalid_request'],
    ['a bare line feed', 'GET /ok HTTP/1.1\nx-a: 1', [], '', '400 invalid_request'],
    ['no HTTP', 'HELLO', [], '', '400 invalid_request'],
    ['another protocol', 'GET /ok HTTP/7.0', [], '', '400 invalid_request'],
  ])('%s', async (_what, line, headers, body, outcome) => {
    const answer = await raw(await listening(), line, headers, body);
    const [status, code] = outcome.split(' ');
    expect(answer.status).toBe(Number(status));
    expect(answer.headerOf('content-type')).toBe('application/problem+json; charset=utf-8');
    // RFC 9110, section 6.6.1, and RFC 6585, section 5: also where no request came about.
    expect(answer.headerOf('date')).toMatch(/^\w{3}, .* GMT$/);
    expect(answer.headerOf('cache-control')).toBe('no-store');
    if (code === undefined) return;
    const { requestId, ...problem } = answer.problem();
    expect(problem).toMatchObject({ code, status: Number(status), type: `/docs/errors/${code}` });
    expect(answer.headerOf('x-request-id')).toBe(requestId);
  });

  it('says of a tunnel that it takes no method', async () => {
    const { status, head: answered } = await raw(await listening(), 'CONNECT platform:443 HTTP/1.1');
    expect([status, /^allow: *$/im.test(answered)]).toEqual([405, true]);
  });

  it('lets a GET pass that says its body is empty', async () => {
    expect((await raw(await listening(), GET as string, ['content-length: 0'])).status).toBe(200);
  });

  it('closes a connection with a broken request, though the caller keeps its own side open', async () => {
    const server = await listening();
    const { hostname, port } = new URL(server.url);
    const closed = await new Promise<string>((resolve, reject) => {
      let text = '';
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true }, () =>
        socket.write('HELLO\r\n\r\n'),
      );
      socket.on('data', (chunk) => (text += chunk));
      socket.on('error', reject);
      // Half open on our side: only when the server lets go of the whole connection does a write fail.
      socket.on('end', () => {
        const timer = setInterval(() => socket.write('x'), 20);
        socket.removeAllListeners('error');
        socket.on('error', () => {
          clearInterval(timer);
          resolve(text);
        });
      });
    });
    expect(readAnswers(closed)[0]?.status).toBe(400);
  });

  it('answers a broken request after the answer under way, which comes whole', async () => {
    const server = await listening();
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1').setEncoding('latin1');
    onTestFinished(() => void socket.destroy());
    let text = '';
    socket.on('data', (chunk: string) => (text += chunk));
    const closed = once(socket, 'close');
    socket.write(head('GET /stream HTTP/1.1', ['host: a']));
    await waitFor('its first piece', () => text.includes('the first piece'));
    const isBroken = once(server.server, 'clientError');
    socket.write('HELLO\r\n\r\n');
    await isBroken;
    expect(server.done).toEqual([]);
    server.streams[0]?.end(', the last piece');
    await closed;
    const [whole, refusal] = text.split(/(?<=\r\n0\r\n\r\n)/);
    expect(whole).toContain('the last piece');
    expect(readAnswers(refusal ?? '')).toMatchObject([{ status: 400 }]);
    expect(server.done).toEqual(['GET 200', 'broken 400']);
  });

  it.each<[string, string, number]>([
    ['two hosts', head('GET /ok HTTP/1.1', ['host: a', 'host: b']), 400],
    [
      'HTTP/1.0 with chunks',
      head('POST /json HTTP/1.0', ['connection: keep-alive', CHUNKED], NO_CHUNKS),
      400,
    ],
    ['an expectation nobody knows', head('GET /ok HTTP/1.1', ['host: a', 'expect: x']), 417],
  ])(
    '%s is a problem, and the connection is closed before a second request',
    async (_name, bytes, status) => {
      const second = head('GET /ok HTTP/1.1', ['host: gateway']);
      const text = await exchange((await listening()).url, bytes + second, { patienceMs: 3000 });
      const answers = readAnswers(text);
      expect(answers.map((answer) => answer.status)).toEqual([status]);
      expect(answers[0]?.head).toMatch(/^connection: close$/im);
      expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ status, code: 'invalid_request' });
    },
  );
});

it('faults are listed up to twenty, with their number, and clipped', () => {
  const errors = Array.from({ length: 500 }, (_, index) => ({
    param: `p${index}`.repeat(500),
    message: 'bad',
  }));
  const problem = toProblem(new GatewayError('invalid_query', { errors }), 'r');
  expect([problem.errors?.length, problem.errorCount]).toEqual([20, 500]);
  expect(JSON.stringify(problem).length).toBeLessThan(10_000);
  const few = toProblem(new GatewayError('invalid_query', { errors: errors.slice(0, 20) }), 'r');
  expect(few).not.toHaveProperty('errorCount');
});

describe('a path that the gate refuses', () => {
  const refused = (server: Listening, method: string) =>
    raw(
      server,
      `${method} /%6fk?secret=1 HTTP/1.1`,
      method === 'PUT' ? ['content-length: 2'] : [],
      method === 'PUT' ? '{}' : '',
    );

  it('is answered with a whole problem document, and the headers of any other', async () => {
    const answer = await refused(await listening(), 'GET');
    expect(answer.problem()).toEqual({
      type: '/docs/errors/invalid_path',
      title: 'Invalid path',
      status: 400,
      detail: 'The path is not in canonical form: it is percent-encoded.',
      help: 'Use non-empty segments of A-Z a-z 0-9 . _ ~ - only, no percent-encoding, no trailing slash, /api/v1/report in lower case.',
      code: 'invalid_path',
      requestId: answer.headerOf('x-request-id'),
    });
    expect(answer.headerOf('content-length')).toBe(String(Buffer.byteLength(answer.body)));
    expect(answer.headerOf('vary')).toBe('accept, accept-encoding, authorization, x-api-key');
  });

  it('has its line in the log, without its query, and is counted', async () => {
    const server = await listening();
    await refused(server, 'PUT');
    await expect.poll(() => server.done).toEqual(['PUT 400']);
    const lines = await requestLines(server, 1);
    expect(lines).toMatchObject([
      { method: 'PUT', path: '/%6fk', status: 400, outcome: 'error', code: 'invalid_path', team: null },
    ]);
    expect(lines[0]?.reqId).toMatch(/^[0-9a-f-]{36}$/);
    expect(JSON.stringify(server.log)).not.toContain('secret');
  });

  it('leaves the connection to the next request, unless much is still to come of its body', async () => {
    const server = await listening();
    const next = head('GET /ok HTTP/1.1', ['host: a', 'connection: close']);
    const small = head('POST /%6fk HTTP/1.1', ['host: a', 'content-length: 2'], '{}');
    const large = head('POST /%6fk HTTP/1.1', ['host: a', 'content-length: 100000'], 'x'.repeat(10));
    const statuses = async (bytes: string) =>
      readAnswers(await exchange(server.url, bytes)).map(({ status }) => status);
    expect(await statuses(small + next)).toEqual([400, 200]);
    expect(await statuses(large)).toEqual([400]);
  });

  it('is refused to every method alike', async () => {
    const server = await listening();
    for (const method of ['GET', 'POST', 'OPTIONS', 'TRACE', 'PURGE'])
      expect([method, (await refused(server, method)).status]).toEqual([method, 400]);
  });
});

/** Pages of other origins: whatever they are told, they can read. */
describe('a page', () => {
  const PAGE = 'https://app.example';
  const FROM_PAGE = `origin: ${PAGE}`;
  const PREFLIGHT = ['access-control-request-method: PUT', 'access-control-request-headers: x-api-key'];
  const PLACES = {
    'an unknown address': ['/nothing', 404],
    'a path that the gate refuses': ['/%6fk', 400],
  } as const;

  describe.each(Object.entries(PLACES))('that asks for %s', (_what, [path, refusal]) => {
    describe.each([[[PAGE], PAGE] as const, [['*'], '*'] as const])(
      'where pages of %s may ask',
      (corsOrigins, allowed) => {
        it.each(['GET', 'OPTIONS'])('by %s can read why it is refused', async (method) => {
          const { status, headerOf } = await raw(
            await listening({ corsOrigins }),
            `${method} ${path} HTTP/1.1`,
            [FROM_PAGE],
          );
          expect([status, headerOf('content-type')]).toEqual([
            refusal,
            'application/problem+json; charset=utf-8',
          ]);
          expect(headerOf('access-control-allow-origin')).toBe(allowed);
          expect(headerOf('access-control-expose-headers')?.split(', ')).toEqual(
            expect.arrayContaining(['x-request-id', 'report-revision', 'content-disposition']),
          );
          expect(headerOf('vary')).toMatch(/, origin$/);
        });

        it('ahead is let on to its request', async () => {
          const server = await listening({ corsOrigins });
          const { status, body, headerOf } = await raw(server, `OPTIONS ${path} HTTP/1.1`, [
            FROM_PAGE,
            ...PREFLIGHT,
          ]);
          expect([status, body]).toEqual([204, '']);
          expect(headerOf('access-control-allow-origin')).toBe(allowed);
          expect(headerOf('access-control-allow-methods')?.split(', ')).toEqual(
            expect.arrayContaining(['PUT', 'DELETE']),
          );
          expect(headerOf('access-control-allow-headers')).toBe('x-api-key');
          expect(headerOf('vary')).toBe('origin, access-control-request-headers');
        });

        it('without an origin is answered as ever', async () => {
          const { status } = await raw(
            await listening({ corsOrigins }),
            `OPTIONS ${path} HTTP/1.1`,
            PREFLIGHT,
          );
          expect(status).toBe(refusal);
        });
      },
    );

    it.each<[string, string[]]>([
      ['that is not named', [PAGE]],
      ['where none is named', []],
    ])('of an origin %s is told nothing', async (_which, corsOrigins) => {
      const server = await listening({ corsOrigins });
      for (const method of ['GET', 'OPTIONS']) {
        const asks = ['origin: https://evil.example', ...PREFLIGHT];
        const { status, headerOf } = await raw(server, `${method} ${path} HTTP/1.1`, asks);
        expect([status, headerOf('access-control-allow-origin')]).toEqual([refusal, undefined]);
      }
    });
  });
});
