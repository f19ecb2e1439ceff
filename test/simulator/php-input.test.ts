import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseForm, readInput } from '../../src/simulator/php-input.js';
import { plainPath, splitTarget } from '../../src/simulator/read-request.js';
import { call, REPORT, rowsOf, sendRaw, start } from './support.js';

const read = (query: string) => Object.fromEntries(parseForm(query));

describe('the framework’s reading of a query', () => {
  it.each([
    ['advertiserId=1', { advertiserId: '1' }],
    ['%61dvertiserId=1', { advertiserId: '1' }],
    ['advertiser.id=1', { advertiserId: '1' }],
    ['advertiser%2Eid=1', { advertiserId: '1' }],
    ['advertiser+id=1', { advertiserId: '1' }],
    ['advertiser_id=1', { advertiserId: '1' }],
    ['advertiser[id=1', { advertiserId: '1' }],
    ['%20%20advertiserId=1', { advertiserId: '1' }],
    ['+advertiserId=1', { advertiserId: '1' }],
    ['advertiserId%00x=1', { advertiserId: '1' }],
    ['date.from=2026-11-01', { dateFrom: '2026-11-01' }],
    ['advertiserId=1&advertiserId=2', { advertiserId: '2' }],
    ['advertiserId=1&advertiser.id=2', { advertiserId: '2' }],
    ['campaignIds[]=1&campaignIds[]=2', { campaignIds: ['1', '2'] }],
    ['campaignIds%5B%5D=1', { campaignIds: ['1'] }],
    ['campaignIds[a]=1&campaignIds[b][c]=2', { campaignIds: ['1', '2'] }],
    ['campaignIds[]=1&campaignIds=2', { campaignIds: '2' }],
    ['campaignIds=1&campaignIds[]=2', { campaignIds: ['2'] }],
    ['AdvertiserID=1', { AdvertiserID: '1' }],
    ['advertiserId=1;advertiserId=2', { advertiserId: '1;advertiserId=2' }],
    ['flag&other=', { flag: '', other: '' }],
    ['=1&&', {}],
    ['bad=%zz', { bad: '%zz' }],
    ['a.b=1', { a_b: '1' }],
    ['per_page=7', { per_page: '7' }],
  ])('of %j is %j', (query, expected) => {
    expect(read(query)).toEqual(expected);
  });

  it('reads back whatever was encoded', () => {
    const names = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9]{0,8}$/);
    fc.assert(
      fc.property(fc.dictionary(names, fc.string({ unit: 'grapheme' })), (input) => {
        expect(read(new URLSearchParams(input).toString())).toEqual({ ...input });
      }),
    );
  });

  it('takes hostile names for plain data', () => {
    const input = parseForm('__proto__=1&constructor=2&hasOwnProperty=3');
    expect([...input.keys()]).toEqual(['__proto__', 'constructor', 'hasOwnProperty']);
    expect(Object.prototype).not.toHaveProperty('1');
  });
});

describe('the framework’s input', () => {
  it.each([
    ['JSON over the query', 'a=1&b=2', 'application/json', '{"b":3}', { a: '1', b: 3 }],
    ['any JSON type', '', 'application/vnd.api+json; charset=utf-8', '{"b":3}', { b: 3 }],
    ['a form over the query', 'a=1', 'application/x-www-form-urlencoded', 'a=2&c[]=3', { a: '2', c: ['3'] }],
    ['no other body', 'a=1', 'text/plain', '{"a":2}', { a: '1' }],
    ['nothing of broken JSON', 'a=1', 'application/json', '{"a":', { a: '1' }],
    ['nothing of a JSON value that is no object', '', 'application/json', '7', {}],
    ['dotted JSON members', '', 'application/json', '{"advertiser.id":2}', { advertiserId: 2 }],
    ['the last duplicate member', '', 'application/json', '{"a":1,"a":2}', { a: 2 }],
  ])('is %s', (_, query, type, body, expected) => {
    expect(Object.fromEntries(readInput(query, type, body))).toEqual(expected);
  });
});

describe('the web server’s reading of a path', () => {
  it.each([
    ['/api/v1/x', '/api/v1/x'],
    ['//api//v1/x/', '/api/v1/x'],
    ['/api/v1/./y/../x', '/api/v1/x'],
    ['/%61pi/v1/x', '/api/v1/x'],
    ['/api/v1/y/%2e%2e/x', '/api/v1/x'],
    ['/api%2fv1/x', '/api/v1/x'],
    ['/../../x', '/x'],
    ['/%252e', '/%2e'],
    ['/%zz', '/'],
    ['/', '/'],
  ])('of %j is %j', (path, expected) => {
    expect(plainPath(path, '')).toBe(expected);
  });

  it('knows what is below the base path', () => {
    expect(plainPath('/dsp/api', '/dsp')).toBe('/api');
    expect(plainPath('/x/../dsp/api', '/dsp')).toBe('/api');
    expect(plainPath('/dspx/api', '/dsp')).toBeUndefined();
    expect(plainPath('/dsp/../api', '/dsp')).toBeUndefined();
  });

  it('drops scheme and host of an absolute target', () => {
    expect(splitTarget('http://evil.example/api?x=1?')).toEqual({ path: '/api', query: 'x=1?' });
    expect(splitTarget('/api')).toEqual({ path: '/api', query: '' });
  });
});

// What a gateway that forwards a smuggled spelling would really get: another advertiser's rows.
describe('a smuggled spelling', () => {
  it.each([
    '?advertiserId=1&advertiserId=2',
    '?advertiserId=1&advertiser.id=2',
    '?advertiserId=1&%20advertiserId=2',
    '?advertiserId=1&advertiserId%00x=2',
    '?advertiserId=1&advertiserId[]=2',
    '?advertiserId=%202%20',
    '?advertiserId=2%00',
    '?advertiserId=%2B2',
  ])('in the query %s leaks advertiser 2', async (query) => {
    const simulator = await start();
    const answer = await sendRaw(simulator, `${REPORT}${query}`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toContain('"advertiser_id":2,');
    expect(answer).not.toContain('"advertiser_id":1,');
  });

  it('in a list leaks both, and an empty value all of them', async () => {
    const simulator = await start();
    const both = await rowsOf(simulator, '?advertiserId[]=1&advertiserId[]=2');
    expect(both.map((row) => row.advertiser_id)).toEqual([1, 2]);
    expect(await rowsOf(simulator, '?advertiserId=')).toHaveLength(40);
  });

  it('in the body of a GET wins over the query', async () => {
    const simulator = await start();
    const body = '{"advertiserId":2}';
    const headers = ['content-type: application/json', `content-length: ${body.length}`, '', body];
    const answer = await sendRaw(simulator, `${REPORT}?advertiserId=1`, headers);
    expect(answer).toContain('"advertiser_id":2,');
  });

  it.each([`/x/..${REPORT}`, `/${REPORT}`, '/api/v1/report/%63ampaigns/get', `${REPORT}/`, `/%2e${REPORT}`])(
    'in the path %s reaches the report',
    async (path) => {
      const simulator = await start();
      expect(await sendRaw(simulator, `${path}?advertiserId=2`)).toContain('"advertiser_id":2,');
    },
  );

  it('of the path to the controls is a call to the platform, and recorded', async () => {
    const simulator = await start();
    for (const path of ['/api/v1/../../_sim', '//_sim', '/%5fsim']) {
      expect(await sendRaw(simulator, path)).toMatch(/^HTTP\/1\.1 404 /);
    }
    expect(simulator.calls.map(({ path }) => path)).toEqual(['/api/v1/../../_sim', '//_sim', '/%5fsim']);
  });

  it.each([
    ['a query member', '?_method=DELETE', {}, undefined],
    ['a body member', '', {}, { _method: 'delete' }],
    ['a header', '', { 'x-http-method-override': 'DELETE' }, undefined],
  ])('of the method in %s deletes a campaign', async (_, query, headers, json) => {
    const simulator = await start();
    const path = '/api/v1/campaign/101';
    const sent = json === undefined ? { headers } : { headers, json };
    expect((await call(simulator, `${path}${query}`, { method: 'POST', ...sent })).status).toBe(200);
    expect((await call(simulator, path)).status).toBe(404);
    expect(simulator.calls[0]?.method).toBe('POST');
  });

  it('of the method counts in POST alone', async () => {
    const simulator = await start();
    const reply = await call(simulator, '/api/v1/campaign/101?_method=DELETE');
    expect(reply.json()).toMatchObject({ id: 101 });
    expect((await call(simulator, '/api/v1/campaign/101')).status).toBe(200);
  });
});
