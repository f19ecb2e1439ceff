/** Divisibility as a state: proofs, refutations, and when the next proof may begin. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  beginProof,
  callsLeft,
  currentState,
  type Divisibility,
  divisibilityId,
  endProof,
  independentRange,
  inWords,
  MAX_CALLS,
  mayProve,
  noteRestatement,
  PROVING_MS,
  type ProofResult,
  REFUTED_MS,
  refute,
  startLearning,
} from '../../../src/reports/learn/state.js';
import { DAY, HOUR, MINUTE } from '../../support/test-clock.js';
import { get, post } from '../query/canonical-request.js';

const NOW = Date.parse('2026-11-21T00:00:00Z');
const START = startLearning('first');
const BASE = 20_000;

const ending = (verdict: ProofResult['verdict'], calls = 6): ProofResult => ({
  verdict,
  calls,
  found: 'So it was.',
  from: '2026-10-19',
  to: '2026-11-15',
});
const proofOf = (known: Divisibility, verdict: ProofResult['verdict'], nowMs = NOW, calls = 6) =>
  endProof(beginProof(known, nowMs), ending(verdict, calls), 'second', nowMs);

describe('a proof', () => {
  it('under way is over with its process, after ten minutes, and another one may begin on the next day', () => {
    const proving = beginProof(START, NOW);
    expect([currentState(proving, NOW), mayProve(proving, NOW)]).toEqual(['proving', false]);
    expect(beginProof(proving, NOW)).toBe(proving);
    const later = NOW + PROVING_MS;
    expect([currentState(proving, later), mayProve(proving, later)]).toEqual(['unknown', false]);
    expect(mayProve(proving, NOW + DAY)).toBe(true);
    // A clock that ran ahead is not believed.
    expect(currentState(proving, NOW - DAY)).toBe('unknown');
  });

  it('that found all equal proves the kind in its generation, and none may begin then', () => {
    const proven = proofOf(START, 'proven');
    expect(proven).toMatchObject({ state: 'proven', generation: 'first', provenAt: NOW });
    expect(mayProve(proven, NOW + 100 * DAY, true)).toBe(false);
  });

  it('proves nothing without what it asked and found, as a record of another release', () => {
    const theirs: Divisibility = { ...START, state: 'proven', provenAt: NOW };
    expect(currentState(theirs, NOW)).toBe('unknown');
    expect(currentState({ ...START, state: 'trusted' as 'proven' }, NOW)).toBe('unknown');
  });

  it('that found too little waits 1, 2, 4, 8, 16, then 24 hours; a person need not wait', () => {
    let [known, nowMs] = [START, NOW];
    const hours: number[] = [];
    for (let times = 0; times < 7; times += 1) {
      known = proofOf(known, 'unknown', nowMs, 0);
      const waitMs = (known.tryAgainAt ?? 0) - nowMs;
      expect([mayProve(known, nowMs + waitMs - 1), mayProve(known, nowMs + waitMs)]).toEqual([false, true]);
      expect(mayProve(known, nowMs, true)).toBe(true);
      hours.push(waitMs / HOUR);
      nowMs += waitMs;
    }
    expect(hours).toEqual([1, 2, 4, 8, 16, 24, 24]);
  });

  it('that failed says nothing: five minutes later another one may begin, with the same wait after it', () => {
    const failed = proofOf(START, 'failed', NOW, 1);
    expect(failed.tries ?? 0).toBe(0);
    expect(mayProve(failed, NOW + 5 * MINUTE)).toBe(true);
  });

  it('makes at most eight calls a day with those before it, whatever they found', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(fc.constantFrom('unknown' as const, 'failed' as const), fc.integer({ min: 0, max: 8 })),
        ),
        (all) => {
          let known = START;
          let spent = 0;
          for (const [verdict, calls] of all) {
            const begun = beginProof(known, NOW, true);
            if (begun === known) continue;
            const made = Math.min(calls, begun.spent?.reserved ?? 0);
            spent += made;
            known = endProof(begun, ending(verdict, made), 'second', NOW);
          }
          expect(spent).toBeLessThanOrEqual(MAX_CALLS);
          expect(callsLeft(known, NOW + DAY)).toBe(MAX_CALLS);
        },
      ),
    );
  });

  it('whose process was killed has spent the calls of its day', () => {
    const killed = beginProof(START, NOW);
    expect(callsLeft(killed, NOW + HOUR)).toBe(0);
    expect(mayProve(killed, NOW + HOUR, true)).toBe(false);
    expect(mayProve(killed, NOW + DAY)).toBe(true);
  });

  it('that ends after callers’ answers refuted its kind changes nothing', () => {
    const refuted = refute(beginProof(START, NOW), 'second', 'They differed.', NOW);
    expect(endProof(refuted, ending('proven'), 'third', NOW)).toBe(refuted);
  });
});

describe('a refutation', () => {
  it.each([
    ['of a proof', proofOf(START, 'refuted')],
    ['of callers’ answers', refute(proofOf(START, 'proven'), 'second', 'So it was.', NOW)],
  ])('%s changes the generation and lasts a day, to the millisecond', (_what, refuted) => {
    expect(refuted).toMatchObject({ generation: 'second', provenAt: null, refutedFor: 'So it was.' });
    const last = NOW + REFUTED_MS - 1;
    expect([currentState(refuted, last), mayProve(refuted, last, true)]).toEqual(['refuted', false]);
    expect([currentState(refuted, last + 1), mayProve(refuted, last + 1)]).toEqual(['unknown', true]);
  });

  it('keeps what was counted of restatements', () => {
    const restated = noteRestatement(noteRestatement(START, 9), 7);
    expect(refute(restated, 'second', '', NOW)).toMatchObject({ restatements: 2, oldestRestatementDays: 9 });
  });
});

it('says of each state what it means, why, and what is missing', () => {
  expect(inWords(null, NOW)).toContain('dsp-gateway learn');
  expect(inWords(beginProof(START, NOW), NOW)).toContain('it fetches a period of past days');
  expect(inWords(proofOf(START, 'proven'), NOW)).toBe('Cached by day. So it was.');
  expect(inWords(proofOf(START, 'refuted'), NOW)).toBe(
    'Cached as one period until 2026-11-22 00:00 UTC. So it was.',
  );
  expect(inWords(proofOf(START, 'unknown'), NOW)).toBe(
    'Cached as one period for now. So it was. It is tested again with a report after 2026-11-21 01:00 UTC.',
  );
});

describe('divisibilityId', () => {
  const id = (query: string) => divisibilityId(get(query).report, ['advertiserId', 'userId']);
  const BASE = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';

  it('is one for all accounts, campaigns and periods', () => {
    for (const other of [
      'advertiserId=2&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07',
      'byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07',
      'advertiserId=1&byDate=1&dateFrom=2026-10-01&dateTo=2026-10-07',
      `${BASE}&campaignIds=4,5`,
    ]) {
      expect(id(other), other).toBe(id(BASE));
    }
  });

  it('differs by split, currency, unknown parameters and their values, endpoint and method', () => {
    const { report } = get(BASE);
    const all = [
      ...['', '&byCampaign=1', '&spentBased=usd', '&spentBased=local', '&tz=1', '&tz=2', '&zone=1'].map(
        (more) => id(BASE + more),
      ),
      divisibilityId({ ...report, endpoint: 'creatives/get' }, ['advertiserId']),
      divisibilityId(post('{"byDate":1,"advertiserId":1}').report, ['advertiserId']),
    ];
    expect(new Set(all).size).toBe(all.length);
  });
});

describe('the range of a reference', () => {
  it('holds the disputed days, and begins and ends where no answer does nor a disputed day lies', () => {
    const days = fc.uniqueArray(fc.integer({ min: BASE, max: BASE + 30 }), { minLength: 1, maxLength: 5 });
    const ends = fc.array(fc.integer({ min: BASE - 5, max: BASE + 40 }), { maxLength: 12 });
    fc.assert(
      fc.property(days, ends, ends, (disputed, from, to) => {
        const range = independentRange(disputed, { from: new Set(from), to: new Set(to) }, BASE + 100);
        expect(range).not.toBeNull();
        if (range === null) return;
        expect(range.from).toBeLessThan(Math.min(...disputed));
        expect(range.to).toBeGreaterThan(Math.max(...disputed));
        expect([from.includes(range.from), to.includes(range.to)]).toEqual([false, false]);
      }),
    );
  });

  it('does not reach into days to come', () => {
    const to = new Set([BASE + 1, BASE + 2]);
    expect(independentRange([BASE], { from: new Set(), to }, BASE + 2)).toBeNull();
    expect(independentRange([BASE], { from: new Set(), to }, BASE + 3)).toEqual({
      from: BASE - 1,
      to: BASE + 3,
    });
  });
});
