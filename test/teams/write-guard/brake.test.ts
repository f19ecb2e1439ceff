/** The brake of writes, and writes of unknown outcome. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NOTE_MAX_BYTES } from '../../../src/store/charges-port.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { createBrake } from '../../../src/teams/write-guard/brake.js';
import { countUnknown } from '../../../src/teams/write-guard/create-write-guard.js';
import { noteOf, purseOf, unknownWrite } from '../../../src/teams/write-guard/reservations.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openInMemory, openReplica } from '../../support/shared-registry.js';
import { withGateway } from '../../support/start-gateway.js';
import { createTestClock } from '../../support/test-clock.js';
import { waitFor } from '../../support/wait-for.js';

const stop = { by: 'ada', at: '2026-11-21T12:00:00.000Z', reason: 'budgets look wrong' };
const AUDIT = '{"action":"writes.stop"}';

async function open(guarded: readonly string[] = ['growth']) {
  const clock = createTestClock();
  const store = await openInMemory();
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
    expect(() => brake.check('growth')).toThrow(stoppedWith('is unreadable'));
    expect(brake.stops().teams).toMatchObject([{ team: 'growth', by: 'unknown' }]);
  });

  it('refuses writes of guarded teams once it is not known for two seconds, and lets others go on, unless it was on', async () => {
    const { brake, clock, registry } = await open(['growth']);
    await registry.refresh();
    clock.advanceMonotonic(1_500);
    expect(() => brake.check('growth')).not.toThrow();
    clock.advanceMonotonic(600);
    expect(() => brake.check('growth')).toThrow(expect.objectContaining({ code: 'write_guard_unavailable' }));
    expect(() => brake.check('other')).not.toThrow();
    await registry.refresh();
    expect(() => brake.check('growth')).not.toThrow();
    await brake.stop(null, stop, AUDIT);
    clock.advanceMonotonic(600_000);
    for (const team of ['growth', 'other']) expect(() => brake.check(team)).toThrow(stoppedWith(stop.reason));
  });
});

const text = fc.string({ unit: 'binary' });

it('reads of a charge what was reserved, whatever it is called, and why', () => {
  const named = fc.record({ team: text, route: text, day: text });
  const noted = fc.record({
    atMs: fc.nat(),
    amount: fc.option(fc.nat()),
    currency: fc.option(text),
  });
  fc.assert(
    fc.property(named, noted, fc.nat(), text, (reserved, write, charged, why) => {
      const charge = { id: 'a', purse: purseOf(reserved), amount: charged, note: noteOf(write, why) };
      expect(charge.purse).not.toContain('\n');
      expect(unknownWrite(charge, 0, 0)).toEqual({ id: 'a', ...reserved, ...write, why: why.slice(0, 300) });
    }),
  );
});

it('reads notes that name no amount, of releases that charged every one', () => {
  const charge = { id: 'a', purse: '["t","r","d"]', amount: 7, note: '{"atMs":1,"why":"so"}' };
  expect(unknownWrite(charge, 0, 0)).toMatchObject({ amount: 7, currency: null, why: 'so' });
});

const noted = (atMs: number) => ({ atMs, amount: Number.MAX_SAFE_INTEGER, currency: 'C'.repeat(8) });

it('writes notes that a store takes, however long what is known is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 300, maxLength: 2000 }), (why) => {
      expect(Buffer.byteLength(noteOf(noted(Number.MAX_SAFE_INTEGER), why))).toBeLessThanOrEqual(
        NOTE_MAX_BYTES,
      );
    }),
    { examples: [['\0'.repeat(400)], ['€'.repeat(400)], ['\ud800'.repeat(400)]] },
  );
});

it('takes a call for one under way for as long as calls last, and ten seconds more', () => {
  const times = fc.record({ atMs: fc.nat(), callMs: fc.nat(100_000), passedMs: fc.nat(200_000) });
  fc.assert(
    fc.property(times, ({ atMs, callMs, passedMs }) => {
      const charge = { id: 'a', purse: '["t","r","d"]', amount: 1, note: noteOf(noted(atMs)) };
      const isUnknown = unknownWrite(charge, atMs + passedMs, callMs) !== null;
      expect(isUnknown).toBe(passedMs >= callMs + 10_000);
    }),
  );
});

it('of a gateway are those of its store and its registry', async () => {
  const gateway = await withGateway();
  const { metrics, reservations, unknownWrites } = gateway.services;
  await gateway.addTeam({ id: 'growth' });
  const shown = async (name: string) =>
    new RegExp(`^dsp_gateway_writes_${name} (\\d+)$`, 'm').exec(await metrics.registry.metrics())?.[1];
  await waitFor('the first look', async () => (await shown('unknown')) === '0');
  expect(await shown('stopped')).toBe('0');
  const made = await reservations.reserve({ team: 'growth', route: 'POST /x', amount: 1, max: null });
  if (made.kind === 'over') throw new Error('there was room');
  await reservations.keepUnknown(made.reservation, 'it ended with upstream_timeout');
  await unknownWrites.look();
  expect(await shown('unknown')).toBe('1');
  await gateway.manage('POST', '/writes/stop', { reason: 'a loop' });
  await gateway.manage('POST', '/writes/stop', { team: 'growth', reason: 'a loop' });
  expect(await shown('stopped')).toBe('2');
});

it('say nothing while the store does not tell, and again what it tells when it does', async () => {
  let answer: () => never[] = () => [];
  const log = createRecordedLog();
  const counted = countUnknown({ unknown: async () => answer() }, log.logger);
  await counted.look();
  expect(counted.count()).toBe(0);
  answer = () => {
    throw new StoreUnavailable('away');
  };
  await counted.look();
  expect(counted.count()).toBeNull();
  expect(log.lines).toEqual([]);
  answer = () => {
    throw new Error('a fault of the program');
  };
  await counted.look();
  expect(log.lines).toMatchObject([{ level: 'error' }]);
  answer = () => [];
  await counted.look();
  expect(counted.count()).toBe(0);
  await counted.stop();
});
