/**
 * The platform echoed its token percent-encoded, in base64 or in UTF-16, and reports, messages of refusals and headers gave
 * it out, and the cache kept it.
 */
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { holdsToken, maskStream, scrubText } from '../../src/platform/scrub.js';
import { listenGateway } from '../support/listen-gateway.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';
const percent = (text: string) => text.replace(/./g, (one) => `%${one.charCodeAt(0).toString(16)}`);

/** Its base64 holds each of `+`, `/` and `=`. */
const TOKEN = 'ey?/eX>AiO+iJKV1Q?iLCJh~NiJ9_secret';
const base64 = (text: string) => Buffer.from(text).toString('base64');
/** As .NET and Gson write JSON. */
const escaped = (text: string, which: RegExp) =>
  text.replace(which, (one) => `\\u00${one.charCodeAt(0).toString(16).toUpperCase()}`);

const SPELLINGS: Readonly<Record<string, (token: string) => string>> = {
  'percent-encoded': percent,
  'percent-encoded in capitals': (token) => percent(token).toUpperCase(),
  'percent-encoded in part': (token) => token[0] + percent(token.slice(1, 3)) + token.slice(3),
  'percent-encoded and escaped': (token) =>
    `\\u00${token.charCodeAt(0).toString(16)}${percent(token.slice(1))}`,
  'in base64': base64,
  'in base64 with its signs as escapes': (token) => escaped(base64(token), /[+/=]/g),
  'in base64 as escapes throughout': (token) => escaped(base64(token), /./g),
  'in base64 with its slashes after a backslash': (token) => base64(token).replaceAll('/', '\\/'),
  'in base64, percent-encoded': (token) => encodeURIComponent(base64(token)),
  'in base64 for URLs, percent-encoded throughout': (token) =>
    percent(Buffer.from(token).toString('base64url')),
  'in base64 for URLs': (token) => Buffer.from(token).toString('base64url'),
  'in base64 behind Bearer': (token) => Buffer.from(`Bearer ${token}`).toString('base64'),
  'in base64 among others': (token) => Buffer.from(`ab:${token}:cd`).toString('base64'),
  'in UTF-16': (token) => Buffer.from(token, 'utf16le').toString('latin1'),
  'in UTF-16, the other way': (token) => Buffer.from(token, 'utf16le').swap16().toString('latin1'),
};

describe.each(Object.entries(SPELLINGS))('a token %s', (name, spell) => {
  const token = fc.stringMatching(/^[A-Za-z0-9|._~+/=-]{8,40}$/);
  const noise = fc.array(fc.stringMatching(/^[ -~]{0,20}$/), { maxLength: 4 }).map((parts) => parts.join(''));

  it('is found in a body, and kept out of texts', () => {
    fc.assert(
      fc.property(token, noise, noise, (secret, before, after) => {
        const text = `${before} ${spell(secret)} ${after}`;
        expect(holdsToken(Buffer.from(text, 'latin1'), secret)).toBe(true);
        expect(holdsToken(Buffer.from(scrubText(text, [secret], 1000)), secret)).toBe(false);
      }),
    );
  });

  it('is masked in a stream, however it is cut, at the same length', async () => {
    await fc.assert(
      fc.asyncProperty(token, noise, fc.integer({ min: 1, max: 9 }), async (secret, before, size) => {
        const bytes = Buffer.from(`${before} ${spell(secret)} ${before}`, 'latin1');
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.subarray(at * size, (at + 1) * size),
        );
        const out: Buffer[] = [];
        for await (const piece of Readable.from(pieces, { objectMode: false }).pipe(maskStream(secret)))
          out.push(piece as Buffer);
        const masked = Buffer.concat(out);
        expect(masked).toHaveLength(bytes.length);
        expect(holdsToken(masked, secret)).toBe(false);
      }),
    );
  });

  it('is in no report, no refusal and no header, and is not kept', async () => {
    let body = '';
    let status = 200;
    let headers: Record<string, string> = {};
    const started = await startRawPlatform((asked, response) =>
      sends(body, headers, status)(asked, response),
    );
    const platform = { ...started, token: TOKEN };
    const spelt = spell(platform.token);
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    // A control character is no JSON as it is.
    const inJson = name.includes('UTF-16') ? spelt.replaceAll('\0', '\\u0000') : spelt;
    if (!name.includes('UTF-16')) {
      body = `{"data":[{"date":"2026-11-01","note":"${inJson}"}]}`;
      for (const format of ['json', 'csv', 'raw', 'ndjson'])
        expect(outcomeOf(await gateway.report(key, `${QUERY}&_format=${format}`))).toBe(
          '502 upstream_invalid_response',
        );
      [status, body] = [422, `{"message":"no ${inJson} here"}`];
      const refused = await gateway.report(key, `${QUERY}&byCampaign=1`);
      expect(outcomeOf(refused)).toBe('422 upstream_rejected');
      expect(holdsToken(refused.body, platform.token)).toBe(false);
      headers = { etag: `"${spelt}"`, 'content-disposition': `attachment; filename="${spelt}"` };
    }
    [status, body] = [200, `page ${spelt}`];
    const reply = await request(`${await listenGateway(gateway)}/api/v1/thing`, {
      headers: { 'x-api-key': key },
    });
    expect(holdsToken(Buffer.from(await reply.body.arrayBuffer()), platform.token)).toBe(false);
    expect(reply.headers).not.toHaveProperty('etag');
    expect(reply.headers).not.toHaveProperty('content-disposition');
  });
});

it('a body that holds nothing of the token is left as it is, though it is full of escapes', () => {
  const text = JSON.stringify({ url: 'https:\\/\\/x.example\\/%20a%2Fb', note: 'ä\u0001"' }).repeat(50);
  expect(holdsToken(Buffer.from(text), 'ZZZZ9999|QQQQ')).toBe(false);
});
