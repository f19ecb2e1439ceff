/**
 * While the platform was busy each caller of a report stood in line for a slot of his own: a few callers of one report
 * filled the line, and the others, and those who asked for something else, were refused as `overloaded`.
 */
import { expect, it } from 'vitest';
import { sends, startHeldPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';

const of = (advertiser: number) => `advertiserId=${advertiser}&dateFrom=2026-11-01&dateTo=2026-11-07`;

it('callers of one report take one place in the line for the platform', async () => {
  const platform = await startHeldPlatform(sends('{"data":[{"impressions":7}]}'));
  const gateway = await gatewayAt(platform, {
    config: { platform: { maxConcurrent: 1, maxQueued: 2, retry: { attempts: 0 } } },
  });
  const key = await gateway.addTeam();
  const busy = gateway.report(key, of(1));
  await platform.arrived(1);
  const same = Array.from({ length: 50 }, () => gateway.report(key, of(2)));
  await expect.poll(() => gateway.services.reporting.waiting()).toBe(49);
  const another = gateway.report(key, of(3));
  await expect.poll(() => gateway.services.budget.queued).toBe(2);
  platform.release();
  const replies = await Promise.all([busy, another, ...same]);
  expect(new Set(replies.map(outcomeOf))).toEqual(new Set(['200']));
  expect(platform.requests).toHaveLength(3);
});
