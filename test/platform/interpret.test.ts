import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Headers,
  type InterpretRules,
  interpret,
  originCaching,
  parseRetryAfter,
} from '../../src/platform/interpret.js';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const rulesOf = (base: string, loginPaths = ['/login']): InterpretRules => ({
  baseUrl: new URL(base),
  loginPaths,
});
const RULES = rulesOf('https://platform.example');
const judge = (status: number, headers: Headers = {}, rules = RULES) =>
  interpret(status, headers, rules, NOW);

describe('what a status means', () => {
  it.each([200, 201, 202, 203, 204, 206, 299, 304])('%i is an answer', (status) => {
    expect(judge(status)).toEqual({ kind: 'answer' });
  });

  it.each([400, 402, 403, 404, 405, 409, 410, 422, 499])('%i is a refusal of the request', (status) => {
    expect(judge(status)).toEqual({ kind: 'rejected' });
  });

  it('401 is a refusal of the credential, whatever it says', () => {
    expect(judge(401)).toEqual({ kind: 'credential-refused' });
    expect(judge(401, { 'retry-after': '5' })).toEqual({ kind: 'credential-refused' });
  });

  it('429 limits the gateway', () => {
    expect(judge(429)).toEqual({ kind: 'rate-limited', retryAfterMs: null });
    expect(judge(429, { 'retry-after': '7' })).toEqual({ kind: 'rate-limited', retryAfterMs: 7000 });
  });

  it('408 is a timeout of the platform, and not tried again', () => {
    expect(judge(408)).toMatchObject({
      kind: 'failed',
      retryable: false,
      error: { code: 'upstream_timeout', status: 504 },
    });
  });

  it.each([
    [500, false],
    [501, false],
    [502, true],
    [503, true],
    [504, true],
    [505, false],
    [520, false],
    [599, false],
  ])('%i is a failure; worth another try: %s', (status, retryable) => {
    const verdict = judge(status, { 'retry-after': '3' });
    expect(verdict).toMatchObject({
      kind: 'failed',
      retryable,
      retryAfterMs: 3000,
      error: { code: 'upstream_error', status: 502 },
    });
    if (verdict.kind === 'failed')
      expect(verdict.error.options.detail).toBe(`The platform answered with status ${status}.`);
  });

  it.each([300, 301, 302, 303, 305, 307, 308, 399])('%i is followed nowhere', (status) => {
    expect(judge(status, { location: 'http://169.254.169.254/latest/meta-data/' })).toMatchObject({
      kind: 'invalid',
      error: { code: 'upstream_invalid_response', status: 502 },
    });
    expect(judge(status).kind).toBe('invalid');
  });

  it('has a meaning for every number', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 999 }), (status) => {
        const { kind } = judge(status);
        expect(kind === 'answer').toBe((status >= 200 && status < 300) || status === 304);
      }),
    );
  });
});

describe('a redirect', () => {
  it.each([
    ['/login', 'https://platform.example'],
    ['/login?next=%2Fapi', 'https://platform.example'],
    ['/login#top', 'https://platform.example'],
    ['https://platform.example/login', 'https://platform.example'],
    ['https://sso.example/login', 'https://platform.example'],
    ['//platform.example/login', 'https://platform.example'],
    ['login', 'https://platform.example'],
    ['/dsp/login', 'https://platform.example/dsp'],
    ['/dsp/login', 'https://platform.example/dsp/'],
    ['/login', 'https://platform.example/dsp'],
  ])('to %s (platform at %s) means that the credential is refused', (location, base) => {
    for (const status of [301, 302, 303, 307, 308])
      expect(judge(status, { location }, rulesOf(base))).toEqual({ kind: 'credential-refused' });
  });

  it.each([
    '/',
    '/logins',
    '/login/',
    '/LOGIN',
    '/maintenance?next=/login',
    '/dsp/login',
    'https://platform.example/',
    'https://[broken',
    '',
  ])('to %j does not', (location) => {
    expect(judge(302, { location }).kind).toBe('invalid');
  });

  it('to one of several login paths counts, and to none when there are none', () => {
    const several = rulesOf('https://platform.example', ['/login', '/sso/start']);
    expect(judge(302, { location: '/sso/start' }, several).kind).toBe('credential-refused');
    expect(judge(302, { location: '/login' }, rulesOf('https://platform.example', [])).kind).toBe('invalid');
  });

  it('says why in the log alone', () => {
    const verdict = judge(302, { location: 'http://169.254.169.254/' });
    if (verdict.kind !== 'invalid') return expect.unreachable();
    expect(verdict.error.options.detail).toBeUndefined();
    expect(verdict.error.message).toContain('302');
  });
});

describe('retry-after', () => {
  it.each([
    ['0', 0],
    ['7', 7000],
    [' 7 ', 7000],
    ['007', 7000],
    ['99999999999999999999', Number.MAX_SAFE_INTEGER],
    ['Sat, 21 Nov 2026 12:01:00 GMT', 60_000],
    ['Saturday, 21-Nov-26 12:01:00 GMT', 60_000],
    ['Sat Nov 21 12:01:00 2026', 60_000],
    ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
    ['-5', null],
    ['1.5', null],
    ['1e3', null],
    ['5s', null],
    ['soon', null],
    ['', null],
    ['2026-11-21', null],
    ['2026-11-21T12:01:00Z', null],
    ['Sat, 21 Nov 2026 12:01:00 CET', null],
    ['Sat, 99 Nov 2026 12:01:00 GMT', null],
    [undefined, null],
  ])('%j is %s ms', (value, wanted) => {
    expect(parseRetryAfter(value, NOW)).toBe(wanted);
  });

  it.each([
    ['an hour behind', NOW - 3_600_000],
    ['an hour ahead', NOW + 3_600_000],
    ['right', NOW],
  ])("that is a date is read by the platform's clock where this machine's is %s", (_, nowMs) => {
    const headers = {
      date: new Date(NOW).toUTCString(),
      'retry-after': new Date(NOW + 2000).toUTCString(),
    };
    expect(interpret(429, headers, RULES, nowMs)).toEqual({ kind: 'rate-limited', retryAfterMs: 2000 });
  });

  it('is never negative, whatever it says', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.integer().map(String),
          fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
        ),
        (value) => {
          const waitMs = parseRetryAfter(value, NOW);
          expect(waitMs === null || (Number.isFinite(waitMs) && waitMs >= 0)).toBe(true);
        },
      ),
    );
  });

  it('is the first of two', () => {
    expect(judge(429, { 'retry-after': ['3', '9'] })).toMatchObject({ retryAfterMs: 3000 });
  });
});

describe('caching as the origin says it (RFC 9111)', () => {
  const date = 'Sat, 21 Nov 2026 12:00:00 GMT';
  it.each<[Headers, number | null, boolean]>([
    [{}, 0, false],
    [{ 'cache-control': 'no-cache, private' }, null, false],
    [{ 'cache-control': 'no-store' }, null, true],
    [{ 'cache-control': 'No-Store, max-age=60' }, null, true],
    [{ 'cache-control': ['max-age=60', 'no-store'] }, null, true],
    [{ 'cache-control': 'private="x", max-age=60' }, null, false],
    [{ 'cache-control': 'no-cache' }, 0, false],
    [{ 'cache-control': 'max-age=60' }, 60_000, false],
    [{ 'cache-control': 'public, max-age="60"' }, 60_000, false],
    [{ 'cache-control': 'max-age=60, s-maxage=10' }, 10_000, false],
    [{ 'cache-control': 'max-age=60', age: '45' }, 15_000, false],
    [{ 'cache-control': 'max-age=60', age: '90' }, 0, false],
    [{ 'cache-control': 'max-age=60', age: 'old' }, 60_000, false],
    [{ 'cache-control': 'max-age=60', age: '45, 0' }, 15_000, false],
    [{ 'cache-control': 'max-age=60', age: ['45', '0'] }, 15_000, false],
    [{ 'cache-control': 'max-age=60, max-age=5' }, 60_000, false],
    [{ expires: 'Thursday, 18-Aug-50 02:01:18 GMT', date }, 749_138_478_000, false],
    [{ expires: 'Sunday, 06-Nov-94 08:49:37 GMT', date }, 0, false],
    [{ 'cache-control': 'max-age=soon', expires: 'Sat, 21 Nov 2026 13:00:00 GMT' }, 0, false],
    [{ 'cache-control': 'max-age=99999999999' }, 2 ** 31 * 1000, false],
    [{ expires: 'Sat, 21 Nov 2026 12:01:00 GMT', date }, 60_000, false],
    [{ expires: 'Sat, 21 Nov 2026 12:01:00 GMT' }, 60_000, false],
    [{ expires: 'Sat, 21 Nov 2026 12:01:00 GMT', date, age: '20' }, 40_000, false],
    [{ expires: 'Sat, 21 Nov 2026 11:00:00 GMT', date }, 0, false],
    [{ expires: '0' }, 0, false],
    [{ expires: '-1' }, 0, false],
    [{ 'cache-control': 'max-age=60', vary: '*' }, null, false],
    [{ 'cache-control': 'max-age=60', vary: 'accept, *' }, null, false],
    [{ 'cache-control': 'max-age=60', vary: ['accept', '*'] }, null, false],
    [{ 'cache-control': 'max-age=60', vary: 'accept' }, 60_000, false],
  ])('%j: fresh for %s ms, no-store: %s', (headers, originMs, noStore) => {
    expect(originCaching(headers, NOW, NOW)).toEqual({ originMs, noStore });
  });

  it.each<[string, Headers, number]>([
    ['the time that its call took', { 'cache-control': 'max-age=60', age: '10' }, 45_000],
    ['what its date says', { 'cache-control': 'max-age=60', date: 'Sat, 21 Nov 2026 11:59:20 GMT' }, 20_000],
    ['the older of both', { 'cache-control': 'max-age=60', age: '50', date }, 5000],
  ])('counts as its age %s', (_, headers, originMs) => {
    expect(originCaching(headers, NOW - 5000, NOW)).toEqual({ originMs, noStore: false });
  });
});
