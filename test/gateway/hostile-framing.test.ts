/**
 * Hostile bytes: framing that two readers could read two ways, and requests that never end. The platform sees nothing.
 */
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ask, newTeam, REPORT } from '../support/ask.js';
import { type OpenGateway, openGateway } from '../support/open-gateway.js';
import { exchange, head, type RawOptions, readAnswers } from '../support/raw-socket.js';

describe('over a socket', () => {
  let gateway: OpenGateway['gateway'];
  let sim: OpenGateway['sim'];
  let key: string;

  beforeAll(async () => {
    ({ gateway, sim } = await openGateway({ config: { server: { requestTimeoutSeconds: 1 } } }));
    ({ key } = await newTeam(gateway, { id: 'hostile' }));
  });

  const QUERY = 'advertiserId=1&_period=yesterday';
  const send = (bytes: string, options?: RawOptions) => exchange(gateway.data, bytes, options);
  const statusOf = (text: string) => readAnswers(text).map(({ status }) => status);
  /** A request that is whole and right, and asks for the connection to be closed after it. */
  const good = (extra: readonly string[] = ['connection: close']) =>
    head(`GET ${REPORT}?${QUERY} HTTP/1.1`, ['host: gateway', `x-api-key: ${key}`, ...extra]);

  describe('framing', () => {
    beforeEach(async () => void (await sim.forget()));
    /** Nothing of a smuggled request may be answered, and nothing of it seen by the platform. */
    afterEach(async () => {
      expect((await sim.calls()).filter(({ url }) => url.includes('smuggled'))).toEqual([]);
      const after = await ask(`${gateway.data}${REPORT}?${QUERY}`, { key });
      expect(after.status).toBe(200);
    });

    const SMUGGLED = head('GET /api/v1/campaign/smuggled HTTP/1.1', ['host: gateway']);
    const post = (headers: readonly string[], body: string) =>
      head('POST /api/v1/campaign/create HTTP/1.1', ['host: gateway', `x-api-key: ${key}`, ...headers], body);

    it.each([
      ['CL.TE', ['content-length: 4', 'transfer-encoding: chunked'], '0\r\n\r\n'],
      ['TE.CL', ['transfer-encoding: chunked', 'content-length: 4'], '0\r\n\r\n'],
      ['a space before the colon', ['transfer-encoding : chunked'], '0\r\n\r\n'],
      ['two lengths', ['content-length: 0', 'content-length: 5'], ''],
      ['two equal lengths', ['content-length: 0', 'content-length: 0'], ''],
      ['a list of lengths', ['content-length: 0, 5'], ''],
      ['a signed length', ['content-length: +0'], ''],
      ['a length in hex', ['content-length: 0x0'], ''],
      ['chunked twice', ['transfer-encoding: chunked, chunked'], '0\r\n\r\n'],
      ['chunked not last', ['transfer-encoding: chunked, identity'], '0\r\n\r\n'],
      ['another coding', ['transfer-encoding: xchunked'], '0\r\n\r\n'],
      ['a coding beside chunked', ['transfer-encoding: gzip, chunked'], '0\r\n\r\n'],
      [
        'a coding in a line of its own',
        ['transfer-encoding: gzip', 'transfer-encoding: chunked'],
        '2\r\n{}\r\n0\r\n\r\n',
      ],
      ['a tab in the coding', ['transfer-encoding:\x0bchunked'], '0\r\n\r\n'],
      ['a folded line', ['x-note: a', ' transfer-encoding: chunked'], '0\r\n\r\n'],
      ['a bare CR', ['x-note: a\rtransfer-encoding: chunked'], '0\r\n\r\n'],
      ['a NUL', ['x-note: a\0b'], ''],
      ['no name', [': value'], ''],
      ['a broken chunk size', ['transfer-encoding: chunked'], 'zz\r\n\r\n0\r\n\r\n'],
      ['a chunk that overruns', ['transfer-encoding: chunked'], '1\r\nabc\r\n0\r\n\r\n'],
    ])('%s is 400 and the connection is closed', async (_name, headers, body) => {
      const text = await send(post(headers, body) + SMUGGLED);
      const [first, ...others] = readAnswers(text);
      expect([first?.status, others]).toEqual([400, []]);
      expect(first?.head).toMatch(/^connection: close$/im);
      expect(first?.head).toMatch(/^content-type: application\/problem\+json/im);
      expect(JSON.parse(first?.body ?? '')).toMatchObject({ status: 400, code: 'invalid_request' });
    });

    it.each([
      ['bare line feeds', good().replaceAll('\r\n', '\n')],
      ['one bare line feed', good(['connection: close']).replace('host: gateway\r\n', 'host: gateway\n')],
      ['no host', head(`GET ${REPORT}?${QUERY} HTTP/1.1`, [`x-api-key: ${key}`])],
      ['a space in the target', head(`GET ${REPORT}?advertiserId=1 2 HTTP/1.1`, ['host: gateway'])],
      ['a version there is none of', head(`GET ${REPORT} HTTP/1.7`, ['host: gateway'])],
      ['no HTTP at all', 'hello\r\n\r\n'],
      ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ])('%s is 400 and the connection is closed', async (_name, bytes) => {
      const answers = readAnswers(await send(bytes));
      expect(answers.map(({ status }) => status)).toEqual([400]);
      expect(answers[0]?.head).toMatch(/^connection: close$/im);
    });

    it('two hosts are 400', async () => {
      const text = await send(good(['host: platform']) + good());
      expect(statusOf(text)).toEqual([400]);
      expect(await sim.calls()).toEqual([]);
    });

    it('what stands behind two thousand headers counts', async () => {
      const many = Array.from({ length: 2100 }, () => 'a: 1');
      expect(statusOf(await send(good([...many, 'connection: close', 'host: platform'])))).toEqual([400]);
      const late = head(`GET ${REPORT}?${QUERY} HTTP/1.1`, [
        ...['host: gateway', ...many, `x-api-key: ${key}`, 'connection: close'],
      ]);
      expect(statusOf(await send(late))).toEqual([200]);
    });

    it('CONNECT is 405, and says so before the connection is closed', async () => {
      for (const target of ['platform:443', `${REPORT}?${QUERY}`]) {
        const [answer, ...others] = readAnswers(
          await send(head(`CONNECT ${target} HTTP/1.1`, ['host: gateway'])),
        );
        expect([answer?.status, others]).toEqual([405, []]);
        expect(JSON.parse(answer?.body ?? '')).toMatchObject({ status: 405, code: 'method_not_allowed' });
      }
    });

    it('a GET with a body is 400, the body is not taken for the next request', async () => {
      for (const extra of [[`content-length: ${SMUGGLED.length}`], ['transfer-encoding: chunked']]) {
        const body = extra[0]?.startsWith('content')
          ? SMUGGLED
          : `${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`;
        expect(statusOf(await send(good(extra) + body))).toEqual([400]);
      }
      expect(await sim.calls()).toEqual([]);
    });

    it('several requests at once are answered one by one, in their order', async () => {
      const wrong = head('GET /nowhere HTTP/1.1', ['host: gateway']);
      const refused = head(`GET ${REPORT}?advertiserId=01 HTTP/1.1`, ['host: gateway', `x-api-key: ${key}`]);
      const keyless = head(`GET ${REPORT} HTTP/1.1`, ['host: gateway']);
      const gated = head('GET /api//v1 HTTP/1.1', ['host: gateway']);
      const text = await send(good([]) + wrong + refused + keyless + gated + good());
      expect(statusOf(text)).toEqual([200, 404, 400, 401, 400, 200]);
    });

    it('Expect: 100-continue is honoured, another expectation refused', async () => {
      const body = '{"advertiserId":1}';
      const headers = [
        'content-type: application/json',
        `content-length: ${body.length}`,
        'connection: close',
      ];
      const start = head(`POST ${REPORT}?_period=yesterday HTTP/1.1`, [
        ...['host: gateway', `x-api-key: ${key}`, 'expect: 100-continue'],
        ...headers,
      ]);
      const text = await send(start, { later: [{ afterMs: 20, bytes: body }] });
      expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
      const strange = await send(good(['expect: the-unexpected', 'connection: close']));
      expect(statusOf(strange)).toEqual([417]);
      expect(strange).toMatch(/^content-type: application\/problem\+json/im);
    });
  });

  describe.concurrent('slowness', () => {
    const drip = (count: number) =>
      Array.from({ length: count }, () => ({ afterMs: 250, bytes: 'x-drip: 1\r\n' }));

    it('a head that never ends is cut off, though it keeps coming', async ({ expect }) => {
      const [silent, dripping, body] = await Promise.all([
        send('GET /healthz HTTP/1.1\r\nhost: x\r\n'),
        send('GET /healthz HTTP/1.1\r\nhost: x\r\n', { later: drip(20) }),
        send(
          head(
            `POST ${REPORT} HTTP/1.1`,
            [...['host: x', `x-api-key: ${key}`, 'content-type: application/json', 'content-length: 100']],
            '{',
          ),
          { later: Array.from({ length: 20 }, () => ({ afterMs: 250, bytes: ' ' })) },
        ),
      ]);
      for (const text of [silent, dripping, body]) {
        // Closed, with or without a word.
        if (text !== '') expect(statusOf(text)[0]).toBe(408);
      }
      expect(body).toContain('not complete in time (server.requestTimeoutSeconds)');
      const after = await ask(`${gateway.data}/healthz`);
      expect(after.status).toBe(200);
    });

    it('many of them do not keep others out', async ({ expect }) => {
      const slow = Array.from({ length: 200 }, () => send('GET /healthz HTTP/1.1\r\nhost: x\r\n'));
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => ask(`${gateway.data}${REPORT}?${QUERY}`, { key })),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      await Promise.all(slow);
    });
  });
});
