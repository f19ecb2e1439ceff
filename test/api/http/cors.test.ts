/** Pages of other origins: whatever they are told, they can read. */
import { describe, expect, it } from 'vitest';
import { exchange, head, readAnswers } from '../../support/raw-socket.js';
import { listening } from './listening.js';

const PAGE = 'https://app.example';
const PREFLIGHT = ['access-control-request-method: PUT', 'access-control-request-headers: x-api-key'];

async function asked(url: string, method: string, headers: readonly string[]) {
  const sent = head(`${method} /nothing HTTP/1.1`, ['host: a', 'connection: close', ...headers]);
  const [answer] = readAnswers(await exchange(url, sent));
  const headerOf = (name: string) =>
    new RegExp(`^${name}: (.*)$`, 'im').exec(answer?.head ?? '')?.[1]?.trim();
  return { status: answer?.status, type: headerOf('content-type'), headerOf };
}

describe.each([[[PAGE], PAGE] as const, [['*'], '*'] as const])(
  'where pages of %s may ask',
  (corsOrigins, allowed) => {
    it.each(['GET', 'OPTIONS'])(
      'a %s of an unknown address is a 404 that the page can read',
      async (method) => {
        const { url } = await listening({ corsOrigins });
        const { status, type, headerOf } = await asked(url, method, [`origin: ${PAGE}`]);
        expect([status, type]).toEqual([404, 'application/problem+json; charset=utf-8']);
        expect(headerOf('access-control-allow-origin')).toBe(allowed);
        expect(headerOf('access-control-expose-headers')).toContain('x-request-id');
        expect(headerOf('vary')).toMatch(/, origin$/);
      },
    );

    it('a page that asks ahead is let on to its request', async () => {
      const { url } = await listening({ corsOrigins });
      const { status, headerOf } = await asked(url, 'OPTIONS', [`origin: ${PAGE}`, ...PREFLIGHT]);
      expect(status).toBe(204);
      expect(headerOf('access-control-allow-origin')).toBe(allowed);
      expect(headerOf('access-control-allow-methods')).toContain('PUT');
      expect(headerOf('access-control-allow-headers')).toBe('x-api-key');
      expect(headerOf('vary')).toBe('origin, access-control-request-headers');
    });

    it('a request that names no origin is answered as ever', async () => {
      const { url } = await listening({ corsOrigins });
      const { status, type } = await asked(url, 'OPTIONS', PREFLIGHT);
      expect([status, type]).toEqual([404, 'application/problem+json; charset=utf-8']);
    });
  },
);

it('a page of another origin is allowed nothing', async () => {
  const { url } = await listening({ corsOrigins: [PAGE] });
  for (const method of ['GET', 'OPTIONS']) {
    const { status, headerOf } = await asked(url, method, ['origin: https://evil.example', ...PREFLIGHT]);
    expect([status, headerOf('access-control-allow-origin')]).toEqual([404, undefined]);
  }
});
