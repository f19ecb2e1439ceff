/** The health of processes, and the verdict on it. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runChecks } from '../../src/telemetry/checks.js';
import { type Failures, joinFailures, NO_FAILURES } from '../../src/telemetry/failures.js';
import { HEALTH_PARTS } from '../../src/telemetry/finding.js';
import {
  addLoads,
  type Conditions,
  createHealth,
  type Health,
  type ProcessHealth,
  readProcessHealth,
  worstOf,
} from '../../src/telemetry/health.js';
import type { Measured } from '../../src/telemetry/measured.js';
import { verdictOf } from '../../src/telemetry/verdict.js';
import { measured } from '../support/measured.js';

const load = (n: number) => ({
  l1Bytes: n,
  l1Entries: n,
  callsRunning: n,
  callsQueued: n,
  recentCalls: n,
  recentFailedCalls: n,
  recentReports: n,
  recentFailedReports: n,
  recentWithoutSlot: n,
});
const LOAD = load(0);
const NOON = Date.parse('2026-11-21T12:00:00.000Z');
const open = (changes: Partial<Measured> = {}, id = 'me', now = () => NOON): Health =>
  createHealth(
    id,
    () => measured(changes),
    () => ({ tokenId: null, tokenSince: null }),
    now,
  );
const AWAY: Partial<Measured> = { store: { kind: 'redis', health: () => ({ ok: false }) } };
const other = (changes: Partial<ProcessHealth> = {}): ProcessHealth => ({
  id: 'other',
  host: 'far',
  pid: 2,
  version: '0.1.0',
  store: 'ok',
  credential: 'ok',
  platform: 'ok',
  since: { store: null, credential: null, platform: null, whole: null },
  limitRefusals: [],
  refusedKeys: [],
  failures: NO_FAILURES,
  tokenId: null,
  tokenSince: null,
  ...LOAD,
  ...changes,
});

describe('the health of a process', () => {
  it('is well while nothing is wrong', () => {
    expect(open().own()).toMatchObject({ store: 'ok', credential: 'ok', platform: 'ok', pid: process.pid });
  });

  it('tells the worst of what a part has, as it is now', () => {
    let [leftMs, isOpen] = [2500, true];
    const health = open({
      pause: { leftMs: () => leftMs },
      circuit: {
        get isOpen() {
          return isOpen;
        },
        failures: 10,
        leftMs: () => 7000,
      },
    });
    expect(health.own().platform).toBe('failing: 10 calls in a row failed; no call is made for 7 s more');
    isOpen = false;
    expect(health.own().platform).toBe('paused for 3 s');
    leftMs = 0;
    expect(health.own().platform).toBe('ok');
  });

  it('is told though one part cannot be read', () => {
    const health = open({
      outlook: () => {
        throw new Error('the vault does not open');
      },
      pause: { leftMs: () => 900 },
    });
    expect(health.own()).toMatchObject({ credential: 'unknown', platform: 'paused for 1 s' });
  });
});

/** Platform calls within the last five minutes. */
const called = (calls: number, failed: number): Partial<Measured> => ({
  recentCalls: { lastMinutes: () => ({ calls, failed }) },
});

describe('failed platform calls', () => {
  it.each([
    ['ok', 9, 9],
    ['ok', 10, 2],
    ['calls fail: 3 of 10 within the last 5 minutes', 10, 3],
    ['calls fail: 19 of 19 within the last 5 minutes', 19, 19],
    ['calls fail: 10 of 20 within the last 5 minutes', 20, 10],
    ['most calls fail: 11 of 20 within the last 5 minutes', 20, 11],
  ])('are told as "%s" of %i calls with %i failures', (text, calls, failed) => {
    const health = open(called(calls, failed));
    expect(health.own()).toMatchObject({ platform: text, recentCalls: calls, recentFailedCalls: failed });
    expect(health.worst().platform).toBe(text);
  });

  it('are judged by the calls of all processes together, without a fault of this one', () => {
    const health = open(called(9, 9));
    health.hear(() => [other({ recentCalls: 11, recentFailedCalls: 11 })]);
    expect(health.own().platform).toBe('ok');
    expect(health.worst().platform).toBe('most calls fail: 20 of 20 within the last 5 minutes');
  });

  it('of one process are told though most calls of all succeed', () => {
    const health = open(called(100, 0));
    const platform = 'most calls fail: 20 of 20 within the last 5 minutes';
    health.hear(() => [other({ platform, recentCalls: 20, recentFailedCalls: 20 })]);
    expect(health.worst().platform).toBe(platform);
  });
});

/** Their reports failed by this part at noon. */
const hit = (teams: readonly string[], part: 'platform' | 'credential' = 'platform'): Failures['teams'] =>
  teams.map((team) => ({ team, part, fromMs: NOON, atMs: NOON }));

/** The last call failed at noon, and was answered so many seconds later; null: not yet. */
const failedAtNoon = (answeredS: number | null, teams: readonly string[] = []): Failures => ({
  ...{ failedAtMs: NOON, why: 'status 500', teams: hit(teams) },
  answeredAtMs: answeredS === null ? null : NOON + answeredS * 1000,
});

describe('platform calls that failed until a call succeeded', () => {
  const told = (failures: Failures) => {
    const gateway = measured({ ...called(12, 11), failures: () => failures });
    const health = open({ ...called(12, 11), failures: () => failures });
    return verdictOf(gateway, true, health.worst(), health.own());
  };

  it('are told in the past, and are well, if all had failed', () => {
    expect(told(failedAtNoon(null)).findings[0]?.says).toMatch(/^Platform calls fail \(11 of 12 /);
    expect(told(failedAtNoon(60))).toEqual({ level: 'well', findings: [] });
    const health = open({ ...called(12, 11), failures: () => failedAtNoon(60) });
    expect(health.worst().platform).toBe('calls failed until 12:01 UTC: 11 of 12 within the last 5 minutes');
  });

  it('stay a warning if some were answered between the failed ones: one answer more shows nothing', () => {
    const mixed = { ...failedAtNoon(65), mixed: true } as const;
    expect(told(mixed)).toMatchObject({
      level: 'warning',
      findings: [
        {
          says: expect.stringMatching(
            /^Platform calls fail \(11 of 12 within the last 5 minutes, none since 12:01:05 UTC\): some /,
          ),
        },
      ],
    });
  });

  it('do not hide the calls of another process that fail now', () => {
    const health = open({ ...called(12, 11), failures: () => failedAtNoon(60) });
    const platform = 'calls fail: the last 9 since 12:01 UTC';
    health.hear(() => [other({ platform })]);
    expect(health.worst().platform).toBe(platform);
  });

  it('are not well after ten in a row, whoever made them, as with an open circuit', () => {
    const row = (calls: number) => ({
      ...failedAtNoon(null),
      row: { calls, sinceMs: NOON, afterMs: null },
    });
    expect(told(row(9))).toMatchObject({ level: 'warning' });
    expect(told(row(10))).toMatchObject({
      level: 'not well',
      findings: [
        { says: expect.stringMatching(/^The last 10 calls of the platform failed, since 12:00 UTC: most /) },
      ],
    });
  });

  it('name the last failure and the teams of failed reports, the first ones by name', () => {
    expect(told(failedAtNoon(null)).findings[0]?.details).toBe('Last failure: status 500.');
    const details = (...teams: string[]) => told(failedAtNoon(null, teams)).findings[0]?.details;
    expect(details('growth')).toBe('Last failure: status 500. Teams: growth.');
    expect(details('apac', 'emea', 'growth')).toMatch(/Teams: apac, emea, growth\.$/);
    expect(details('apac', 'emea', 'growth', 'q')).toMatch(/Teams: apac, emea, growth and 1 more\.$/);
  });

  it('are judged over all processes: another one’s later failure is the last', () => {
    const health = open({ ...called(12, 11), failures: () => failedAtNoon(1, ['growth']) });
    const later = {
      failedAtMs: NOON + 2000,
      why: 'connection refused',
      answeredAtMs: null,
      teams: hit(['emea']),
    };
    health.hear(() => [other({ failures: later })]);
    const all = health.processes().map(({ failures }) => failures);
    expect(health.worst().platform).toBe('calls fail: 11 of 12 within the last 5 minutes');
    const expected = { why: 'connection refused', failedAtMs: NOON + 2000 };
    for (const joined of [joinFailures(all), joinFailures(all.toReversed())]) {
      expect(joined).toMatchObject(expected);
      expect(joined.teams.map(({ team }) => team).sort()).toEqual(['emea', 'growth']);
    }
  });
});

describe('the health of all processes', () => {
  it('is the worst of each part, whoever has it', () => {
    const health = open(AWAY);
    health.hear(() => [other({ credential: 'refused' }), other({ id: 'third', credential: 'expiring' })]);
    expect(health.worst()).toEqual({ store: 'away', credential: 'refused', platform: 'ok' });
    expect(health.own()).toMatchObject({ credential: 'ok' });
  });

  it('has each process once, by the way that was added last, and itself by its own eyes', () => {
    const health = open();
    health.hear(() => [other({ store: 'away' }), other({ id: 'me', store: 'away' })]);
    health.hear(() => [other({ store: 'ok' })]);
    expect(health.processes().map(({ id, store }) => [id, store])).toEqual([
      ['me', 'ok'],
      ['other', 'ok'],
    ]);
  });

  it('adds up what they hold', () => {
    expect(addLoads([1, 20, 300].map(load))).toEqual(load(321));
    expect(addLoads([])).toEqual(LOAD);
  });

  it('takes a text it does not know for the worst: a newer version knows of something it does not', () => {
    expect(worstOf('store', ['away', 'lost in a way of next year', 'ok'])).toBe('lost in a way of next year');
    expect(worstOf('credential', ['unproven', 'expiring', 'expired', 'refused', 'missing', 'ok'])).toBe(
      'missing',
    );
    expect(worstOf('platform', [])).toBe('ok');
  });
});

describe('since when a part is so bad', () => {
  const at = (minute: number) => new Date(NOON + minute * 60_000).toISOString();
  let minute = 0;
  /** The platform of this process, its health, and what it tells of others. */
  function scene() {
    const state = { open: false, paused: false, others: [] as ProcessHealth[] };
    minute = 0;
    const health = open(
      {
        circuit: {
          get isOpen() {
            return state.open;
          },
          failures: 10,
          leftMs: () => 1000,
        },
        pause: { leftMs: () => Number(state.paused) * 1000 },
      },
      'me',
      () => NOON + minute * 60_000,
    );
    health.hear(() => state.others);
    const platform = () => health.own().since.platform;
    return { state, health, platform };
  }

  it('stays the first time it was seen, and is gone once the part is well', () => {
    const { state, platform } = scene();
    expect(platform()).toBeNull();
    state.open = true;
    expect(platform()).toEqual({ level: 'not well', at: at(0) });
    minute = 9;
    expect(platform()).toEqual({ level: 'not well', at: at(0) });
    state.open = false;
    expect(platform()).toBeNull();
    state.open = true;
    expect(platform()).toEqual({ level: 'not well', at: at(9) });
  });

  it('stays when the part gets worse or better, also for the whole', () => {
    const { state, health } = scene();
    const seen = () => {
      const { platform, whole } = health.own().since;
      return [platform, whole];
    };
    state.paused = true;
    const first = { level: 'warning', at: at(0) };
    expect(seen()).toEqual([first, first]);
    [minute, state.open] = [1, true];
    expect(seen()).toEqual([
      { level: 'not well', at: at(0) },
      { level: 'not well', at: at(0) },
    ]);
    const { level, since, findings } = verdictOf(measured(), true, health.worst(), health.own());
    expect([level, since, findings[0]?.since]).toEqual(['not well', at(0), at(0)]);
    [minute, state.open] = [2, false];
    expect(seen()).toEqual([first, first]);
    // A warning of another part is not how the whole began to be not well.
    state.others = [other({ credential: 'expiring' })];
    expect(seen()[1]).toEqual(first);
    [minute, state.open, state.paused] = [3, false, false];
    expect(seen()).toEqual([null, first]);
    [minute, state.open] = [4, true];
    expect(seen()[1]).toEqual({ level: 'not well', at: at(4) });
    [state.others, state.open] = [[], false];
    expect(seen()).toEqual([null, null]);
  });

  it('is the earliest that any process knows, which one that starts takes over', () => {
    const { state, health, platform } = scene();
    const since = { ...other().since, platform: { level: 'not well' as const, at: at(-7) } };
    state.others = [other({ platform: 'failing', since })];
    expect(platform()).toEqual({ level: 'not well', at: at(-7) });
    // The other has ended.
    [state.others, state.open] = [[], true];
    expect(platform()).toEqual({ level: 'not well', at: at(-7) });
    const { platform: text } = health.worst();
    const found = verdictOf(measured(), true, { ...OK, platform: text }, health.own());
    expect(found.findings).toMatchObject([{ part: 'platform', since: at(-7) }]);
  });
});

describe('what another process said of itself', () => {
  it('is read back as it was written', () => {
    const health = open(AWAY, 'one');
    expect(readProcessHealth(JSON.stringify(health.own()))).toEqual(health.own());
  });

  it('is read from an older version that tells less, and a newer one that tells more', () => {
    expect(readProcessHealth('{"id":"a","store":"away","disk":"full","l1Bytes":5}')).toEqual({
      ...other({ id: 'a', host: '', pid: 0, version: '', store: 'away', l1Bytes: 5 }),
    });
    // Before, a process told its number alone.
    for (const text of ['4711', '', '{"id":7}', 'null', '[]']) expect(readProcessHealth(text)).toBeNull();
  });

  it('costs only what cannot be read of it, of an older version or a newer one', () => {
    const why = 'status 503';
    const emea = { team: 'emea', part: 'platform', fromMs: 1, atMs: 1 };
    const told = {
      id: 'a',
      l1Bytes: 5,
      host: null,
      // Before, the names alone.
      failures: { failedAtMs: 1, why, answeredAtMs: null, teams: ['growth', emea], row: 3 },
      refusedKeys: [{ team: 'growth', reason: 'of a newer version' }],
    };
    const { failures, ...read } = readProcessHealth(JSON.stringify(told)) as ProcessHealth;
    expect(failures).toEqual({ failedAtMs: 1, why, answeredAtMs: null, teams: [emea] });
    expect(read).toMatchObject({ id: 'a', host: '', l1Bytes: 5, refusedKeys: [] });
  });

  it('is never more than it may be, whatever it is', () => {
    const anything = fc.jsonValue();
    const told = fc
      .record(
        { id: fc.string(), host: anything, store: anything, credential: anything, platform: anything },
        { requiredKeys: ['id'] },
      )
      .map((record) => JSON.stringify(record));
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string(), told), (text) => {
        const read = readProcessHealth(text);
        expect(read === null || HEALTH_PARTS.every((part) => typeof read[part] === 'string')).toBe(true);
      }),
    );
  });
});

const OK = { store: 'ok', credential: 'ok', platform: 'ok' };
const TOKEN = measured().outlook();
const when = (worst: Partial<Conditions>, changes: Partial<Measured> = {}, ready = true) =>
  verdictOf(measured(changes), ready, { ...OK, ...worst });

describe('the verdict', () => {
  it('is well without a finding', () => {
    expect(when({})).toEqual({ level: 'well', findings: [] });
  });

  it('tells whose reports fail by the token, and when it is tried again', () => {
    const teams = [...hit(['growth', 'emea'], 'credential'), ...hit(['apac'])];
    // Those of an earlier minute failed by an earlier refusal.
    teams.push({ team: 'former', part: 'credential', fromMs: NOON - 1000, atMs: NOON - 1 });
    const failures = { ...NO_FAILURES, why: 'status 500', teams };
    const since = {
      ...other().since,
      credential: { level: 'not well' as const, at: new Date(NOON + 30_000).toISOString() },
    };
    const details = (credential: string) =>
      verdictOf(measured(), true, { ...OK, credential }, { since, failures }).findings[0]?.details;
    expect(details('refused')).toBe(
      'Teams: emea, growth. The next request that needs the platform tries the token again, at most a minute after the last try.',
    );
    expect(details('expired')).toBe('Teams: emea, growth.');
    expect(details('expiring')).toBeUndefined();
  });

  it('tells since when the platform refuses the token, and how to give another', () => {
    const outlook = () => ({ ...TOKEN, refusedAt: '2026-11-21T14:02:33.000Z' });
    const { level, findings } = when({ credential: 'refused' }, { outlook });
    expect(level).toBe('not well');
    expect(findings[0]?.says).toContain('The platform refuses the token since 14:02 UTC (2 hours)');
    expect(findings[0]?.do).toMatch(/dashboard, and run dsp-gateway token rotate,/);
    const minting = when({ credential: 'refused' }, { outlook, canMint: true });
    expect(minting.findings[0]?.do).toContain('Run dsp-gateway token rotate --mint;');
  });

  it('warns while writes are stopped, and says whose, since when, by whom and why', () => {
    const stop = { by: 'ada', at: '2026-11-21T14:02:33.000Z', reason: 'budgets look wrong' };
    const { level, findings } = when(
      {},
      {
        brake: { stops: () => ({ all: stop, teams: [{ team: 'growth', ...stop }] }) },
      },
    );
    expect(level).toBe('warning');
    expect(findings).toMatchObject([
      {
        part: 'writes',
        says: 'Writes of all teams are stopped since 14:02 UTC (2 hours) by ada: “budgets look wrong”.',
        do: 'When its cause is gone, run dsp-gateway writes resume --reason <why>.',
      },
      { says: expect.stringContaining('the team growth'), do: expect.stringContaining('--team growth') },
    ]);
  });

  it.each([
    ['credential', 'missing', 'not well', 'There is no platform token'],
    ['credential', 'expired', 'not well', 'has been expired since 2027-11-01 00:00 UTC (344 days)'],
    ['credential', 'expiring', 'warning', 'expires on 2027-11-01'],
    ['credential', 'unproven', 'warning', 'no platform call has succeeded with it'],
    ['store', 'slow', 'warning', 'Redis is slow'],
    ['store', 'away', 'not well', 'Redis is unavailable'],
    ['store', 'out of memory', 'not well', 'Redis is full'],
    ['store', 'registry lost', 'not well', 'has lost teams and keys'],
    ['platform', 'paused for 30 s', 'warning', 'paused for 30 s'],
    ['platform', 'failing: 9 calls in a row failed', 'not well', '9 calls in a row failed'],
    ['platform', 'on fire', 'not well', 'Another process reports for its platform: on fire.'],
  ] as const)('says of %s "%s": %s', (part, text, level, words) => {
    const verdict = when({ [part]: text });
    expect(verdict.level).toBe(level);
    expect(verdict.findings).toHaveLength(1);
    expect(verdict.findings[0]).toMatchObject({ part, level, says: expect.stringContaining(words) });
    expect(verdict.findings[0]?.do).not.toBe('');
  });

  it('says of an expiry that it is assumed, and of a renewal that it failed', () => {
    const outlook = () => ({ ...TOKEN, expiryKnown: false, renewsAt: '2027-10-01T00:00:00.000Z' });
    expect(when({ credential: 'expiring' }, { outlook }).findings[0]?.says).toMatch(
      /assumed.*renewal has failed/,
    );
    expect(when({ credential: 'expired' }, { outlook }).findings[0]?.says).toContain('in use for a year');
  });

  it('puts what is not well before what is a warning', () => {
    const verdict = when(
      { store: 'away', platform: 'paused for 3 s' },
      {
        secretFaults: () => [{ name: 'A', message: 'is empty' }],
        log: { health: () => ({ ok: false, reason: 'ENOSPC', droppedLines: 1 }) },
      },
    );
    expect(verdict.findings.map(({ part }) => part)).toEqual(['store', 'platform', 'secrets', 'log']);
    expect(verdict.level).toBe('not well');
  });

  it('tells of a gateway that is not ready where nothing else says why', () => {
    expect(when({}, {}, false).findings.map(({ part }) => part)).toEqual(['gateway']);
    expect(when({ credential: 'missing' }, {}, false).findings.map(({ part }) => part)).toEqual([
      'credential',
    ]);
    expect(when({ store: 'slow' }, {}, false).findings.map(({ part }) => part)).toEqual(['gateway', 'store']);
  });
});

it('a look that fails does not keep the next one from being made', async () => {
  const checks = await runChecks({
    one: async () => {
      throw new Error('broken\nin two lines');
    },
    two: async () => 'fine',
    three: async () => ({ level: 'skipped', says: 'not asked', do: null }),
  });
  expect(checks).toEqual([
    {
      name: 'one',
      level: 'not well',
      says: 'Broken; in two lines.',
      do: 'Fix the cause, and run doctor again.',
    },
    { name: 'two', level: 'well', says: 'fine', do: null },
    { name: 'three', level: 'skipped', says: 'not asked', do: null },
  ]);
});
