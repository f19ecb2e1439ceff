/** Incidents: what is noted of times in which the platform failed. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRecentCalls } from '../../src/platform/recent-calls.js';
import { joinFailures, NO_FAILURES } from '../../src/telemetry/failures.js';
import {
  failedOf,
  INCIDENTS_KEPT,
  INCIDENTS_KEPT_MS,
  type Incident,
  listed,
  minutesOf,
  noteIncidents,
  recoveryOf,
  type Seen,
  wasFelt,
} from '../../src/telemetry/incidents.js';
import { DAY, MINUTE, NOON, SECOND } from '../support/test-clock.js';

const iso = (ms: number) => new Date(ms).toISOString();
const seen = (changes: Partial<Seen> = {}): Seen => ({
  ...{ nowMs: NOON, platform: 'ok', platformSince: null, credential: 'ok', credentialSince: null },
  ...{ refusedAt: null, failures: NO_FAILURES },
  ...changes,
});
/** Its reports failed by this part, without a minute between two of them. */
const hit = (team: string, fromMs = NOON, atMs = fromMs, part: Incident['part'] = 'platform') => ({
  ...{ team, part, fromMs, atMs },
});
/** The platform fails since noon, as seen so much later. */
const failing = (laterMs: number, changes: Partial<Seen['failures']> = {}): Seen =>
  seen({
    nowMs: NOON + laterMs,
    platform: 'calls fail: the last 3 since 12:00 UTC',
    platformSince: iso(NOON),
    failures: {
      ...NO_FAILURES,
      why: 'status 500',
      failedAtMs: NOON + laterMs,
      teams: [hit('growth')],
      ...changes,
    },
  });
const recovered = (atMs: number): Seen =>
  seen({
    nowMs: atMs + 10 * SECOND,
    failures: {
      ...{ ...NO_FAILURES, failedAtMs: NOON, answeredAtMs: atMs, recoveredAtMs: atMs },
      teams: [hit('emea', atMs)],
    },
  });
const INCIDENT: Incident = {
  ...{ part: 'platform', from: iso(NOON), until: null, cause: 'status 500' },
  ...{ failedReports: 0, teams: ['growth'] },
};

describe('an incident', () => {
  it('names its causes with the number of calls of all processes, without earlier ones', () => {
    let nowMs = NOON - 10 * MINUTE;
    const calls = [createRecentCalls(() => nowMs), createRecentCalls(() => nowMs)] as const;
    const fail = (at: 0 | 1, outcome: 'failed' | 'timeout', status: number | null, durationMs = 10) =>
      calls[at].add({ team: 'growth', method: 'GET', outcome, status, durationMs, attempt: 1 });
    fail(0, 'failed', 500);
    nowMs = NOON;
    fail(0, 'failed', 503);
    fail(0, 'timeout', null, 30_000);
    fail(1, 'failed', 503);
    fail(1, 'timeout', null, 12_000);
    fail(1, 'failed', 500);
    const failures = joinFailures(calls.map((one) => ({ ...one.last(), teams: [] })));
    const [noted] = noteIncidents([], failing(MINUTE, failures));
    expect(noted?.cause).toBe('status 503: 2, timed out: 2, status 500: 1');
  });

  it('without a failed report that was over within a second is none', () => {
    const over = (ms: number, failedReports = 0) =>
      wasFelt({ ...INCIDENT, until: iso(NOON + ms), failedReports });
    expect([over(0), over(999), over(1000), over(0, 1), wasFelt(INCIDENT)]).toEqual([
      ...[false, false, true, true, true],
    ]);
  });

  it('that lasts is listed before later ones that are over, the newest first', () => {
    const one = (atMs: number, until: string | null) => ({ ...INCIDENT, from: iso(atMs), until });
    const [long, token, old] = [
      one(NOON, null),
      one(NOON + MINUTE, iso(NOON + 2 * MINUTE)),
      one(NOON - DAY, iso(NOON - DAY + MINUTE)),
    ];
    const unfelt = one(NOON, iso(NOON));
    expect(listed([old, long, unfelt, token])).toEqual([long, token, old]);
  });

  it('begins with the first failure and ends with the first answer; its teams are all that were hit', () => {
    const begun = noteIncidents([], failing(MINUTE));
    expect(begun).toEqual([INCIDENT]);
    expect(noteIncidents(begun, failing(2 * MINUTE))).toEqual([INCIDENT]);
    const ended = noteIncidents(begun, recovered(NOON + 3 * MINUTE));
    expect(ended).toEqual([{ ...INCIDENT, until: iso(NOON + 3 * MINUTE), teams: ['emea', 'growth'] }]);
    expect(noteIncidents(ended, seen({ nowMs: NOON + DAY }))).toEqual(ended);
  });

  it('goes on if calls fail again within two minutes, else another one begins', () => {
    const ended = [{ ...INCIDENT, until: iso(NOON + MINUTE) }];
    const again = (atMs: number) => ({ ...failing(atMs - NOON), platformSince: iso(atMs) });
    expect(noteIncidents(ended, again(NOON + 3 * MINUTE - 1))).toEqual([INCIDENT]);
    expect(noteIncidents(ended, again(NOON + 3 * MINUTE)).map(({ until }) => until)).toEqual([
      iso(NOON + MINUTE),
      null,
    ]);
  });

  it('after two minutes of answers has its own beginning and causes, though the part has not been well since', () => {
    let nowMs = NOON;
    const [one, other] = [createRecentCalls(() => nowMs), createRecentCalls(() => nowMs)];
    const call = (calls: typeof one, status: number) =>
      calls.add({
        ...{ team: 'growth', method: 'GET', durationMs: 10, attempt: 1, status },
        outcome: status < 500 ? 'answer' : 'failed',
      });
    for (let count = 0; count < 3; count++) call(one, 503);
    nowMs += SECOND;
    call(one, 200);
    const failures = () => joinFailures([one, other].map((each) => ({ ...each.last(), teams: [] })));
    const noted = noteIncidents([], { ...failing(2 * SECOND), failures: failures() });
    expect(noted).toMatchObject([{ from: iso(NOON), until: iso(NOON + SECOND), cause: 'status 503: 3' }]);
    nowMs = NOON + 4 * MINUTE;
    call(other, 500);
    const again = { ...failing(4 * MINUTE), failures: failures() };
    expect(noteIncidents(noted, again)).toMatchObject([
      { from: iso(NOON), until: iso(NOON + SECOND), cause: 'status 503: 3' },
      { from: iso(nowMs), until: null, cause: 'status 500: 1' },
    ]);
  });

  it('is noted also if it was over before anybody looked, by the last calls that failed in a row', () => {
    const lastRow = { fromMs: NOON, untilMs: NOON + SECOND, why: 'connection refused' };
    const over = seen({
      nowMs: NOON + 2 * SECOND,
      failures: { ...NO_FAILURES, lastRow, teams: [hit('growth')] },
    });
    const noted = noteIncidents([], over);
    expect(noted).toEqual([{ ...INCIDENT, until: iso(NOON + SECOND), cause: 'connection refused' }]);
    expect(noteIncidents(noted, over)).toEqual(noted);
  });

  it('has the teams of the reports that it counts: by its part, in its minutes', () => {
    const teams = [
      hit('both', NOON - 2 * MINUTE, NOON + SECOND),
      hit('later', NOON + 59 * SECOND),
      hit('before', NOON - 1),
      hit('token', NOON, NOON, 'credential'),
    ];
    const [noted] = noteIncidents([], failing(30 * SECOND, { teams }));
    expect(noted?.teams).toEqual(['both', 'later']);
    const token = seen({ nowMs: NOON + 30 * SECOND, credential: 'refused', refusedAt: iso(NOON) });
    const two = noteIncidents([noted as Incident], { ...token, failures: { ...NO_FAILURES, teams } });
    expect(two.map((one) => [one.part, one.teams])).toEqual([
      ['platform', ['both', 'later']],
      ['credential', ['token']],
    ]);
  });

  it('of the token begins with the first report that failed by it, not when the gateway was seen so', () => {
    const from = (changes: Partial<Seen>, atMs: number) => {
      const failures = { ...NO_FAILURES, teams: [hit('growth', atMs, atMs, 'credential')] };
      return noteIncidents([], seen({ credential: 'refused', failures, ...changes }))[0]?.from;
    };
    const credentialSince = iso(NOON - 1);
    expect(from({ credentialSince }, NOON - 700)).toBe(iso(NOON - 700));
    expect(from({ credentialSince }, NOON - 2 * MINUTE)).toBe(credentialSince);
    // It has been about to expire for a day.
    const expiring = { credentialSince: iso(NOON - DAY), refusedAt: iso(NOON - SECOND) };
    expect(from(expiring, NOON)).toBe(iso(NOON - SECOND));
  });

  it('of the token lasts while the platform refuses it', () => {
    const refused = seen({ credential: 'refused', credentialSince: iso(NOON - MINUTE) });
    const [begun] = noteIncidents([], refused);
    expect(begun).toMatchObject({ part: 'credential', from: iso(NOON - MINUTE), until: null });
    expect(noteIncidents([begun as Incident], seen({ nowMs: NOON + MINUTE }))).toMatchObject([
      { cause: 'the platform refused the token', until: iso(NOON + MINUTE) },
    ]);
  });

  it('does not begin when the platform only asks for fewer calls', () => {
    expect(noteIncidents([], seen({ platform: 'paused for 30 s', platformSince: iso(NOON) }))).toEqual([]);
  });
});

it('at most twenty incidents of thirty days are kept, in order, and none ends before it begins', () => {
  const moments = fc.array(
    fc.tuple(fc.integer({ min: 1, max: 3 * DAY }), fc.boolean(), fc.integer({ min: 0, max: 20 * MINUTE })),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(moments, (all) => {
      let [list, nowMs]: [readonly Incident[], number] = [[], NOON];
      for (const [passedMs, isFailing, sinceMs] of all) {
        nowMs += passedMs;
        const begun = nowMs - Math.min(passedMs - 1, sinceMs);
        const shown = isFailing ? failing(nowMs - NOON) : recovered(nowMs);
        list = noteIncidents(list, { ...shown, nowMs, ...(isFailing ? { platformSince: iso(begun) } : {}) });
        expect(list.length).toBeLessThanOrEqual(INCIDENTS_KEPT);
        expect(list.filter(({ until }) => until === null)).toHaveLength(isFailing ? 1 : 0);
        for (const [at, { from, until }] of list.entries()) {
          expect(until === null || (until >= from && Date.parse(until) > nowMs - INCIDENTS_KEPT_MS)).toBe(
            true,
          );
          expect(at === 0 || from >= (list[at - 1]?.until ?? '')).toBe(true);
        }
      }
    }),
  );
});

it('a failed report of a minute of two incidents counts at that of its own part', () => {
  const platform = { ...INCIDENT, until: iso(NOON + 90 * SECOND) };
  const token = { ...INCIDENT, part: 'credential' as const, from: iso(NOON + 65 * SECOND) };
  const failed = new Map(
    [-1, 0, 1, 2, 3].map((minute) => [
      NOON + minute * MINUTE,
      { platform: 1 << (minute + 1), credential: 100 << (minute + 1) },
    ]),
  );
  expect(failedOf([platform, token], failed, NOON + 3 * MINUTE)).toEqual([2 + 4, 400 + 800 + 1600]);
});

it('failed reports of incidents and of none are all that failed', () => {
  const parts = fc.record({ platform: fc.nat(50), credential: fc.nat(50) });
  const minutes = fc.array(fc.tuple(fc.nat(60), parts), { maxLength: 40 });
  const part = fc.constantFrom('platform' as const, 'credential' as const);
  const lasts = fc.option(fc.nat(20 * MINUTE));
  const spans = fc.array(fc.tuple(fc.nat(60 * MINUTE), lasts, part), { maxLength: 6 });
  fc.assert(
    fc.property(minutes, spans, (given, lasting) => {
      const nowMs = NOON + 60 * MINUTE;
      const failed = new Map(given.map(([minute, counts]) => [NOON + minute * MINUTE, counts]));
      const all = lasting
        .map(([at, ms, part]) => ({
          ...{ ...INCIDENT, part },
          from: iso(NOON + at),
          until: ms === null ? null : iso(NOON + at + ms),
        }))
        .sort((one, other) => one.from.localeCompare(other.from));
      const spans = all.map((one) => ({ part: one.part, ...minutesOf(one, nowMs) }));
      const isOutside = (atMs: number, of: string) =>
        spans.every(({ part, fromMs, untilMs }) => part !== of || atMs < fromMs || atMs > untilMs);
      const sum = (counts: readonly number[]) => counts.reduce((total, one) => total + one, 0);
      const each = [...failed].flatMap(([atMs, { platform, credential }]) => [
        { atMs, part: 'platform', count: platform },
        { atMs, part: 'credential', count: credential },
      ]);
      const outside = each.filter((one) => isOutside(one.atMs, one.part));
      expect(sum(failedOf(all, failed, nowMs)) + sum(outside.map(({ count }) => count))).toBe(
        sum(each.map(({ count }) => count)),
      );
    }),
  );
});

it('the end of the last incident is told for a quarter of an hour, with what it was and what it cost', () => {
  const cause = 'the platform refused the token';
  const ended = {
    ...INCIDENT,
    part: 'credential',
    cause,
    until: iso(NOON + 3 * MINUTE),
    failedReports: 1200,
  } as const;
  const told = (laterMs: number) => recoveryOf([{ ...INCIDENT, until: iso(NOON) }, ended], NOON + laterMs);
  expect(told(18 * MINUTE)).toEqual({
    ...{ part: 'credential', at: ended.until },
    says: 'Well again since 12:03:00 UTC, after 3 minutes: the platform refused the token; 1,200 reports failed (growth).',
  });
  expect(told(18 * MINUTE + 1)).toBeNull();
  expect([recoveryOf([INCIDENT], NOON), recoveryOf([], NOON), recoveryOf(null, NOON)]).toEqual([
    null,
    null,
    null,
  ]);
});
