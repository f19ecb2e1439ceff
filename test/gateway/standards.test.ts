/** What docs/standards.md says of answers, where no other test looks at just that. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REPORT, type Reply, type SimulatedGateway, startGateway } from '../support/start-gateway.js';
import { FINAL } from './reports.js';

let gateway: SimulatedGateway;
let key: string;
const VARY = 'accept, accept-encoding, authorization, x-api-key';
const get = (headers: Record<string, string> = {}, query = FINAL): Promise<Reply> =>
  gateway.report(key, query, { headers });

beforeAll(async () => {
  gateway = await startGateway();
  key = await gateway.addTeam();
});
afterAll(() => gateway.close());

describe('an answer', () => {
  it('says what it depends on, be it a miss, a hit, not modified or refused', async () => {
    const miss = await get();
    const hit = await get();
    const same = await get({ 'if-none-match': String(hit.headers.etag) });
    const refused = await get({ accept: 'text/html' });
    const foreign = await gateway.report('dgw_none', FINAL);
    expect([miss, hit, same, refused, foreign].map(({ status }) => status)).toEqual([
      200, 200, 304, 406, 401,
    ]);
    for (const { headers } of [miss, hit, same, refused, foreign]) expect(headers.vary).toBe(VARY);
  });

  it('that is not modified repeats the headers that a cache would renew', async () => {
    const full = await get();
    const same = await get({ 'if-none-match': `"other", W/${full.headers.etag}` });
    expect(same.status).toBe(304);
    for (const name of ['etag', 'age', 'cache-control', 'cache-status', 'vary'])
      expect([name, same.headers[name]?.replace(/store|l1/, '')]).toEqual([
        name,
        full.headers[name]?.replace(/store|l1/, '').replace('fwd=miss; stored', ''),
      ]);
    expect((await get({ 'if-none-match': '*' })).status).toBe(304);
    expect((await get({ 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('is whole where a range or a date is asked for, and offers none', async () => {
    const whole = await get({ range: 'bytes=0-1', 'if-modified-since': new Date().toUTCString() });
    expect([whole.status, whole.headers['last-modified'], whole.headers['content-range']]).toEqual([
      200,
      undefined,
      undefined,
    ]);
  });

  it('to HEAD has the headers of GET and no body', async () => {
    const [full, head] = [await get(), await gateway.report(key, FINAL, { method: 'HEAD' })];
    expect(head.body).toHaveLength(0);
    for (const name of ['content-length', 'content-type', 'etag', 'cache-control', 'vary'])
      expect([name, head.headers[name]]).toEqual([name, full.headers[name]]);
  });
});

describe('a refusal', () => {
  it('is kept by nobody, and is a problem document whose status is its own', async () => {
    const refused = [
      await gateway.report('dgw_none', FINAL),
      await get({ accept: 'text/html' }),
      await get({}, 'advertiserId=01'),
      await gateway.call(REPORT, { method: 'PUT', key }),
      await gateway.call('/nowhere', { key }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([401, 406, 400, 405, 404]);
    for (const { status, headers, json } of refused) {
      expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
      expect(headers['cache-control']).toBe('no-store');
      expect(json()).toMatchObject({ status, type: expect.stringMatching(/^\/docs\/errors\/\w+$/) });
    }
    expect(refused[0]?.headers['www-authenticate']).toBe('Bearer realm="dsp-gateway"');
    expect(refused[3]?.headers.allow).toBe('GET, HEAD, POST');
  });
});

it('nothing is said of the way or of what will end: no via, sunset, deprecation or digest', async () => {
  const { headers } = await get();
  for (const name of [
    'via',
    'sunset',
    'deprecation',
    'content-digest',
    'repr-digest',
    'server',
    'warning',
    'pragma',
  ])
    expect(headers[name]).toBeUndefined();
});
