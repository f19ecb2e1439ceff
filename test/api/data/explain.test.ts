import { describe, expect, it } from 'vitest';
import type { Explanation } from '../../../src/api/data/explain.js';
import { isoDay } from '../../../src/reports/query/days.js';
import { ALWAYS, byDay, periodOf, rowsPerDay } from '../../reports/fetch/by-day.js';
import { prove } from '../../support/prove.js';
import { sends, startRawPlatform } from '../../support/raw-platform.js';
import { gatewayAt, outcomeOf, type TestGateway, withGateway } from '../../support/start-gateway.js';
import { DAY, HOUR, MINUTE, SECOND } from '../../support/test-clock.js';

const explain = (gateway: TestGateway, query: string): Promise<Explanation> =>
  gateway.services.reporting.explain('campaigns/get', query);
const statesOf = ({ days }: Explanation) => days?.map(({ state }) => state);
const ranges = (calls: Explanation['calls']) => calls.map(({ from, to }) => [from, to]);

/** A gateway whose platform's calls are seen as they come. */
async function watched(config: Readonly<Record<string, unknown>> = ALWAYS) {
  const platform = await startRawPlatform(rowsPerDay(() => 1));
  const gateway = await gatewayAt(platform, { config });
  const key = await gateway.addTeam();
  return {
    platform,
    gateway,
    key,
    report: (query: string) => gateway.report(key, query),
    /** The periods asked for by what is done. */
    async askedBy(act: () => Promise<unknown>) {
      const before = platform.requests.length;
      await act();
      return platform.requests.slice(before).map(periodOf);
    },
  };
}

describe('the calls that explain promises', () => {
  /** Numbers below `below`, the same ones for the same seed. */
  function numbersFrom(seed: number): (below: number) => number {
    let state = seed;
    return (below) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
  }

  const TODAY = Date.parse('2026-11-21T00:00:00Z') / DAY;
  const asText = (all: readonly (readonly (string | null)[])[]) => all.map((one) => one.join('/')).toSorted();

  it.each([
    [1, {}],
    [2, { maxDaysPerCall: 6, mergeGapDays: 2 }],
  ])(
    'are those that are made, of days that are kept, stale and missing at random (%i, %j)',
    async (seed, limits) => {
      const below = numbersFrom(seed);
      const { gateway, report, askedBy } = await watched({ report: { ...ALWAYS.report, ...limits } });
      const seen = { calls: 0, behind: 0, none: 0 };
      for (let round = 0; round < 40; round++) {
        const from = TODAY - below(24);
        const more = below(4) === 0 ? '&_totals=1' : '';
        const query = byDay(isoDay(from), isoDay(Math.min(TODAY, from + below(20)))) + more;
        const told = await explain(gateway, query);
        const made = await askedBy(async () => {
          expect(outcomeOf(await report(query))).toBe('200');
          await gateway.services.settled();
        });
        expect(asText(made), `round ${round}: ${query}`).toEqual(
          asText(ranges([...told.calls, ...told.behind])),
        );
        seen.calls += told.calls.length;
        seen.behind += told.behind.length;
        if (made.length === 0) seen.none += 1;
        gateway.clock.advance([0, 4 * MINUTE, 8 * MINUTE, 62 * MINUTE, 3 * HOUR][below(5)] as number);
        if (below(5) === 0) {
          const purged = TODAY - below(20);
          const scope = { endpoint: 'campaigns/get', from: isoDay(purged), to: isoDay(purged + below(3)) };
          await gateway.manage('POST', '/cache/purge', scope);
        }
      }
      // Else it would have shown nothing.
      expect(Math.min(seen.calls, seen.behind, seen.none)).toBeGreaterThan(0);
    },
  );

  it('are those of the bytes for raw, and of the unsplit report too for totals', async () => {
    const { report, askedBy, gateway } = await watched();
    const query = byDay('2026-11-12', '2026-11-14');
    await report(query);
    for (const more of ['_format=raw', '_totals=1']) {
      const told = await explain(gateway, `${query}&${more}`);
      expect([more, ranges(told.calls)]).toEqual([more, [['2026-11-12', '2026-11-14']]]);
      expect(await askedBy(() => report(`${query}&${more}`))).toHaveLength(1);
      expect((await explain(gateway, `${query}&${more}`)).calls).toEqual([]);
    }
  });

  it('bring along what is past freshness, once a call is made at all', async () => {
    const { gateway, report, askedBy } = await watched();
    await report(byDay('2026-11-17', '2026-11-19'));
    await gateway.services.settled();
    gateway.clock.advance(HOUR + MINUTE);
    const query = byDay('2026-11-17', '2026-11-20');
    const told = await explain(gateway, query);
    expect(statesOf(told)).toEqual(['stale', 'stale', 'stale', 'missing']);
    expect(ranges(told.calls)).toEqual([['2026-11-17', '2026-11-20']]);
    expect(await askedBy(() => report(query))).toEqual([['2026-11-17', '2026-11-20']]);
  });

  it('bring it along by calls of its own where one call may not be so long', async () => {
    const { gateway, report, askedBy } = await watched({
      report: { ...ALWAYS.report, mergeGapDays: 0, maxDaysPerCall: 2 },
    });
    await report(byDay('2026-11-16', '2026-11-17'));
    await gateway.services.settled();
    gateway.clock.advance(HOUR + MINUTE);
    const query = byDay('2026-11-16', '2026-11-19');
    const calls = [
      ['2026-11-18', '2026-11-19'],
      ['2026-11-16', '2026-11-17'],
    ];
    expect(ranges((await explain(gateway, query)).calls)).toEqual(calls);
    expect((await askedBy(() => report(query))).sort()).toEqual(calls.toSorted());
  });

  it('are none for days that may be given while a refresh runs behind', async () => {
    const { gateway, report } = await watched();
    const query = byDay('2026-11-17', '2026-11-19');
    await report(query);
    gateway.clock.advance(HOUR + MINUTE);
    const told = await explain(gateway, query);
    expect([statesOf(told), told.calls]).toEqual([['stale', 'stale', 'stale'], []]);
    expect(ranges(told.behind)).toEqual([['2026-11-17', '2026-11-19']]);
    expect((await report(query)).headers['cache-status']).toContain('stale-while-revalidate');
    await gateway.services.settled();
  });

  it.each([
    ['as a whole', {}],
    ['by day', ALWAYS],
  ])('are none while the refusal of a report kept %s is remembered', async (_what, config) => {
    const { platform, gateway, report, askedBy } = await watched(config);
    platform.answer(sends('{"message":"no such advertiser"}', {}, 422));
    const query = byDay('2026-11-10', '2026-11-12');
    expect(outcomeOf(await report(query))).toBe('422 upstream_rejected');
    gateway.clock.advance(10 * SECOND);
    expect(await explain(gateway, query)).toMatchObject({
      calls: [],
      refusal: { status: 422, ttlSeconds: 20 },
    });
    expect(await askedBy(() => report(query))).toEqual([]);
    gateway.clock.advance(20 * SECOND);
    const later = await explain(gateway, query);
    expect([later.refusal, ranges(later.calls)]).toEqual([null, [['2026-11-10', '2026-11-12']]]);
  });

  it('are one for the whole period of a report that is not split', async () => {
    const { gateway, report, askedBy } = await watched({});
    const query = 'advertiserId=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-07';
    expect(ranges((await explain(gateway, query)).calls)).toEqual([['2026-11-01', '2026-11-07']]);
    expect(await askedBy(() => report(query))).toEqual([['2026-11-01', '2026-11-07']]);
    expect((await explain(gateway, query)).calls).toEqual([]);
  });

  it('leave the ends open that the question leaves open', async () => {
    const { gateway } = await watched({});
    expect(ranges((await explain(gateway, 'advertiserId=1')).calls)).toEqual([[null, null]]);
  });
});

describe('explain', () => {
  it('asks the platform nothing, and writes nothing', async () => {
    const gateway = await withGateway({ config: ALWAYS });
    const query = byDay('2026-11-10', '2026-11-12');
    const before = await explain(gateway, query);
    expect(await explain(gateway, query)).toEqual(before);
    expect(gateway.simulator.callCount).toBe(0);
  });

  it('shows the state and age of each day', async () => {
    const { gateway, report } = await watched();
    await report(byDay('2026-11-15', '2026-11-16'));
    gateway.clock.advance(HOUR + 5 * SECOND);
    await report(byDay('2026-11-20', '2026-11-21'));
    gateway.clock.advance(MINUTE);
    const told = await explain(gateway, byDay('2026-11-14', '2026-11-21'));
    expect(told.days?.map(({ date, state }) => `${date} ${state}`)).toEqual([
      '2026-11-14 missing',
      '2026-11-15 final',
      '2026-11-16 stale',
      '2026-11-17 missing',
      '2026-11-18 missing',
      '2026-11-19 missing',
      '2026-11-20 fresh',
      '2026-11-21 fresh',
    ]);
    const [, final, stale] = told.days ?? [];
    expect(final).toEqual({
      date: '2026-11-15',
      state: 'final',
      final: true,
      asOf: '2026-11-21T12:00:00.000Z',
      ageSeconds: 3665,
      ttlSeconds: (30 * DAY) / 1000 - 3665,
      rows: 1,
      purgedAt: null,
    });
    expect(stale).toMatchObject({ final: false, ageSeconds: 3665, ttlSeconds: -65, rows: 1 });
    expect(told.whole).toBeNull();
  });

  it('says the canonical call, however the question is spelt', async () => {
    const { gateway } = await watched();
    const target =
      '/api/v1/report/campaigns/get?advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-02';
    const spelt = await explain(gateway, 'dateTo=2026-11-02&byDate=true&dateFrom=2026-11-01&advertiserId=1');
    expect(spelt.canonical).toEqual({ method: 'GET', target, body: null });
    const plain = await explain(gateway, byDay('2026-11-01', '2026-11-02'));
    expect([plain.key, plain.series]).toEqual([spelt.key, spelt.series]);
  });

  it.each([
    ['as configured', 'days', 'always'],
    ['as configured', 'whole', 'never'],
    ['the gateway has not yet tested whether single days add up', 'whole', 'auto'],
  ])('says why: %s, %s', async (because, mode, divisible) => {
    const { gateway } = await watched({ report: { endpoints: { 'campaigns/get': { divisible } } } });
    const { policy } = await explain(gateway, byDay('2026-11-01', '2026-11-02'));
    expect([policy.mode, policy.because]).toEqual([mode, because]);
  });

  it.each([
    [
      'campaigns/get',
      'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-02',
      'the report is not split by date',
    ],
    ['campaigns/get', 'advertiserId=1&byDate=1', 'the platform chooses the period'],
    ['other/get', byDay('2026-11-01', '2026-11-02'), 'the endpoint is not declared'],
    ['constructor', byDay('2026-11-01', '2026-11-02'), 'the endpoint is not declared'],
  ])('says why %s?%s is one entry', async (endpoint, query, because) => {
    const { gateway } = await watched();
    const { policy } = await gateway.services.reporting.explain(endpoint, query);
    expect([policy.mode, policy.because]).toEqual(['whole', because]);
  });

  it('shows what is learned so far', async () => {
    const { gateway, report, key } = await watched({});
    // A kind with an unknown parameter waits for a second period.
    await report(`${byDay('2026-11-01', '2026-11-03')}&x=1`);
    await gateway.services.settled();
    const unknown = await explain(gateway, `${byDay('2026-11-01', '2026-11-03')}&x=1`);
    expect([unknown.policy.because, unknown.policy.divisibility]).toEqual([
      'the gateway has not yet tested whether single days add up',
      null,
    ]);
    expect(unknown.inWords.divisibility).toContain('has not yet tested whether single days add up');
    // By day also while it is one entry; how many rows a day has is not known then.
    expect(unknown.days?.map(({ state, rows }) => [state, rows])).toEqual([
      ['final', null],
      ['final', null],
      ['final', null],
    ]);
    expect(unknown.whole).toMatchObject({ state: 'final', rows: 3 });
    await prove(gateway, key);
    const { policy, inWords } = await explain(gateway, byDay('2026-11-01', '2026-11-03'));
    expect([policy.mode, policy.because]).toEqual([
      'days',
      'proven: a day has the same numbers in every period',
    ]);
    expect(policy.divisibility).toMatchObject({ state: 'proven', proof: { to: '2026-11-12', calls: 6 } });
    expect(inWords.divisibility).toMatch(/^Cached by day\. A period of 28 days /);
  });

  it('says that the store is away', async () => {
    const platform = await startRawPlatform(rowsPerDay(() => 1));
    const gateway = await gatewayAt(platform, {
      config: ALWAYS,
      wrapStore: (store) => ({
        ...store,
        cache: { ...store.cache, read: () => Promise.reject(new Error('away')) },
      }),
    });
    const told = await explain(gateway, byDay('2026-11-01', '2026-11-02'));
    expect([told.storeAway, statesOf(told)]).toEqual([true, ['missing', 'missing']]);
  });
});
