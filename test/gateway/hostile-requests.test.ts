/** Hostile requests, well framed: targets, queries and headers. What is refused reaches no platform. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ask, newTeam, REPORT } from '../support/ask.js';
import { type OpenGateway, openGateway } from '../support/open-gateway.js';
import { exchange, head, type RawOptions, readAnswers } from '../support/raw-socket.js';

describe('over a socket', () => {
  let platform: OpenGateway['platform'];
  let gateway: OpenGateway['gateway'];
  let sim: OpenGateway['sim'];
  let key: string;
  /** May see advertiser 1 alone. */
  let limitedKey: string;

  beforeAll(async () => {
    ({ platform, gateway, sim } = await openGateway());
    ({ key } = await newTeam(gateway, { id: 'hostile' }));
    limitedKey = (await newTeam(gateway, { id: 'limited', advertisers: [1] })).key;
  });

  const QUERY = 'advertiserId=1&_period=yesterday';
  const send = (bytes: string, options?: RawOptions) => exchange(gateway.data, bytes, options);
  const statusOf = (text: string) => readAnswers(text).map(({ status }) => status);
  /** A request that is whole and right, and asks for the connection to be closed after it. */
  const good = (extra: readonly string[] = ['connection: close']) =>
    head(`GET ${REPORT}?${QUERY} HTTP/1.1`, ['host: gateway', `x-api-key: ${key}`, ...extra]);

  describe('a target', () => {
    beforeEach(async () => void (await sim.forget()));

    it.each([
      ...String.raw`/../api/v1/x /api/v1/../v1/campaign/1 /api/v1/%2e%2e/x /api/v1/.%2e/x /api/v1/..%2fx /api/v1/..%5cx
        /api/v1/\..\x /api/v1/%252e%252e/x /api/v1//evil //evil/api/v1/x /api/v1/\evil /api/v1/%61pi /api/v1/./x
        /api/v1/x;y /api/v1/campaign/ /api/v1/a%00b /api/v1/%zz /api/v1/%c0%ae /api/v1/x#y
        /api/v1/report/campaigns//get /api/v1/report/ /api/v1/Report/../report/campaigns/get
        /api/V1/report/campaigns/get /api/v1/REPORT/campaigns/get /api/v1/report/campaigns/get;a.css
        /api/v1/report/campaigns/get%3Fx /api/v1/@evil /api/v1/a:80 /~refused/uri_too_long/..`.split(/\s+/),
      '/api/v1/caf\xe9',
    ])('%s is refused before any routing', async (target) => {
      const text = await send(
        head(`GET ${target} HTTP/1.1`, ['host: gateway', `x-api-key: ${key}`, 'connection: close']),
      );
      expect(statusOf(text)).toEqual([400]);
      expect(await sim.calls()).toEqual([]);
    });

    it('in absolute or authority form reaches no other host', async () => {
      for (const line of [
        `GET http://evil.example${REPORT}?${QUERY} HTTP/1.1`,
        `GET http://127.0.0.1:1/api/v1/campaign/1 HTTP/1.1`,
        `GET ${platform.url}/api/v1/campaign/1 HTTP/1.1`,
        'GET @evil.example/api/v1/campaign/1 HTTP/1.1',
        'OPTIONS * HTTP/1.1',
      ]) {
        const text = await send(head(line, ['host: gateway', `x-api-key: ${key}`, 'connection: close']));
        expect([line, statusOf(text)[0]]).toEqual([line, expect.toBeOneOf([400, 404, 405])]);
      }
      expect(await sim.calls()).toEqual([]);
    });

    it('is no tunnel and no protocol to switch to', async () => {
      const tunnel = await send(head('CONNECT evil.example:443 HTTP/1.1', ['host: evil.example:443']));
      expect(tunnel).not.toMatch(/^HTTP\/1\.1 2/);
      const upgrade = await send(good(['connection: upgrade, close', 'upgrade: websocket']));
      expect(upgrade).not.toMatch(/^HTTP\/1\.1 101/);
      const h2c = await send(
        good(['connection: upgrade, http2-settings, close', 'upgrade: h2c', 'http2-settings: AAM']),
      );
      expect(h2c).not.toMatch(/^HTTP\/1\.1 101/);
    });

    it('takes no other methods', async () => {
      const passed = 'GET, HEAD, POST, PUT, PATCH, DELETE';
      for (const [path, allow] of [
        [REPORT, 'GET, HEAD, POST'],
        ['/api/v1/campaign/1', passed],
        ['/api/v1/campaign/create', passed],
      ]) {
        for (const method of ['OPTIONS', 'TRACE']) {
          const text = await send(head(`${method} ${path} HTTP/1.1`, ['host: gateway', 'connection: close']));
          expect(statusOf(text)).toEqual([405]);
          expect(text).toContain(`\r\nallow: ${allow}\r\n`);
        }
      }
      for (const method of ['TRACE', 'PROPFIND', 'OPTIONS', 'PURGE', 'LINK']) {
        for (const path of [REPORT, '/api/v1/campaign/1', '/healthz', '/gateway/v1/me']) {
          const line = `${method} ${path} HTTP/1.1`;
          const text = await send(head(line, ['host: gateway', `x-api-key: ${key}`, 'connection: close']));
          expect([line, statusOf(text)[0]]).toEqual([line, expect.toBeOneOf([400, 404, 405])]);
          expect(text).not.toContain(key);
        }
      }
      expect(await sim.calls()).toEqual([]);
    });
  });

  describe('a query', () => {
    it.each(
      `advertiserId=1&advertiserId=2 advertiserId[]=1 advertiserId[0]=1 advertiserId%5B%5D=1 AdvertiserID=1
        advertiser_id=1 advertiser.id=1 advertiserId%00=1 %20advertiserId=1 advertiserId=1;advertiserId=2
        advertiserId=1%26advertiserId%3D2 advertiserId=01 advertiserId=+1 advertiserId=%201 advertiserId=1.0
        advertiserId=1e0 advertiserId=0x1 advertiserId=%EF%BC%91 advertiserId=1%00 advertiserId=1,2 advertiserId=0
        advertiserId=-1 advertiserId= advertiserId=1&__proto__=1 advertiserId=1&constructor=1 advertiserId=1&a.b=1
        advertiserId=1&_method=DELETE advertiserId=1&dateFrom=2026-02-29&dateTo=2026-03-01 advertiserId=1&byDate=2
        advertiserId=1&%zz=1 advertiserId=1&x=%ff advertiserId=1&x=%0a advertiserId=1&BYDATE=1
        advertiserId=1&by-date=1`.split(/\s+/),
    )('%s is 400', async (query) => {
      await sim.forget();
      for (const team of [key, limitedKey]) {
        const text = await send(
          head(`GET ${REPORT}?${query}&_format=json HTTP/1.1`, [
            'host: x',
            `x-api-key: ${team}`,
            'connection: close',
          ]),
        );
        const [answer] = readAnswers(text);
        const { code, errors } = JSON.parse(answer?.body ?? '') as { code: string; errors: object[] };
        expect([query, answer?.status, code, errors.length > 0]).toEqual([query, 400, 'invalid_query', true]);
      }
      expect(await sim.calls()).toEqual([]);
    });
  });

  describe('headers', () => {
    const BAD =
      `cookie: session=1|forwarded: for=1.2.3.4;host=evil|x-forwarded-for: 1.2.3.4|x-forwarded-host: evil
      |x-forwarded-proto: https|x-real-ip: 1.2.3.4|via: 1.1 evil|te: trailers|trailer: x-last
      |x-http-method-override: DELETE|x-method-override: DELETE|x-http-method: DELETE|x_api_key: other
      |proxy-authorization: Basic eDp5|proxy-connection: keep-alive|keep-alive: timeout=5|origin: http://evil
      |x-request-id: chosen-by-the-caller|x-gateway-team: other|referer: http://evil/|user-agent: evil
      |range: bytes=0-1|accept: application/json, text/html
      |if-modified-since: Sat, 21 Nov 2026 00:00:00 GMT`.split(/\s*\|/);

    it('of the caller do not reach the platform, whatever they say of the connection', async () => {
      await sim.forget();
      const connection = 'connection: close, authorization, x-api-key, accept, host';
      const [day, other] = ['2026-03-03', '2026-03-04'];
      for (const target of [
        `${REPORT}?advertiserId=1&dateFrom=${day}&dateTo=${other}`,
        '/api/v1/campaign/999999999',
      ]) {
        const text = await send(
          head(`GET ${target} HTTP/1.1`, [
            `host: gateway`,
            `authorization: Bearer ${key}`,
            connection,
            ...BAD,
          ]),
        );
        expect([target, statusOf(text)[0]]).toEqual([target, expect.toBeOneOf([200, 404])]);
      }
      const calls = await sim.calls();
      expect(calls).toHaveLength(2);
      for (const { headers, method } of calls) {
        expect(method).toBe('GET');
        expect(headers.authorization).toBe(`Bearer ${platform.token}`);
        expect(headers.accept).toBe('application/json');
        expect(headers.host).toBe(new URL(platform.url).host);
        expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
        // A conditional read may be passed on where nothing is cached.
        const allowed =
          /^(accept|accept-encoding|authorization|connection|host|user-agent|x-request-id|if-modified-since)$/;
        expect(Object.keys(headers).filter((name) => !allowed.test(name))).toEqual([]);
        expect(JSON.stringify(headers)).not.toMatch(/evil|chosen-by|session|1\.2\.3\.4|dgw_/);
      }
      expect(calls[0]?.headers.range).toBeUndefined();
    });

    it('cannot make a partial or unmodified answer out of a report', async () => {
      const answer = await ask(`${gateway.data}${REPORT}?${QUERY}`, {
        key,
        headers: { range: 'bytes=0-9', 'if-modified-since': new Date().toUTCString() },
      });
      expect(answer.status).toBe(200);
      expect(answer.json()).toHaveProperty('meta');
    });

    it('name one key, or none is accepted', async () => {
      const twice = (lines: readonly string[]) =>
        send(head(`GET ${REPORT}?${QUERY} HTTP/1.1`, ['host: gateway', ...lines, 'connection: close']));
      for (const lines of [
        [`x-api-key: ${key}`, `x-api-key: ${limitedKey}`],
        [`x-api-key: ${key}`, `x-api-key: ${key}`],
        [`authorization: Bearer ${key}`, `authorization: Bearer ${limitedKey}`],
        [`authorization: Bearer ${key}`, `x-api-key: ${limitedKey}`],
        [`x-api-key: ${key}\xe9`],
        [`authorization: Bearer ${key.toUpperCase()}`],
      ]) {
        expect([lines.length, statusOf(await twice(lines))]).toEqual([lines.length, [401]]);
      }
    });

    it('of a trailer are no headers', async () => {
      const body = `1\r\n{\r\n1\r\n}\r\n0\r\nx-api-key: ${key}\r\nauthorization: Bearer ${key}\r\n\r\n`;
      const text = await send(
        head(
          `POST ${REPORT} HTTP/1.1`,
          ['host: a', 'transfer-encoding: chunked', 'content-type: application/json', 'connection: close'],
          body,
        ),
      );
      expect(statusOf(text)).toEqual([401]);
    });
  });
});
