import { describe, expect, it } from 'vitest';
import { createBrake } from '../../../src/teams/write-guard/brake.js';
import { openEmbedded, openReplica } from '../../support/shared-registry.js';
import { createTestClock } from '../../support/test-clock.js';

const stop = { by: 'ada', at: '2026-11-21T12:00:00.000Z', reason: 'budgets look wrong' };
const AUDIT = '{"action":"writes.stop"}';

async function open(guarded: readonly string[] = ['growth']) {
  const clock = createTestClock();
  const store = await openEmbedded();
  const { registry } = await openReplica(store, { clock });
  const isGuarded = (team: string) => guarded.includes(team);
  return { clock, store, registry, isGuarded, brake: createBrake(registry, isGuarded) };
}

const stoppedWith = (text: string) =>
  expect.objectContaining({
    code: 'writes_stopped',
    status: 503,
    options: expect.objectContaining({ detail: expect.stringContaining(text) }),
  });

describe('the brake', () => {
  it('lets writes pass that nobody stopped', async () => {
    const { brake } = await open();
    expect(() => brake.check('growth')).not.toThrow();
    expect(brake.stops()).toEqual({ all: null, teams: [] });
  });

  it('stops those of all teams, with who, when and why kept', async () => {
    const { brake, registry, isGuarded, store } = await open();
    await brake.stop(null, stop, AUDIT);
    for (const team of ['growth', 'other']) expect(() => brake.check(team)).toThrow(stoppedWith(stop.reason));
    expect(brake.stops()).toEqual({ all: stop, teams: [] });
    // Whoever starts later finds it so.
    const later = createBrake((await openReplica(store)).registry, isGuarded);
    expect(() => later.check('growth')).toThrow(stoppedWith(stop.reason));
    expect((await registry.list('writes/')).length).toBe(1);
  });

  it('stops those of one team and of no other, also while all are stopped', async () => {
    const { brake } = await open();
    await brake.stop('growth', stop, AUDIT);
    await brake.stop('apps', stop, AUDIT);
    expect(() => brake.check('growth')).toThrow(stoppedWith('of this team'));
    expect(() => brake.check('growt')).not.toThrow();
    expect(() => brake.check('all')).not.toThrow();
    expect(brake.stops().teams).toEqual([
      { team: 'apps', ...stop },
      { team: 'growth', ...stop },
    ]);
    await brake.stop(null, { ...stop, reason: 'everything' }, AUDIT);
    expect(() => brake.check('growth')).toThrow(stoppedWith('everything'));
    await brake.resume(null, AUDIT);
    expect(() => brake.check('other')).not.toThrow();
    expect(() => brake.check('growth')).toThrow(stoppedWith('of this team'));
    await brake.resume('growth', AUDIT);
    expect(() => brake.check('growth')).not.toThrow();
  });

  it('says that nothing was stopped where somebody resumes the wrong one', async () => {
    const { brake } = await open();
    await brake.stop('growth', stop, AUDIT);
    await expect(brake.resume(null, AUDIT)).rejects.toMatchObject({ code: 'conflict' });
    await expect(brake.resume('other', AUDIT)).rejects.toMatchObject({ code: 'conflict' });
    expect(() => brake.check('growth')).toThrow(stoppedWith('of this team'));
  });

  it('is lifted by a replica that has not heard of it', async () => {
    const { brake, store, isGuarded } = await open();
    const elsewhere = createBrake((await openReplica(store)).registry, isGuarded);
    await brake.stop('growth', stop, AUDIT);
    await elsewhere.resume('growth', AUDIT);
    expect(elsewhere.stops().teams).toEqual([]);
  });

  it('stops writes also by a record that cannot be read', async () => {
    const { brake, registry } = await open();
    await registry.commit({ writes: new Map([['writes/team/growth', 'odd']]) });
    expect(() => brake.check('growth')).toThrow(stoppedWith('cannot be read'));
    expect(brake.stops().teams).toMatchObject([{ team: 'growth', by: 'unknown' }]);
  });

  it('refuses writes of guarded teams once it is not known for two seconds, and lets others go on', async () => {
    const { brake, clock, registry } = await open(['growth']);
    await registry.refresh();
    clock.advanceMonotonic(1_500);
    expect(() => brake.check('growth')).not.toThrow();
    clock.advanceMonotonic(600);
    expect(() => brake.check('growth')).toThrow(expect.objectContaining({ code: 'write_guard_unavailable' }));
    expect(() => brake.check('other')).not.toThrow();
    await registry.refresh();
    expect(() => brake.check('growth')).not.toThrow();
  });

  it('stays as it was known last where it is not known any more', async () => {
    const { brake, clock } = await open(['growth']);
    await brake.stop(null, stop, AUDIT);
    clock.advanceMonotonic(600_000);
    for (const team of ['growth', 'other']) expect(() => brake.check(team)).toThrow(stoppedWith(stop.reason));
  });
});
