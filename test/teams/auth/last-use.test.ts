import { describe, expect, it, onTestFinished } from 'vitest';
import { type CounterRaise, type Counters, StoreUnavailable } from '../../../src/store/port.js';
import { createLastUse } from '../../../src/teams/auth/last-use.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openEmbedded } from '../../support/shared-registry.js';
import { createTestClock, MINUTE, NOON } from '../../support/test-clock.js';

/** Never flushed by itself, so that a test says when. */
const NEVER_MS = 3_600_000;

async function open(clock = createTestClock(), given?: Counters) {
  const real = given ?? (await openEmbedded(clock)).counters;
  const batches: (readonly CounterRaise[])[] = [];
  let away = false;
  const counters: Counters = {
    async add(id, adds, raises, ttlMs) {
      if (away) throw new StoreUnavailable('away');
      batches.push(raises);
      await real.add(id, adds, raises, ttlMs);
    },
    read: (groups) => (away ? Promise.reject(new StoreUnavailable('away')) : real.read(groups)),
  };
  const log = createRecordedLog();
  const uses = createLastUse(counters, clock, log.logger, NEVER_MS);
  onTestFinished(() => uses.close());
  return {
    uses,
    clock,
    log,
    real,
    batches,
    setAway: (is: boolean) => {
      away = is;
    },
  };
}

describe('the last use of keys', () => {
  it('is written in one batch, and survives a restart', async () => {
    const { uses, clock, batches, real } = await open();
    uses.note('key_a');
    uses.note('key_b');
    clock.advance(1500);
    uses.note('key_a');
    await uses.flush();
    expect(batches).toHaveLength(1);
    const restarted = await open(clock, real);
    expect(await restarted.uses.read()).toEqual(
      new Map([
        ['key_a', NOON + 1500],
        ['key_b', NOON],
      ]),
    );
  });

  it('is written at most once a minute for each key, and known to the millisecond here', async () => {
    const { uses, clock, batches } = await open();
    for (let second = 0; second <= 180; second += 5) {
      uses.note('key_a');
      await uses.flush();
      expect((await uses.read()).get('key_a')).toBe(clock.now());
      clock.advance(5000);
    }
    expect(batches.map(([raise]) => (raise?.to ?? 0) - NOON)).toEqual([0, MINUTE, 2 * MINUTE, 3 * MINUTE]);
  });

  it('is written once more when the process ends, and not when there is nothing new', async () => {
    const { uses, clock, batches, real } = await open();
    uses.note('key_a');
    await uses.flush();
    clock.advance(1000);
    uses.note('key_a');
    await uses.close();
    await uses.close();
    expect(batches).toHaveLength(2);
    const later = await open(clock, real);
    expect((await later.uses.read()).get('key_a')).toBe(NOON + 1000);
  });

  it('never goes back, whichever replica writes last', async () => {
    const { uses, clock, real } = await open();
    const other = await open(createTestClock('2026-11-21T12:00:05Z'), real);
    uses.note('key_a');
    other.uses.note('key_a');
    await other.uses.flush();
    await uses.flush();
    const third = await open(clock, real);
    expect((await third.uses.read()).get('key_a')).toBe(NOON + 5000);
  });

  it('waits in memory while the store is away, and says so once', async () => {
    const { uses, log, setAway, batches } = await open();
    setAway(true);
    uses.note('key_a');
    expect([await uses.flush(), await uses.flush()]).toEqual([false, false]);
    await expect(uses.read()).rejects.toThrow(StoreUnavailable);
    expect(log.messages('warn')).toHaveLength(1);
    setAway(false);
    expect(await uses.flush()).toBe(true);
    expect(batches).toEqual([[{ group: 'keys/last-used', field: 'key_a', to: NOON }]]);
  });
});
