import { describe, expect, it } from 'vitest';
import { deadUrl } from '../support/broken-platform.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { type Call, gatewayAt, outcomeOf, type TestGateway } from '../support/start-gateway.js';

const MAY_BE_DONE =
  'The write may have been carried out all the same: look on the platform before you send it again.';
const RULES = { config: { platform: { timeoutMs: 300, retry: { attempts: 0 } } } };

async function write(gateway: TestGateway, call: Call) {
  const reply = await gateway.call('/api/v1/campaign/create', { key: await gateway.addTeam(), ...call });
  return [outcomeOf(reply), String(reply.json().detail)] as const;
}

const WRITES: readonly Call[] = [
  { method: 'POST', json: { userId: 1 } },
  { method: 'POST', json: { userId: 1 }, headers: { 'idempotency-key': 'k' } },
  { method: 'PUT', body: 'film', headers: { 'content-type': 'video/mp4' } },
  { method: 'DELETE' },
];

describe('a write that failed', () => {
  it.each([
    ['500', sends('', {}, 500), '502 upstream_error'],
    ['a redirect elsewhere', sends('', { location: '/x' }, 303), '502 upstream_invalid_response'],
    ['silence', (() => {}) as ReturnType<typeof sends>, '504 upstream_timeout'],
  ])('may have been carried out, and says so: %s', async (_how, handler, outcome) => {
    const gateway = await gatewayAt(await startRawPlatform(handler), RULES);
    for (const call of WRITES) {
      const [said, detail] = await write(gateway, call);
      expect(said).toBe(outcome);
      expect(detail).toContain(MAY_BE_DONE);
      expect(detail).not.toContain('cached');
    }
  });

  it.each([
    ['429', sends('', { 'retry-after': '1' }, 429), '503 upstream_rate_limited'],
    ['401', sends('', {}, 401), '503 credential_unavailable'],
  ])('was certainly not carried out, and is not said to be: %s', async (_how, handler, outcome) => {
    const gateway = await gatewayAt(await startRawPlatform(handler), RULES);
    const [said, detail] = await write(gateway, WRITES[0] as Call);
    expect(said).toBe(outcome);
    expect(detail).not.toContain('carried out');
  });

  it('was certainly not carried out where nobody listens', async () => {
    const gateway = await gatewayAt({ url: (await deadUrl()).href, token: '42|token-of-this-test' }, RULES);
    for (const call of WRITES.filter(({ body }) => body === undefined)) {
      const [said, detail] = await write(gateway, call);
      expect(said).toBe('502 upstream_error');
      expect(detail).not.toContain('carried out');
    }
  });

  it('is no read: those may be asked again', async () => {
    const gateway = await gatewayAt(await startRawPlatform(sends('', {}, 500)), RULES);
    const [said, detail] = await write(gateway, { method: 'GET' });
    expect([said, detail]).toEqual(['502 upstream_error', 'The platform answered with status 500.']);
  });
});
