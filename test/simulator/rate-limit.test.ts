import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRateLimit } from '../../src/simulator/rate-limit.js';
import { createStandingClock } from '../support/test-clock.js';
import { call, REPORT, start } from './support.js';

describe('the rate limit', () => {
  it('is 60 calls a minute by default, counted by the clock', async () => {
    const clock = createStandingClock();
    const simulator = await start({ clock, switches: { rateLimitPerMinute: 60 } });
    for (let made = 1; made <= 60; made++) {
      const { status, headers } = await call(simulator, REPORT);
      expect(status).toBe(200);
      expect(headers['x-ratelimit-limit']).toBe('60');
      expect(headers['x-ratelimit-remaining']).toBe(String(60 - made));
    }
    clock.pass(20_500);
    const refused = await call(simulator, REPORT);
    expect(refused.status).toBe(429);
    expect(refused.json()).toEqual({ message: 'Too Many Attempts.' });
    expect(refused.headers).toMatchObject({ 'retry-after': '40', 'x-ratelimit-remaining': '0' });
    clock.pass(39_499);
    expect((await call(simulator, REPORT)).status).toBe(429);
    clock.pass(1);
    expect((await call(simulator, REPORT)).status).toBe(200);
  });

  it('is each token’s own, and does not count calls without one', async () => {
    const simulator = await start({ switches: { rateLimitPerMinute: 1 } });
    const headers = { authorization: `Bearer ${simulator.issueToken()}` };
    expect((await call(simulator, REPORT, { headers: { authorization: 'Bearer wrong' } })).status).toBe(401);
    expect((await call(simulator, REPORT)).status).toBe(200);
    expect((await call(simulator, REPORT)).status).toBe(429);
    expect((await call(simulator, REPORT, { headers })).status).toBe(200);
  });

  it('starts again when the clock is moved back', () => {
    const limit = createRateLimit();
    expect(limit.take('a', 1_000_000, 1).granted).toBe(true);
    expect(limit.take('a', 1_000_000, 1).granted).toBe(false);
    expect(limit.take('a', 500_000, 1).granted).toBe(true);
  });

  it('grants no more than the limit in a minute, and grants again when it said it would', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 80 });
    fc.assert(
      fc.property(pauses, fc.integer({ min: 1, max: 10 }), (gaps, perMinute) => {
        const limit = createRateLimit();
        let now = 0;
        let windowStart = 0;
        let granted = 0;
        for (const gap of gaps) {
          now += gap;
          const allowance = limit.take('a', now, perMinute);
          if (now - windowStart >= 60_000 || granted === 0) [windowStart, granted] = [now, 0];
          if (allowance.granted) granted++;
          expect(granted).toBeLessThanOrEqual(perMinute);
          expect(allowance.remaining).toBe(perMinute - granted);
          if (!allowance.granted) {
            expect(granted).toBe(perMinute);
            now += allowance.retryAfterS * 1000;
            expect(limit.take('a', now, perMinute).granted).toBe(true);
            [windowStart, granted] = [now, 1];
          }
        }
      }),
    );
  });
});
