import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { GatewayError, type Problem, toProblem } from '../../../src/errors.js';
import { exchange, head, readAnswers } from '../../support/raw-socket.js';
import { type Listening, listening } from './listening.js';

/** One request on a connection of its own, byte for byte. */
async function raw(server: Listening, line: string, headers: string[] = [], body = '') {
  const text = await exchange(
    server.url,
    head(line, ['host: gateway.example', 'connection: close', ...headers], body),
  );
  const [answer] = readAnswers(text);
  if (answer === undefined) throw new Error(`no answer in ${JSON.stringify(text)}`);
  return { ...answer, problem: () => JSON.parse(answer.body) as Problem };
}

describe('what the framework refuses', () => {
  it.each<[string, string, string[], string, number, string]>([
    [
      'a body that is too large',
      'POST /json HTTP/1.1',
      ['content-type: application/json', 'content-length: 101'],
      'x'.repeat(101),
      413,
      'body_too_large',
    ],
    [
      'a chunked body that is too large',
      'POST /json HTTP/1.1',
      ['content-type: application/json', 'transfer-encoding: chunked'],
      `65\r\n${'x'.repeat(101)}\r\n0\r\n\r\n`,
      413,
      'body_too_large',
    ],
    ['a long target', `GET /ok?${'x'.repeat(1000)} HTTP/1.1`, [], '', 414, 'uri_too_long'],
    [
      'a body of another type',
      'POST /json HTTP/1.1',
      ['content-type: text/csv', 'content-length: 1'],
      'x',
      415,
      'unsupported_media_type',
    ],
    [
      'a body without a type',
      'POST /json HTTP/1.1',
      ['content-length: 1'],
      'x',
      415,
      'unsupported_media_type',
    ],
    [
      'a head that is too large',
      'GET /ok HTTP/1.1',
      [`x-large: ${'x'.repeat(5000)}`],
      '',
      431,
      'headers_too_large',
    ],
    ['an address that is none', 'GET /nothing HTTP/1.1', [], '', 404, 'not_found'],
    ['a method without a route', 'DELETE /ok HTTP/1.1', [], '', 405, 'method_not_allowed'],
    ['a path in another spelling', 'GET /%6fk HTTP/1.1', [], '', 400, 'invalid_path'],
    ['a target in absolute form', 'GET http://gateway.example/ok HTTP/1.1', [], '', 400, 'invalid_path'],
    [
      'a path in another spelling, whatever its body is',
      'POST /%6fk HTTP/1.1',
      ['content-type: text/csv', 'content-length: 1000'],
      'x'.repeat(1000),
      400,
      'invalid_path',
    ],
    ['a GET with a body', 'GET /ok HTTP/1.1', ['content-length: 2'], '{}', 400, 'invalid_request'],
    [
      'a GET with a chunked body',
      'GET /ok HTTP/1.1',
      ['transfer-encoding: chunked'],
      '0\r\n\r\n',
      400,
      'invalid_request',
    ],
    ['a HEAD with a body', 'HEAD /ok HTTP/1.1', ['content-length: 2'], '{}', 400, ''],
    ['two hosts', 'GET /ok HTTP/1.1', ['host: other.example'], '', 400, 'invalid_request'],
    [
      'two lengths',
      'POST /json HTTP/1.1',
      ['content-length: 1', 'content-length: 2'],
      'xx',
      400,
      'invalid_request',
    ],
    [
      'a length and chunks',
      'POST /json HTTP/1.1',
      ['content-length: 5', 'transfer-encoding: chunked'],
      '0\r\n\r\n',
      400,
      'invalid_request',
    ],
    [
      'a space before the colon',
      'POST /json HTTP/1.1',
      ['transfer-encoding : chunked'],
      '0\r\n\r\n',
      400,
      'invalid_request',
    ],
    ['a folded line', 'GET /ok HTTP/1.1', ['x-a: 1\r\n x-b: 2'], '', 400, 'invalid_request'],
    ['a bare line feed', 'GET /ok HTTP/1.1\nx-a: 1', [], '', 400, 'invalid_request'],
    ['no HTTP', 'HELLO', [], '', 400, 'invalid_request'],
    ['another protocol', 'GET /ok HTTP/7.0', [], '', 400, 'invalid_request'],
  ])('%s', async (_what, line, headers, body, status, code) => {
    const server = await listening();
    const answer = await raw(server, line, headers, body);
    expect(answer.status).toBe(status);
    expect(answer.head.toLowerCase()).toContain('content-type: application/problem+json; charset=utf-8');
    // RFC 9110, section 6.6.1, and RFC 6585, section 5: also where no request came about.
    expect(answer.head).toMatch(/^date: \w{3}, .* GMT$/im);
    expect(answer.head).toMatch(/^cache-control: no-store$/im);
    if (code !== '') {
      expect(answer.problem()).toMatchObject({ code, status, type: `/docs/errors/${code}` });
      expect(answer.head.toLowerCase()).toContain(`x-request-id: ${answer.problem().requestId}`);
    }
  });

  it('says of a tunnel that it takes no method', async () => {
    const server = await listening();
    const { status, head: answered } = await raw(server, 'CONNECT platform:443 HTTP/1.1');
    expect([status, /^allow: *$/im.test(answered)]).toEqual([405, true]);
  });

  it('lets a GET pass that says its body is empty', async () => {
    const server = await listening();
    expect((await raw(server, 'GET /ok HTTP/1.1', ['content-length: 0'])).status).toBe(200);
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

  it('cuts the connection, and answers nothing, when a broken request follows one whose answer is under way', async () => {
    const server = await listening();
    const text = await exchange(server.url, head('GET /stream HTTP/1.1', ['host: a']), {
      later: [{ afterMs: 200, bytes: 'HELLO\r\n\r\n' }],
    });
    expect(text).toContain('the first piece');
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(text).not.toContain('invalid_request');
  });
});

describe('what could be read in two ways', () => {
  const SECOND = head('GET /ok HTTP/1.1', ['host: gateway']);

  it.each<[string, string, number]>([
    ['two hosts', head('GET /ok HTTP/1.1', ['host: a', 'host: b']), 400],
    [
      'HTTP/1.0 with a transfer-encoding',
      head('POST /json HTTP/1.0', ['connection: keep-alive', 'transfer-encoding: chunked'], '0\r\n\r\n'),
      400,
    ],
    ['an expectation nobody knows', head('GET /ok HTTP/1.1', ['host: a', 'expect: x']), 417],
  ])(
    '%s is a problem, and the connection is closed before a second request',
    async (_name, bytes, status) => {
      const server = await listening();
      const answers = readAnswers(await exchange(server.url, bytes + SECOND, { patienceMs: 3000 }));
      expect(answers.map((answer) => answer.status)).toEqual([status]);
      expect(answers[0]?.head).toMatch(/^connection: close$/im);
      expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ status, code: 'invalid_request' });
    },
  );
});

describe('faults', () => {
  it('are listed up to twenty, with their number, and clipped', () => {
    const errors = Array.from({ length: 500 }, (_, index) => ({
      param: `p${index}`.repeat(500),
      message: 'bad',
    }));
    const problem = toProblem(new GatewayError('invalid_query', { errors }), 'r');
    expect([problem.errors?.length, problem.errorCount]).toEqual([20, 500]);
    expect(JSON.stringify(problem).length).toBeLessThan(10_000);
    expect(
      toProblem(new GatewayError('invalid_query', { errors: errors.slice(0, 20) }), 'r'),
    ).not.toHaveProperty('errorCount');
  });
});
