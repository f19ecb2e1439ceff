import { describe, expect, it } from 'vitest';
import { outcomeOf, withGateway } from '../support/start-gateway.js';
import { DAY, HOUR, MINUTE, SECOND } from '../support/test-clock.js';
import { cacheOf, FINAL, RESTATING } from './reports.js';

/** A gateway that has answered a report, and a team that may ask for fresher ones. */
async function answered(query = FINAL) {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  await gateway.report(key, query);
  const directives = (cacheControl: string, team = key) =>
    gateway.report(team, query, { headers: { 'cache-control': cacheControl } });
  return { gateway, key, directives };
}

describe('no-cache and max-age', () => {
  it('ask the platform anew, and everybody has the new answer', async () => {
    const { gateway, key, directives } = await answered();
    gateway.clock.advance(MINUTE);
    expect(cacheOf(await directives('no-cache'))).toBe('fwd=request; stored');
    expect(gateway.simulator.callCount).toBe(2);
    const next = await gateway.report(key, FINAL);
    expect([cacheOf(next), next.headers.age]).toEqual(['hit; ttl=2592000; detail=l1', '0']);
  });

  it('ask only when what there is is older than they want', async () => {
    const { gateway, directives } = await answered();
    gateway.clock.advance(MINUTE);
    expect(cacheOf(await directives('max-age=60'))).toMatch(/^hit/);
    expect(cacheOf(await directives('max-age=59'))).toBe('fwd=request; stored');
    expect(cacheOf(await directives('max-age=59'))).toMatch(/^hit/);
    expect(cacheOf(await directives('max-age=0'))).toBe('fwd=request; stored');
  });

  it('reach the store, too, past what is in memory', async () => {
    const { gateway, directives } = await answered(`${FINAL}&_format=csv`);
    gateway.clock.advance(MINUTE);
    expect(cacheOf(await directives('max-age=30'))).toBe('fwd=request; stored');
    expect(gateway.simulator.callCount).toBe(2);
  });

  it('mean nothing without the scope cache:refresh', async () => {
    const { gateway, directives } = await answered();
    const plain = await gateway.addTeam({ scopes: ['report:read'] });
    for (const directive of ['no-cache', 'max-age=0', 'no-store']) {
      expect(cacheOf(await directives(directive, plain))).toMatch(/^hit/);
    }
    expect(gateway.simulator.callCount).toBe(1);
  });

  it('are answered with what there is when the platform fails', async () => {
    const { gateway, directives } = await answered();
    gateway.simulator.fault({ kind: 'status', status: 500 });
    const reply = await directives('no-cache');
    expect([reply.status, cacheOf(reply)]).toEqual([200, 'hit; ttl=2592000; detail=stale-if-error']);
  });
});

describe('only-if-cached', () => {
  it('takes what is cached, stale or not, and otherwise says that it is not', async () => {
    const { gateway, key, directives } = await answered(RESTATING);
    expect(cacheOf(await directives('only-if-cached'))).toMatch(/^hit/);
    gateway.clock.advance(HOUR);
    expect(cacheOf(await directives('only-if-cached'))).toMatch(/stale-while-revalidate$/);
    await gateway.services.settled();
    // Nothing is asked for behind it either: that would be a call nobody wanted.
    expect(gateway.simulator.callCount).toBe(1);
    gateway.clock.advance(DAY);
    expect(outcomeOf(await directives('only-if-cached'))).toBe('504 not_cached');
    expect(outcomeOf(await directives('only-if-cached, no-cache'))).toBe('504 not_cached');
    const totals = await gateway.report(key, `${RESTATING}&_totals=1`, {
      headers: { 'cache-control': 'only-if-cached' },
    });
    expect(outcomeOf(totals)).toBe('504 not_cached');
    expect(gateway.simulator.callCount).toBe(1);
  });
});

describe('max-stale', () => {
  it('takes what is past its freshness by so much, at once, and has it refreshed behind', async () => {
    const { gateway, directives } = await answered(RESTATING);
    gateway.clock.advance(HOUR + 20 * MINUTE);
    expect(cacheOf(await directives('max-stale=1200'))).toBe('hit; ttl=-1200; detail=stale-while-revalidate');
    await gateway.services.settled();
    expect(gateway.simulator.callCount).toBe(2);
    expect(cacheOf(await directives('max-stale=1200'))).toBe('hit; ttl=3600; detail=store');
  });

  it('does not take what is past it by more', async () => {
    const { gateway, directives } = await answered(RESTATING);
    gateway.clock.advance(HOUR + 20 * MINUTE + SECOND);
    expect(cacheOf(await directives('max-stale=1200'))).toBe('fwd=stale; stored');
  });

  it('without a number takes whatever is kept, needs no scope, and has its end where stale-if-error has', async () => {
    const { gateway, directives } = await answered(RESTATING);
    const plain = await gateway.addTeam({ scopes: ['report:read'] });
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    gateway.clock.advance(7 * DAY + HOUR - 1);
    expect(cacheOf(await directives('max-stale', plain))).toBe(
      'hit; ttl=-604800; detail=stale-while-revalidate',
    );
    await gateway.services.settled();
    gateway.clock.advance(1);
    expect(outcomeOf(await directives('max-stale', plain))).toBe('502 upstream_error');
  });
});
