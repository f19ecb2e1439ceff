import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGate, gateFault, widerPath } from '../../../src/api/http/path-gate.js';

/** As the gate answers without a memory; a gate with one answers the same, the second time too. */
function gate(target: string, wider: { path: RegExp }[] = []) {
  const rules = { maxUriBytes: 200, wider };
  const remembering = createGate(rules);
  const fault = gateFault(target, rules);
  expect([remembering(target), remembering(target)]).toEqual([fault, fault]);
  return fault;
}

it('a path that passed is refused all the same with a fragment or a query that is too long', () => {
  const remembering = createGate({ maxUriBytes: 200, wider: [] });
  const path = '/api/v1/report/campaigns/get';
  expect(remembering(`${path}?a=1`)).toBeNull();
  expect(remembering(`${path}?a=1#b`)).toBe('invalid_path');
  expect(remembering(`${path}#b`)).toBe('invalid_path');
  expect(remembering(`${path}?${'a'.repeat(200)}`)).toBe('uri_too_long');
  expect(remembering(path)).toBeNull();
});

describe('gateFault', () => {
  it.each([
    '/api/v1/report/campaigns/get',
    '/api/v1/report/campaigns/get?a=%2e%2e&b=//&c=..%2f;x',
    '/api/v1/campaign/7',
    '/api/v1/a.b_c~d-e/x.css',
    '/api/v1/.hidden/a..b',
    '/api/v1/-',
    '/healthz',
    '/docs/',
    '/docs/static/index.html',
    '/',
    '/Docs',
  ])('lets %s pass', (target) => {
    expect(gate(target)).toBeNull();
  });

  it.each([
    // P1
    '/api/v1/../v2/x',
    '/api/v1/report/..',
    // What the proxy takes for a way up.
    '/api/v1/.hidden/...',
    '/api/v1/a../b',
    '/api/v1/%2e%2e/x',
    '/api/v1/.%2e/x',
    '/api/v1/..%2fx',
    '/api/v1/..%5cx',
    '/api/v1/\\..\\x',
    '/..',
    // P2
    '/api/v1/%252e%252e/x',
    // P3
    '/\\evil',
    '//evil',
    '/api/v1//evil',
    '/api/v1/@evil',
    '@evil',
    'http://evil/api/v1/x',
    'evil:443',
    '*',
    '',
    '?a=1',
    // P4
    '/%61pi/v1/x',
    '/api/v1/./x',
    '/api/v1/x/.',
    '/api/v1/x;a=b',
    '/api/v1/report/campaigns/get;.css',
    '/api/v1/report/campaigns/get/',
    '/api/v1/',
    '/api/',
    '/API/v1/report/campaigns/get',
    '/Api/v1/campaign/7',
    '/api/V1/report/campaigns/get',
    '/api/v1/Report/campaigns/get',
    '/api/v1/REPORT',
    // P5
    '/api/v1/%00',
    '/api/v1/%zz',
    '/api/v1/%c0%af',
    '/api/v1/\u0000',
    '/api/v1/x\u00e4',
    '/api/v1/x y',
    '/api/v1/x\ty',
    // Q14
    '/api/v1/x#y',
    '/api/v1/x?a=1#y',
    '/api/v1/x:y',
    '/api/v1/x,y',
    '/api/v1/x+y',
    '/api/v1/x!y',
    "/api/v1/x'y",
    '/api/v1/{x}',
    '/api/v1/|',
  ])('refuses %j', (target) => {
    expect(gate(target)).toBe('invalid_path');
  });

  it('refuses a target that is too long, whatever it is', () => {
    expect(gate(`/api/v1/${'x'.repeat(192)}`)).toBeNull();
    expect(gate(`/api/v1/${'x'.repeat(193)}`)).toBe('uri_too_long');
    expect(gate(`/api/v1/x?${'%'.repeat(200)}`)).toBe('uri_too_long');
    expect(gate('/'.repeat(201))).toBe('uri_too_long');
  });

  it('lets nothing pass that a URL parser would read as another path', () => {
    const piece = fc.constantFrom(
      '/',
      '/',
      '/',
      'api',
      'v1',
      'report',
      '.',
      '..',
      '%2e',
      '%2f',
      '%5c',
      '\\',
      ';',
      '@',
      ':',
      '//',
      'a',
      'X',
      '~',
      '_',
      '-',
      '?',
      '#',
      '%',
      '%00',
      ' ',
      '\t',
      '\n',
      '\u00e4',
      'Api',
      'REPORT',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
        const target = `/${pieces.join('')}`;
        if (gate(target) !== null) return;
        const [path] = target.split('?');
        const read = new URL(target, 'http://platform.example');
        expect(read.host).toBe('platform.example');
        expect(read.pathname).toBe(path);
        expect(decodeURIComponent(read.pathname)).toBe(path);
        expect(/^\/api(\/v1(\/report)?)?(?=\/|$)/i.exec(target)?.[0] ?? '').toMatch(/^[a-z0-9/]*$/);
      }),
      { numRuns: 5000 },
    );
  });
});

describe('widerPath', () => {
  const wider = [widerPath('/api/v1/files/*', '@:'), widerPath('/api/v1/a.b/*/x', '(')];

  it.each(['/api/v1/files/me@here:1', '/api/v1/files/plain', '/api/v1/a.b/(/x', '/api/v1/files/a@b?c=%2e'])(
    'lets %s pass where the route allows it',
    (target) => {
      expect(gate(target, wider)).toBeNull();
    },
  );

  it.each([
    '/api/v1/other/me@here',
    '/api/v1/files/me@here/more',
    '/api/v1/files/(',
    '/api/v1/aXb/(/x',
    '/api/v1/files/..',
    '/api/v1/files/%40',
    '/api/v1/files//@',
    '/api/v1/files/@/',
    '/api/v1/files/@#',
    '/x/api/v1/files/@',
  ])('refuses %s even so', (target) => {
    expect(gate(target, wider)).toBe('invalid_path');
  });

  it('never allows what would begin another reading: percent, slashes, query, fragment, white space', () => {
    const all = [widerPath('/api/v1/files/*', '%/\\?# \t\n@')];
    for (const char of ['%', '\\', '#', ' ', '\t', '\n', '%2f'])
      expect(gate(`/api/v1/files/a${char}b`, all)).toBe('invalid_path');
    expect(gate('/api/v1/files/a/b', [widerPath('/api/v1/files/*', '/')])).toBeNull();
    expect(widerPath('/api/v1/files/*', '/').path.test('/api/v1/files/a/b')).toBe(false);
  });

  it('takes every character for itself', () => {
    const chars = '.*+?^$()|[]{}!,;=&@:';
    const { path } = widerPath('/api/v1/files/*', chars);
    for (const char of chars.replace('?', '')) expect(path.test(`/api/v1/files/${char}`)).toBe(true);
    expect(path.test('/api/v1/files/"')).toBe(false);
  });
});
