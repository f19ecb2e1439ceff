import { expect, it } from 'vitest';
import { sends, startRawPlatform } from '../../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../../support/start-gateway.js';

it('an idempotency key is for POST: with another write it is refused, and nothing is sent', async () => {
  const platform = await startRawPlatform(sends('{}'));
  const gateway = await gatewayAt(platform);
  const key = await gateway.addTeam();
  const headers = { 'idempotency-key': 'once' };
  for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
    const reply = await gateway.call('/api/v1/campaign/1', { key, method, headers });
    expect([method, outcomeOf(reply)]).toEqual([method, '400 invalid_request']);
    expect(reply.json().detail).toBe('idempotency-key is for POST alone; leave it out.');
  }
  expect(platform.requests).toHaveLength(0);
  expect((await gateway.call('/api/v1/campaign/1', { key, headers })).status).toBe(200);
  const made = { key, method: 'POST', headers, json: {} } as const;
  expect((await gateway.call('/api/v1/campaign/create', made)).status).toBe(200);
});
