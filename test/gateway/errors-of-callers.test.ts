import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../src/store/port.js';
import { outcomeOf, REPORT, withGateway } from '../support/start-gateway.js';
import { DAY } from '../support/test-clock.js';
import { problemIn, QUERY } from './problem.js';

const UNKNOWN_KEY = 'dgw_00000000000000000000000000000000_4a5EBJ';

describe('who may call', () => {
  it('is answered 401 for no key, a malformed one, an unknown one, two different ones', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const asked = async (headers: Record<string, string | string[]>) =>
      problemIn(await gateway.call(`${REPORT}?${QUERY}`, { headers }));
    expect(await asked({})).toBe('401 missing_api_key');
    expect(await asked({ cookie: `x-api-key=${key}` })).toBe('401 missing_api_key');
    expect(await asked({ x_api_key: key })).toBe('401 missing_api_key');
    expect(await asked({ 'x-api-key': '' })).toBe('401 invalid_api_key');
    expect(await asked({ 'x-api-key': `${key}x` })).toBe('401 invalid_api_key');
    expect(await asked({ authorization: key })).toBe('401 invalid_api_key');
    expect(await asked({ authorization: `Basic ${key}` })).toBe('401 invalid_api_key');
    expect(await asked({ 'x-api-key': UNKNOWN_KEY })).toBe('401 invalid_api_key');
    expect(await asked({ 'x-api-key': key, authorization: 'Bearer other' })).toBe('401 invalid_api_key');
    expect(await asked({ 'x-api-key': [key, key] })).toBe('401 invalid_api_key');
    expect(outcomeOf(await gateway.report(key, `${QUERY}&api_key=${key}`))).toBe('200');
    expect(problemIn(await gateway.call(`${REPORT}?${QUERY}&key=${key}`))).toBe('401 missing_api_key');
    expect(gateway.simulator.callCount).toBe(1);
  });

  it('takes the same key in both headers', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const reply = await gateway.report(key, QUERY, { headers: { authorization: `Bearer ${key}` } });
    expect(outcomeOf(reply)).toBe('200');
  });

  it('is answered 401 for an expired key and a revoked one; both worked before', async () => {
    const gateway = await withGateway();
    await gateway.addTeam({ id: 'growth' });
    const issue = (expiresAt: string | null) => gateway.manage('POST', '/teams/growth/keys', { expiresAt });
    const expiring = await issue('2026-11-22T00:00:00Z');
    const revoked = await issue(null);
    expect(outcomeOf(await gateway.report(String(expiring.key), QUERY))).toBe('200');
    expect(outcomeOf(await gateway.report(String(revoked.key), QUERY))).toBe('200');
    await gateway.manage('DELETE', `/keys/${revoked.id}`);
    gateway.clock.advance(DAY);
    expect(problemIn(await gateway.report(String(expiring.key), QUERY))).toBe('401 expired_api_key');
    expect(problemIn(await gateway.report(String(revoked.key), QUERY))).toBe('401 revoked_api_key');
  });

  it('is answered 403 for a disabled team, another address, a missing scope', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ id: 'growth', ipAllow: ['10.0.0.0/8'] });
    const other = await gateway.addTeam({ scopes: ['platform:read', 'platform:write'] });
    expect(outcomeOf(await gateway.report(key, QUERY, { from: '10.1.2.3' }))).toBe('200');
    expect(problemIn(await gateway.report(key, QUERY, { from: '192.0.2.1' }))).toBe('403 ip_forbidden');
    expect(problemIn(await gateway.report(other, QUERY))).toBe('403 scope_missing');
    await gateway.manage('PATCH', '/teams/growth', { disabled: true });
    expect(problemIn(await gateway.report(key, QUERY, { from: '10.1.2.3' }))).toBe('403 team_disabled');
  });

  it('is answered 403 for another advertiser, or none, of a limited team', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ advertisers: [2] });
    expect(problemIn(await gateway.report(key, QUERY))).toBe('403 advertiser_forbidden');
    expect(problemIn(await gateway.report(key, ''))).toBe('403 advertiser_required');
    expect(problemIn(await gateway.report(key, 'advertiserId=2&userId=1'))).toBe('403 advertiser_forbidden');
    expect(problemIn(await gateway.report(key, 'advertiserId=2&accountId=1'))).toBe(
      '403 advertiser_forbidden',
    );
    expect(gateway.simulator.callCount).toBe(0);
  });

  it('is answered 503 when the store has been away for too long; until then who is known is let in', async () => {
    let away = false;
    const gateway = await withGateway({
      wrapStore: ({ registry, ...store }) => {
        const changes: typeof registry.changes = (...since) =>
          away ? Promise.reject(new StoreUnavailable('away')) : registry.changes(...since);
        return { ...store, registry: { ...registry, changes } };
      },
    });
    const key = await gateway.addTeam();
    await gateway.services.registry.refresh();
    away = true;
    gateway.clock.advanceMonotonic(899_000);
    expect(outcomeOf(await gateway.report(key, QUERY))).toBe('200');
    gateway.clock.advanceMonotonic(1001);
    const refused = await gateway.report(key, QUERY);
    expect([problemIn(refused), refused.headers['retry-after']]).toEqual(['503 not_ready', '5']);
    expect((await gateway.call('/readyz')).status).toBe(503);
    away = false;
    await gateway.services.registry.refresh();
    expect(outcomeOf(await gateway.report(key, QUERY))).toBe('200');
  });
});
