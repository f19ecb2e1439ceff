import { describe, expect, it } from 'vitest';
import { createCacheTier } from '../../src/cache/tier.js';
import { GatewayError } from '../../src/errors.js';
import { NO_WISH, type Wish } from '../../src/http/cache-directives.js';
import { createLookUp, dayUnit, type Unit } from '../../src/pipeline/look-up.js';
import { createSearch } from '../../src/pipeline/search.js';
import { daysBetween } from '../../src/report/days.js';
import { rowsRef } from '../../src/report/keys.js';
import type { Part } from '../../src/report/part.js';
import { get } from '../report/canonical-request.js';
import { FETCHED_AT, RULES, refusalPart, rowsPart } from '../report/parts.js';
import { countedPurges } from '../support/counted-purges.js';
import { encodeHere } from '../support/encode-here.js';
import { createRecordedLog } from '../support/recorded-log.js';
import { openEmbedded, openReplica } from '../support/shared-registry.js';

const { report } = get('advertiserId=1&byDate=1&dateFrom=2026-11-17&dateTo=2026-11-19');
const UNITS = daysBetween('2026-11-17', '2026-11-19').map((date) => dayUnit('series', date));
const [FIRST, SECOND, THIRD] = UNITS as [Unit, Unit, Unit];
const WHOLE_REF = rowsRef('series', '2026-11-17', '2026-11-19');
const WHOLE: Unit = {
  ...{ ref: WHOLE_REF, key: WHOLE_REF.id, claim: WHOLE_REF.id },
  ...{ from: '2026-11-17', to: '2026-11-19' },
};
/** Days that may still change: fresh for an hour. */
const HOUR = RULES.restatingMs;

/** A day cut under a generation, fetched some time before the request. */
function day({ from }: Unit, ageMs = 1000, generation = 'first'): Part {
  const at = FETCHED_AT - ageMs;
  return rowsPart([{ date: from }], {
    lastDay: from as string,
    fetchedAt: at,
    fetchStartedAt: at,
    cut: { from: '2026-11-17', to: '2026-11-19', sortedHash: 'h', generation },
  });
}

async function searching(held: readonly (readonly [Unit, Part])[], wish: Partial<Wish> = {}) {
  const store = await openEmbedded();
  const { registry } = await openReplica(store);
  const purges = countedPurges(registry);
  const tier = createCacheTier({
    store: store.cache,
    encode: encodeHere,
    logger: createRecordedLog().logger,
    onFault: () => {},
  });
  const put = (unit: Unit, part: Part) =>
    tier.write([{ ref: unit.ref, ...part, version: part.header.fetchStartedAt, ttlMs: 1e9 }]);
  for (const [unit, part] of held) await put(unit, part);
  const lookUp = createLookUp({ tier, purges, rules: RULES, negativeMs: 30_000, now: () => FETCHED_AT });
  const search = createSearch(
    {
      report,
      units: UNITS,
      refusalAt: WHOLE,
      wish: { ...NO_WISH, ...wish },
      arrivedAt: FETCHED_AT,
      generation: 'first',
      joinedUnder: 'first',
    },
    lookUp,
  );
  await search.look(UNITS);
  return { search, purges, put };
}
const keysOf = (units: readonly Unit[]) => units.map(({ key }) => key);
const brought = (...pieces: readonly (readonly [Unit, Part | GatewayError])[]) =>
  new Map(pieces.map(([unit, piece]) => [unit.key, piece]));

describe('a search', () => {
  it('tells what is open, what is past freshness, and what only helps when the platform fails', async () => {
    const { search } = await searching([
      [FIRST, day(FIRST)],
      [SECOND, day(SECOND, HOUR)],
      [THIRD, day(THIRD, HOUR + RULES.staleWhileRevalidateMs)],
    ]);
    expect(keysOf(search.open())).toEqual([THIRD.key]);
    expect(keysOf(search.stale())).toEqual([SECOND.key]);
    expect([...search.known.keys()]).toEqual(keysOf(UNITS));
    expect(search.settleForOld()).toBe(true);
    expect(search.parts().map(({ header }) => header.lastDay)).toEqual(UNITS.map(({ from }) => from));
  });

  it('does not settle for less than a piece for each day', async () => {
    const { search } = await searching([[FIRST, day(FIRST)]]);
    expect(search.settleForOld()).toBe(false);
  });

  it('takes segments of another generation for absent, also for want of anything better', async () => {
    const { search } = await searching(UNITS.map((unit) => [unit, day(unit, 1000, 'before')]));
    expect(keysOf(search.open())).toEqual(keysOf(UNITS));
    expect([search.known.size, search.settleForOld()]).toEqual([0, false]);
    expect(search.satisfies(day(FIRST, 0, 'before'), FIRST)).toBe(false);
    expect(search.satisfies(day(FIRST, 0), FIRST)).toBe(true);
  });

  it('takes what a call brings in place of what was stale', async () => {
    const { search } = await searching(UNITS.map((unit) => [unit, day(unit, HOUR)]));
    expect(keysOf(search.stale())).toEqual(keysOf(UNITS));
    search.take(brought([SECOND, day(SECOND, 0)]));
    expect(keysOf(search.stale())).toEqual([FIRST.key, THIRD.key]);
    expect(search.parts()[1]?.header.fetchedAt).toBe(FETCHED_AT);
  });

  it('throws why a piece cannot be read', async () => {
    const { search } = await searching([]);
    const fault = new GatewayError('upstream_invalid_response');
    expect(() => search.take(brought([FIRST, fault]))).toThrow(fault);
  });

  it('does not take what was purged while it was fetched, and opens again what it had', async () => {
    const { search, purges } = await searching([[FIRST, day(FIRST)]]);
    await purges.append({ from: '2026-11-17', to: '2026-11-18' }, 'audit');
    search.take(brought([SECOND, day(SECOND, 0)], [THIRD, day(THIRD, 0)]));
    expect(keysOf(search.open())).toEqual([FIRST.key, SECOND.key]);
    expect(search.settleForOld()).toBe(false);
  });

  it('ends with a refusal, found or brought; it is no piece', async () => {
    const found = await searching([[WHOLE, refusalPart('{}')]]);
    expect(found.search.refusal()?.header.form).toBe('refusal');
    const { search } = await searching([]);
    expect(search.refusal()).toBeNull();
    search.take(brought([FIRST, refusalPart('{}')]));
    expect(search.refusal()?.header.form).toBe('refusal');
    expect(keysOf(search.open())).toEqual(keysOf(UNITS));
  });
});

describe('a search for no-cache', () => {
  it('accepts nothing that was there before, though it be of the same millisecond', async () => {
    const { search, put } = await searching([[FIRST, day(FIRST, 0)]], { maxAgeMs: 0 });
    expect(keysOf(search.open())).toEqual(keysOf(UNITS));
    expect(search.satisfies(day(FIRST, 0), FIRST)).toBe(false);
    // What somebody brought since is as good as one's own.
    await put(SECOND, day(SECOND, 0));
    await search.look(UNITS);
    expect(keysOf(search.open())).toEqual([FIRST.key, THIRD.key]);
  });

  it('takes no call that began before it came', async () => {
    const { search } = await searching([], { maxAgeMs: 0 });
    search.take(brought([FIRST, day(FIRST, 1)], [SECOND, day(SECOND, 0)]));
    expect(keysOf(search.open())).toEqual([FIRST.key, THIRD.key]);
  });

  it('falls back on what there was when the platform fails', async () => {
    const { search } = await searching(
      UNITS.map((unit) => [unit, day(unit)]),
      { maxAgeMs: 0 },
    );
    expect(keysOf(search.open())).toEqual(keysOf(UNITS));
    expect(search.settleForOld()).toBe(true);
  });
});
