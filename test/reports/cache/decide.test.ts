/** What entries are good for, and what is decided of them. */

import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.js';
import { type CacheDirectives, NO_DIRECTIVES } from '../../../src/lib/http/cache-directives.js';
import { type DecideInput, decide, isAnswered } from '../../../src/reports/cache/decide.js';
import { createEntries, type EntryOrError } from '../../../src/reports/cache/entries.js';
import { gradeOf } from '../../../src/reports/cache/look-up.js';
import { dayRefs, type EntryRef, type ReportQuestion, wholeRef } from '../../../src/reports/question.js';
import type { Entry } from '../../../src/reports/rows/entry.js';
import { countedPurges } from '../../support/counted-purges.js';
import { openInMemory, openReplica } from '../../support/shared-registry.js';
import { policyOf } from '../fetch/policy.js';
import { get } from '../query/canonical-request.js';
import { bytesEntry, FETCHED_AT, RULES, refusalEntry, rowsEntry } from '../rows/entries.js';

const { report } = get('advertiserId=1&byDate=1&dateFrom=2026-11-17&dateTo=2026-11-19');
const QUESTION: ReportQuestion = { report, series: 'series', form: 'rows' };
const REFS = dayRefs(QUESTION);
const [FIRST, SECOND, THIRD] = REFS as [EntryRef, EntryRef, EntryRef];
const WHOLE = wholeRef(QUESTION);
/** Days that may still change: fresh for an hour. */
const HOUR = RULES.restatingMs;

/** A day split under a generation, fetched some time before the request. */
function day({ from }: EntryRef, ageMs = 1000, generation = 'first'): Entry {
  const at = FETCHED_AT - ageMs;
  return rowsEntry([{ date: from }], {
    lastDay: from as string,
    fetchedAt: at,
    fetchStartedAt: at,
    splitFrom: { from: '2026-11-17', to: '2026-11-19', sortedHash: 'h', generation },
  });
}
const whole = (ageMs: number): Entry =>
  rowsEntry([{ date: '2026-11-17' }], {
    lastDay: '2026-11-19',
    fetchedAt: FETCHED_AT - ageMs,
    fetchStartedAt: FETCHED_AT - ageMs,
  });

const mapOf = <T>(pairs: readonly (readonly [EntryRef, T])[]) =>
  new Map(pairs.map(([ref, value]) => [ref.id, value]));
const keysOf = (refs: readonly EntryRef[]) => refs.map(({ id }) => id);
const datesOf = (parts: readonly Entry[]) => parts.map(({ header }) => header.lastDay);

/** A request that found these entries at its first look. */
async function requestWith(
  held: readonly (readonly [EntryRef, Entry])[],
  changes: Partial<CacheDirectives> = {},
) {
  const { registry } = await openReplica(await openInMemory());
  const purges = countedPurges(registry);
  const entries = createEntries();
  entries.addFound(mapOf(held), FETCHED_AT);
  const decideNow = (more: Partial<DecideInput> = {}) =>
    decide({
      question: QUESTION,
      mode: { mode: 'days', because: 'proven' },
      entries,
      before: [],
      directives: { ...NO_DIRECTIVES, ...changes },
      arrivedAtMs: FETCHED_AT,
      generation: 'first',
      policy: policyOf(),
      purges,
      minFreshness: 'usual',
      comparisonDue: false,
      ...more,
    });
  const find = (...pairs: readonly (readonly [EntryRef, Entry])[]) =>
    entries.addFound(mapOf(pairs), FETCHED_AT);
  const bring = (...pairs: readonly (readonly [EntryRef, EntryOrError])[]) =>
    entries.addFetched(mapOf(pairs), 'other', FETCHED_AT);
  return { decideNow, find, bring, purges };
}

describe('a decision', () => {
  it('tells what is missing, what is past freshness, and what only helps when the platform fails', async () => {
    const { decideNow } = await requestWith([
      [FIRST, day(FIRST)],
      [SECOND, day(SECOND, HOUR)],
      [THIRD, day(THIRD, HOUR + RULES.staleWhileRevalidateMs)],
    ]);
    const { missing, stale, known, fetches } = decideNow();
    expect(keysOf(missing)).toEqual([THIRD.id]);
    expect(keysOf(stale)).toEqual([SECOND.id]);
    expect([...known.keys()]).toEqual(keysOf(REFS));
    expect(fetches.map(({ range }) => range)).toEqual([{ from: '2026-11-18', to: '2026-11-19' }]);
    const old = decideNow({ minFreshness: 'old' });
    expect(isAnswered(old)).toBe(true);
    expect(datesOf(old.parts)).toEqual(REFS.map(({ from }) => from));
  });

  it('takes days of another generation for absent, also for want of anything better', async () => {
    const { decideNow } = await requestWith(REFS.map((ref) => [ref, day(ref, 1000, 'before')]));
    const { missing, known } = decideNow();
    expect(keysOf(missing)).toEqual(keysOf(REFS));
    expect([known.size, isAnswered(decideNow({ minFreshness: 'old' }))]).toEqual([0, false]);
  });

  it('takes what a call brings in place of what was stale', async () => {
    const { decideNow, bring } = await requestWith(REFS.map((ref) => [ref, day(ref, HOUR)]));
    expect(decideNow({ minFreshness: 'fresh' })).toMatchObject({ missing: REFS, stale: [] });
    expect(keysOf(decideNow().stale)).toEqual(keysOf(REFS));
    const fault = new GatewayError('upstream_invalid_response');
    expect(bring([FIRST, fault])).toBe(fault);
    bring([SECOND, day(SECOND, 0)]);
    const { stale, parts } = decideNow();
    expect(keysOf(stale)).toEqual([FIRST.id, THIRD.id]);
    expect(parts[1]?.header.fetchedAt).toBe(FETCHED_AT);
  });

  it('does not take what was purged while it was fetched, and misses again what it had', async () => {
    const { decideNow, bring, purges } = await requestWith([[FIRST, day(FIRST)]]);
    await purges.append({ from: '2026-11-17', to: '2026-11-18' }, 'audit');
    bring([SECOND, day(SECOND, 0)], [THIRD, day(THIRD, 0)]);
    expect(keysOf(decideNow().missing)).toEqual([FIRST.id, SECOND.id]);
    expect(isAnswered(decideNow({ minFreshness: 'old' }))).toBe(false);
  });

  it('ends with a refusal, found or brought; it is no entry', async () => {
    const found = await requestWith([[WHOLE, refusalEntry('{}')]]);
    expect(found.decideNow().refusal?.header.form).toBe('refusal');
    expect(found.decideNow().fetches).toEqual([]);
    const { decideNow, bring } = await requestWith([]);
    expect(decideNow().refusal).toBeNull();
    bring([FIRST, refusalEntry('{}')]);
    expect(decideNow().refusal?.header.form).toBe('refusal');
    expect(keysOf(decideNow().missing)).toEqual(keysOf(REFS));
  });

  it('is for the whole that is kept, when that is fresh or all there is', async () => {
    const fresh = await requestWith([
      [WHOLE, whole(1000)],
      [FIRST, day(FIRST)],
    ]);
    expect(fresh.decideNow()).toMatchObject({ mode: 'whole', missing: [], fetches: [] });
    const alone = await requestWith([[WHOLE, whole(HOUR + RULES.staleWhileRevalidateMs)]]);
    expect(alone.decideNow()).toMatchObject({ mode: 'whole', missing: [WHOLE], outcome: 'refresh' });
    const beside = await requestWith([
      [WHOLE, whole(HOUR)],
      [FIRST, day(FIRST)],
    ]);
    expect(beside.decideNow()).toMatchObject({ mode: 'days', missing: [SECOND, THIRD] });
    expect(beside.decideNow({ minFreshness: 'old' })).toMatchObject({ mode: 'whole', missing: [] });
  });

  it('gives what may be no report only where it is told to, and never in place of a report', async () => {
    const { decideNow, bring } = await requestWith([[FIRST, day(FIRST, HOUR)]]);
    const doubtful = REFS.map((ref): [EntryRef, Entry] => {
      const entry = day(ref, 0);
      return [ref, { ...entry, header: { ...entry.header, doubt: 'it says error' } } as Entry];
    });
    bring(...doubtful);
    expect(keysOf(decideNow().missing)).toEqual([SECOND.id, THIRD.id]);
    const { missing, parts } = decideNow({ minFreshness: 'doubtful' });
    expect(missing).toEqual([]);
    expect(parts.map(({ header }) => header.form === 'rows' && header.doubt !== undefined)).toEqual([
      false,
      true,
      true,
    ]);
  });

  it('asks for all days where a comparison is due and there is something to compare', async () => {
    const { decideNow } = await requestWith([[FIRST, day(FIRST)]]);
    expect(decideNow({ comparisonDue: true })).toMatchObject({
      compares: true,
      fetches: [{ range: { from: '2026-11-17', to: '2026-11-19' }, refs: [SECOND, THIRD] }],
    });
    const nothing = await requestWith([]);
    expect(nothing.decideNow({ comparisonDue: true }).compares).toBe(false);
  });
});

describe('a decision for no-cache', () => {
  it('accepts nothing that was there before, though it be of the same millisecond', async () => {
    const { decideNow, find } = await requestWith([[FIRST, day(FIRST, 0)]], { maxAgeMs: 0 });
    expect(keysOf(decideNow().missing)).toEqual(keysOf(REFS));
    // What somebody brought since is as good as one's own.
    find([FIRST, day(FIRST, 0)], [SECOND, day(SECOND, 0)]);
    expect(keysOf(decideNow().missing)).toEqual([FIRST.id, THIRD.id]);
  });

  it('takes no call that began before it came', async () => {
    const { decideNow, bring } = await requestWith([], { maxAgeMs: 0 });
    bring([FIRST, day(FIRST, 1)], [SECOND, day(SECOND, 0)]);
    expect(keysOf(decideNow().missing)).toEqual([FIRST.id, THIRD.id]);
  });

  it('falls back on what there was when the platform fails', async () => {
    const { decideNow } = await requestWith(
      REFS.map((ref) => [ref, day(ref)]),
      { maxAgeMs: 0 },
    );
    expect(keysOf(decideNow().missing)).toEqual(keysOf(REFS));
    expect(isAnswered(decideNow({ minFreshness: 'old' }))).toBe(true);
  });
});

describe('what an entry may be used for', () => {
  const NEGATIVE_MS = 30_000;
  const { report } = get('advertiserId=1&byDate=1&dateFrom=2026-11-10&dateTo=2026-11-12');
  const WHOLE = wholeRef({ report, series: 'series', form: 'rows' });

  /** What an entry in the store is good for, looked up at a time. */
  function gradeAt(atMs: number, entry: Entry, directives: CacheDirectives, arrivedAtMs = atMs) {
    const held = { entry, source: 'kept' as const, wasThere: false, atMs };
    const purges = { isPurged: () => false };
    const policy = policyOf({ negativeMs: NEGATIVE_MS });
    return gradeOf(held, WHOLE, { report, directives, arrivedAtMs, generation: 'first', policy, purges });
  }

  // A day within restatement: fresh for an hour, then ten minutes for use at once, then a week for failures.
  const HOUR = RULES.restatingMs;
  const entry = rowsEntry([{}], { lastDay: '2026-11-18' });
  const directives = (changes: Partial<CacheDirectives>): CacheDirectives => ({
    ...NO_DIRECTIVES,
    ...changes,
  });

  it.each<[number, Partial<CacheDirectives>, string]>([
    [0, {}, 'fresh'],
    [HOUR, {}, 'stale'],
    [HOUR + 600_000, {}, 'error-only'],
    [HOUR + RULES.staleIfErrorMs, {}, 'absent'],
    [-300_001, {}, 'absent'],
    // max-age narrows, and never widens.
    [60_000, { maxAgeMs: 60_000 }, 'fresh'],
    [60_001, { maxAgeMs: 60_000 }, 'error-only'],
    [HOUR, { maxAgeMs: 10 * HOUR }, 'stale'],
    // max-stale widens what may be given at once.
    [HOUR + 700_000, { maxStaleMs: 700_000 }, 'stale'],
    [HOUR + 700_001, { maxStaleMs: 700_000 }, 'error-only'],
    [HOUR + RULES.staleIfErrorMs, { maxStaleMs: 1e12 }, 'absent'],
  ])('after %i ms with %j is %s', (ageMs, changes, expected) => {
    expect(gradeAt(FETCHED_AT + ageMs, entry, directives(changes))).toBe(expected);
  });

  it('for no-cache is fresh only when its fetch began after the request came', () => {
    const { fetchStartedAt } = entry.header;
    const noCache = directives({ maxAgeMs: 0 });
    expect(gradeAt(FETCHED_AT, entry, noCache, fetchStartedAt)).toBe('fresh');
    expect(gradeAt(FETCHED_AT, entry, noCache, fetchStartedAt + 1)).toBe('error-only');
    expect(gradeAt(FETCHED_AT, refusalEntry('{}'), noCache, FETCHED_AT + 1)).toBe('absent');
  });

  it('of a refusal is its short memory, and never a help when the platform fails', () => {
    const refusal = refusalEntry('{}');
    expect(gradeAt(FETCHED_AT + NEGATIVE_MS - 1, refusal, NO_DIRECTIVES)).toBe('fresh');
    expect(gradeAt(FETCHED_AT + NEGATIVE_MS - 1, refusal, directives({ maxAgeMs: 1000 }))).toBe('absent');
    expect(gradeAt(FETCHED_AT + NEGATIVE_MS, refusal, NO_DIRECTIVES)).toBe('absent');
  });

  it('of an answer whose freshness the platform decides is nothing once that is over', () => {
    const origin = bytesEntry('{}', { originMs: 60_000 });
    expect(gradeAt(FETCHED_AT + 59_999, origin, NO_DIRECTIVES)).toBe('fresh');
    expect(gradeAt(FETCHED_AT + 60_000, origin, directives({ maxStaleMs: 1e9 }))).toBe('absent');
  });
});
