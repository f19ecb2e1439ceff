import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { withGateway } from '../support/start-gateway.js';
import { cacheOf } from './reports.js';

/** Larger than what is left as it is. */
const MONTHS = 'advertiserId=1&byDate=1&byCampaign=1&dateFrom=2026-08-01&dateTo=2026-09-30';

it('an answer that nobody asked for again takes less memory, and is the same when somebody does', async () => {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  const { l1 } = gateway.services;
  const first = await gateway.report(key, MONTHS);
  await setImmediate();
  const packed = l1.bytes;
  const [second, third] = [await gateway.report(key, MONTHS), await gateway.report(key, MONTHS)];
  expect([cacheOf(second), second.text]).toEqual([
    expect.stringMatching(/^hit; ttl=\d+; detail=l1$/),
    first.text,
  ]);
  expect(third.text).toBe(first.text);
  // From now on as it is sent.
  expect(l1.bytes - packed).toBeGreaterThan(first.text.length / 2);
  expect(l1.entries).toBe(1);
});
