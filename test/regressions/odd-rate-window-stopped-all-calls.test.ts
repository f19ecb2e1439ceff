/** A platform that shows a rate nobody expected must not stop the calls that would find out what holds. */
import { describe, expect, it } from 'vitest';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';

const ROWS = '{"data":[{"campaign_id":7,"advertiser_id":1,"spent":"1.50"}]}';
const day = (of: number) => `advertiserId=1&dateFrom=2026-10-${of}&dateTo=2026-10-${of}`;

describe('calls go on after an answer whose x-ratelimit-reset', () => {
  it.each([
    ['is a time in milliseconds', () => Date.now() + 30_000],
    ['is a count of milliseconds', () => 300_000],
    ['is the end of a day of which some is left', () => 40_000],
    ['is nothing that could be meant', () => 999_999_999_999_999],
  ])('%s', async (_, reset) => {
    const rate = { 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '20' };
    const platform = await startRawPlatform(sends(ROWS, { ...rate, 'x-ratelimit-reset': String(reset()) }));
    const gateway = await gatewayAt(platform, { config: { platform: { timeoutMs: 3000 } } });
    const key = await gateway.addTeam();
    for (const of of [10, 11]) expect(outcomeOf(await gateway.report(key, day(of)))).toBe('200');
    expect(gateway.services.pace.waitMs()).toBeLessThanOrEqual(1500);
  });
});
