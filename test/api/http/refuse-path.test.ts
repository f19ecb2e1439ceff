import { describe, expect, it } from 'vitest';
import { exchange, head, readAnswers } from '../../support/raw-socket.js';
import { type Listening, listening } from './listening.js';

const PAGE = 'https://reports.example';

/** What a request for a path in another spelling is answered with. */
async function refused(server: Listening, method: string, headers: readonly string[] = [], body = '') {
  const line = `${method} /%6fk?secret=1 HTTP/1.1`;
  const text = await exchange(server.url, head(line, ['host: a', 'connection: close', ...headers], body));
  const [answer] = readAnswers(text);
  if (answer === undefined) throw new Error(`no answer in ${JSON.stringify(text)}`);
  const headerOf = (name: string) => new RegExp(`^${name}: (.*?)\r?$`, 'im').exec(answer.head)?.[1];
  return { ...answer, headerOf };
}

describe('a path that the gate refuses', () => {
  it('is answered with a whole problem document, and the headers of any other', async () => {
    const server = await listening();
    const answer = await refused(server, 'GET');
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body)).toEqual({
      type: '/docs/errors/invalid_path',
      title: 'Invalid path',
      status: 400,
      detail: 'The path is not in its plain form: it is percent-encoded, which no path is here.',
      help: 'Use segments of A-Z a-z 0-9 . _ ~ - only, none empty, no percent-encoding, no trailing slash, /api/v1/report in lower case.',
      code: 'invalid_path',
      requestId: answer.headerOf('x-request-id'),
    });
    expect(answer.headerOf('content-length')).toBe(String(Buffer.byteLength(answer.body)));
    expect(answer.headerOf('content-type')).toBe('application/problem+json; charset=utf-8');
    expect(answer.headerOf('cache-control')).toBe('no-store');
    expect(answer.headerOf('vary')).toBe('accept, accept-encoding, authorization, x-api-key');
  });

  it('has its line in the log, without its query, and is counted', async () => {
    const server = await listening();
    await refused(server, 'PUT', ['content-length: 2'], '{}');
    await expect.poll(() => server.done).toEqual(['PUT 400']);
    const lines = server.log.filter(({ msg }) => msg === 'request');
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

  it.each(['GET', 'POST', 'OPTIONS', 'TRACE', 'PURGE'])('is refused to %s alike', async (method) => {
    expect((await refused(await listening(), method)).status).toBe(400);
  });
});

describe('a page of another origin', () => {
  it('that may ask can read why its path was refused', async () => {
    const server = await listening({ corsOrigins: [PAGE] });
    const asks = [`origin: ${PAGE}`, 'access-control-request-method: GET'];
    const preflight = await refused(server, 'OPTIONS', [
      ...asks,
      'access-control-request-headers: x-api-key',
    ]);
    expect([preflight.status, preflight.body]).toEqual([204, '']);
    expect(preflight.headerOf('access-control-allow-origin')).toBe(PAGE);
    expect(preflight.headerOf('access-control-allow-headers')).toBe('x-api-key');
    expect(preflight.headerOf('access-control-allow-methods')).toContain('DELETE');
    const answer = await refused(server, 'GET', [`origin: ${PAGE}`]);
    expect(answer.status).toBe(400);
    expect(answer.headerOf('access-control-allow-origin')).toBe(PAGE);
    const exposed = answer.headerOf('access-control-expose-headers')?.split(', ');
    expect(exposed).toEqual(
      expect.arrayContaining(['x-request-id', 'report-revision', 'content-disposition']),
    );
    expect(answer.headerOf('vary')).toMatch(/, origin$/);
  });

  it.each<[string, string[]]>([
    ['that is not named', [PAGE]],
    ['where none is named', []],
  ])('%s is told nothing', async (_what, corsOrigins) => {
    const server = await listening({ corsOrigins });
    const asks = ['origin: https://evil.example', 'access-control-request-method: GET'];
    for (const answer of [await refused(server, 'OPTIONS', asks), await refused(server, 'GET', asks)]) {
      expect(answer.status).toBe(400);
      expect(answer.headerOf('access-control-allow-origin')).toBeUndefined();
    }
  });
});
