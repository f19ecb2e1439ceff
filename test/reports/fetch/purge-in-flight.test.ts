import { describe, expect, it } from 'vitest';
import { sends, startHeldPlatform } from '../../support/raw-platform.js';
import { gatewayAt, outcomeOf, reportIn } from '../../support/start-gateway.js';
import { HOUR, MINUTE } from '../../support/test-clock.js';
import { ALWAYS, byDay, periodOf, rowsPerDay } from './by-day.js';

const NO_RETRY = { ...ALWAYS, platform: { retry: { attempts: 0 } } };

/** A gateway that keeps the days of one answer, on a platform that holds the next. */
async function openWith(kept: string) {
  const platform = await startHeldPlatform(rowsPerDay(() => 1));
  const gateway = await gatewayAt(platform, { config: NO_RETRY });
  const key = await gateway.addTeam();
  platform.release();
  await gateway.report(key, kept);
  platform.hold();
  return { platform, gateway, key };
}

describe('a purge while an answer waits for its missing days', () => {
  it('makes the days found before it absent: they are asked for again', async () => {
    const { platform, gateway, key } = await openWith(byDay('2026-11-01', '2026-11-03'));
    gateway.clock.advance(MINUTE);
    const answer = gateway.report(key, `${byDay('2026-11-01', '2026-11-04')}&_days=1`);
    await platform.arrived(2);
    expect(periodOf(platform.requests[1] as { url: string })).toEqual(['2026-11-04', '2026-11-04']);
    gateway.clock.advance(MINUTE);
    const purgedAt = new Date(gateway.clock.now()).toISOString();
    await gateway.manage('POST', '/cache/purge', { all: true });
    gateway.clock.advance(MINUTE);
    platform.release();
    const { days = [] } = reportIn(await answer).meta;
    expect(days.map(({ date }) => date)).toEqual(['2026-11-01', '2026-11-02', '2026-11-03', '2026-11-04']);
    expect(days.filter(({ asOf }) => asOf < purgedAt)).toEqual([]);
  });

  it('leaves days alone that it does not touch', async () => {
    const { platform, gateway, key } = await openWith(byDay('2026-11-01', '2026-11-03'));
    const answer = gateway.report(key, byDay('2026-11-01', '2026-11-04'));
    await platform.arrived(2);
    await gateway.manage('POST', '/cache/purge', { from: '2026-10-01', to: '2026-10-31' });
    await gateway.manage('POST', '/cache/purge', { advertiserId: 2 });
    platform.release();
    expect(reportIn(await answer).meta.rowCount).toBe(4);
    expect(platform.requests).toHaveLength(2);
  });

  it('leaves nothing old to answer with when the platform then fails', async () => {
    const query = byDay('2026-11-18', '2026-11-19');
    const { platform, gateway, key } = await openWith(query);
    gateway.clock.advance(2 * HOUR);
    const answer = gateway.report(key, query);
    await platform.arrived(2);
    await gateway.manage('POST', '/cache/purge', { all: true });
    platform.answer(sends('{}', {}, 500));
    platform.release();
    expect(outcomeOf(await answer)).toBe('502 upstream_error');
  });
});
