import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  expiryText,
  type Outlook,
  type OutlookOptions,
  outlookOf,
  renewalTime,
  WARN_AT_DAYS,
} from '../../../src/platform/credential/outlook.js';
import { createToken, EMPTY_VAULT, type Vault } from '../../../src/platform/credential/vault.js';
import { DAY } from '../../support/test-clock.js';

const CREATED = Date.parse('2026-01-01T00:00:00Z');
const iso = (ms: number) => new Date(ms).toISOString();

/** A vault whose active token was made on CREATED and lives for so long; null: it is not known for how long. */
function vaultOf(lifeMs: number | null): Vault {
  const from = {
    secret: 'x',
    source: 'staged' as const,
    expiresAt: lifeMs === null ? null : iso(CREATED + lifeMs),
  };
  return { ...EMPTY_VAULT, active: createToken(from, randomBytes(32), CREATED) };
}

function outlook(vault: Vault, afterMs: number, options: Partial<OutlookOptions> = {}): Outlook {
  return outlookOf(vault, {
    nowMs: CREATED + afterMs,
    proof: 'accepted',
    renewBeforeMs: null,
    ...options,
  });
}

describe('the outlook', () => {
  it('without a token says that it is missing, and nothing else', () => {
    expect(outlook(EMPTY_VAULT, 0, { proof: 'refused', renewBeforeMs: 30 * DAY })).toEqual({
      state: 'missing',
      expiresAt: null,
      expiryKnown: null,
      daysLeft: null,
      warningDays: null,
      renewsAt: null,
      refusedAt: null,
    });
  });

  it('says whether the expiry is known or assumed', () => {
    expect(outlook(vaultOf(100 * DAY), 0)).toMatchObject({ expiryKnown: true, daysLeft: 100 });
    expect(outlook(vaultOf(null), 0)).toMatchObject({ expiryKnown: false, daysLeft: 365 });
  });

  it('of a token that was refused, or whose time is over, says so', () => {
    const proof = 'refused';
    expect(outlook(vaultOf(DAY), 0, { proof }).state).toBe('refused');
    expect(outlook(vaultOf(DAY), DAY, { proof })).toMatchObject({ state: 'expired', daysLeft: 0 });
  });

  it('of a token that the platform has not answered to yet says that it is unproven, unless it expires', () => {
    const proof = 'unproven';
    expect(outlook(vaultOf(365 * DAY), 0, { proof }).state).toBe('unproven');
    expect(outlook(vaultOf(365 * DAY), 350 * DAY, { proof }).state).toBe('expiring');
  });

  it.each([
    [31 * DAY, null, 'ok'],
    [30 * DAY + 1, null, 'ok'],
    [30 * DAY, 30, 'expiring'],
    [20 * DAY, 30, 'expiring'],
    [14 * DAY, 14, 'expiring'],
    [7 * DAY, 7, 'expiring'],
    [3 * DAY, 3, 'expiring'],
    [1.5 * DAY, 3, 'expiring'],
    [DAY - 1, 1, 'expiring'],
    [0, 0, 'expired'],
    [-DAY, 0, 'expired'],
  ])('%d ms before the expiry warns of %s days: %s', (leftMs, days, state) => {
    const seen = outlook(vaultOf(365 * DAY), 365 * DAY - leftMs);
    expect([seen.warningDays, seen.state]).toEqual([days, state]);
  });

  it('tells people the days that are left, and whether they are assumed', () => {
    expect(expiryText(outlook(vaultOf(null), 352 * DAY))).toBe('expires in 13 days (assumed)');
    expect(expiryText(outlook(vaultOf(365 * DAY), 364 * DAY))).toBe('expires in 1 day');
  });

  it('where the gateway renews by itself warns only when that is long overdue', () => {
    const options = { renewBeforeMs: 30 * DAY };
    const at = (leftDays: number) => outlook(vaultOf(365 * DAY), (365 - leftDays) * DAY, options);
    expect(at(30)).toMatchObject({ warningDays: null, renewsAt: iso(CREATED + 335 * DAY) });
    expect(at(15).warningDays).toBeNull();
    expect(at(14).warningDays).toBe(14);
    expect(at(0).warningDays).toBe(0);
  });

  it('never rises with time, and is reached exactly at each threshold', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 400 * DAY }),
        fc.integer({ min: 0, max: 400 * DAY }),
        fc.integer({ min: 0, max: 400 * DAY }),
        fc.option(fc.integer({ min: 0, max: 300 * DAY })),
        (lifeMs, oneMs, moreMs, renewBeforeMs) => {
          const vault = vaultOf(lifeMs);
          const days = (afterMs: number) =>
            outlook(vault, afterMs, { renewBeforeMs }).warningDays ?? Number.POSITIVE_INFINITY;
          expect(days(oneMs + moreMs)).toBeLessThanOrEqual(days(oneMs));
          for (const threshold of WARN_AT_DAYS) {
            const reached = days(lifeMs - threshold * DAY);
            if (renewBeforeMs === null) expect(reached).toBe(threshold);
            else expect(reached).toBeGreaterThanOrEqual(threshold);
          }
        },
      ),
    );
  });
});

describe('the time of a renewal', () => {
  it('is so long before the expiry, but never in the first two thirds of a life', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 400 * DAY }),
        fc.integer({ min: 1, max: 300 * DAY }),
        (lifeMs, beforeMs) => {
          const { active } = vaultOf(lifeMs);
          if (active === null) return expect.unreachable();
          const atMs = renewalTime(active, beforeMs) as number;
          expect(atMs).toBeLessThan(CREATED + lifeMs);
          expect(atMs).toBeGreaterThanOrEqual(CREATED + lifeMs - beforeMs);
          expect(atMs - CREATED).toBeGreaterThanOrEqual((2 * lifeMs) / 3 - 1);
          if (3 * beforeMs <= lifeMs) expect(atMs).toBe(CREATED + lifeMs - beforeMs);
        },
      ),
    );
  });

  it('never comes where the gateway does not renew ahead', () => {
    const { active } = vaultOf(DAY);
    if (active === null) return expect.unreachable();
    expect(renewalTime(active, null)).toBeNull();
    expect(renewalTime(active, 0)).toBeNull();
  });
});
