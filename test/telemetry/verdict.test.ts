import { describe, expect, it } from 'vitest';
import { lookAtAll } from '../../src/telemetry/checks.js';
import type { Measured } from '../../src/telemetry/conditions.js';
import type { Conditions } from '../../src/telemetry/health.js';
import { verdictOf } from '../../src/telemetry/verdict.js';
import { measured } from '../support/measured.js';

const OK = { store: 'ok', credential: 'ok', platform: 'ok' };
const TOKEN = measured().outlook();
const when = (worst: Partial<Conditions>, changes: Partial<Measured> = {}, ready = true) =>
  verdictOf(measured(changes), ready, { ...OK, ...worst });

describe('the verdict', () => {
  it('is well without a finding', () => {
    expect(when({})).toEqual({ level: 'well', findings: [] });
  });

  it('tells since when the platform refuses the token, and how to give another', () => {
    const outlook = () => ({ ...TOKEN, refusedAt: '2026-11-21T14:02:33.000Z' });
    const { level, findings } = when({ credential: 'refused' }, { outlook });
    expect(level).toBe('not well');
    expect(findings[0]?.says).toContain('the platform refuses the token since 2026-11-21 14:02 UTC');
    expect(findings[0]?.do).toContain('dsp-gateway token rotate');
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
        says: 'writes of all teams are stopped since 2026-11-21 14:02 UTC by ada: budgets look wrong',
        do: 'when it is settled: dsp-gateway writes resume --reason <why>',
      },
      { says: expect.stringContaining('the team growth'), do: expect.stringContaining('--team growth') },
    ]);
  });

  it.each([
    ['credential', 'missing', 'not well', 'there is no platform token'],
    ['credential', 'expired', 'not well', 'has expired since 2027-11-01 00:00 UTC'],
    ['credential', 'expiring', 'warning', 'expires on 2027-11-01'],
    ['credential', 'unproven', 'warning', 'has not answered a call with this token yet'],
    ['store', 'slow', 'warning', 'Redis answers late'],
    ['store', 'away', 'not well', 'Redis cannot be reached'],
    ['store', 'out of memory', 'not well', 'Redis is full'],
    ['store', 'registry lost', 'not well', 'has lost teams and keys'],
    ['platform', 'paused for 30 s', 'warning', 'paused for 30 s'],
    ['platform', 'failing; asked again in 7 s', 'not well', 'asked again in 7 s'],
    ['platform', 'on fire', 'not well', 'another process says of its platform: on fire'],
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
    expect(when({ credential: 'expired' }, { outlook }).findings[0]?.says).toContain('a year old');
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
  const checks = await lookAtAll({
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
      says: 'broken; in two lines',
      do: 'correct what it names, and run doctor again',
    },
    { name: 'two', level: 'well', says: 'fine', do: null },
    { name: 'three', level: 'skipped', says: 'not asked', do: null },
  ]);
});
