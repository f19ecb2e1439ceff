/** Reports that the platform cuts off without a word: what they cost, and what is taken back once the cap shows. */
import { describe, expect, it } from 'vitest';
import { daysBetween } from '../../../src/reports/query/days.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { stateOf } from '../../support/prove.js';
import { sends } from '../../support/raw-platform.js';
import { openScene, rule } from '../../support/scene.js';
import { type GatewayOptions, outcomeOf, reportIn, withGateway } from '../../support/start-gateway.js';
import { DAY, MINUTE } from '../../support/test-clock.js';
import { answering, plain } from '../learn/range-dependent.js';
import { ALWAYS, byDay, periodOf, rowsPerDay } from './by-day.js';

const NO_CHECKS = { config: { report: { crossCheckEvery: 1_000_000 } } };
const rowsIn = (reply: Parameters<typeof reportIn>[0]) => reportIn(reply).data.length;

describe('a cap that is configured', () => {
  const CAP = 4;
  /** Of six days, halved down to single ones. */
  const CALLS = 11;
  const twoOf = () => 2;
  const fiveOnOne = (date: string) => (date === '2026-11-05' ? 5 : 2);
  const query = byDay('2026-11-01', '2026-11-06');

  it.each([
    { rows: twoOf, more: '&x=1', divisible: 'auto', length: 12 },
    { rows: twoOf, more: '', divisible: 'always', length: 12 },
    { rows: twoOf, more: '&_format=raw', divisible: 'always', length: CAP },
    { rows: fiveOnOne, more: '&x=1', divisible: 'auto', length: 5 * 2 + CAP },
  ])('a capped report ($divisible, "$more") is given after one set of halves, and kept', async (asked) => {
    const { platform, ask } = await openScene(rowsPerDay(asked.rows, CAP), {
      config: { platform: { timeoutMs: 5000 }, ...rule({ divisible: asked.divisible, rowCap: CAP }) },
    });
    for (const _ of ['fetched', 'kept']) {
      expect((await ask(query + asked.more)).json<{ data: unknown[] }>().data).toHaveLength(asked.length);
      expect(platform.requests.length).toBeLessThanOrEqual(CALLS);
    }
  });

  it('capped reports that are asked for at the same time do not void each other', async () => {
    const config = rule({ divisible: 'always', rowCap: CAP });
    const { platform, gateway, key } = await openScene(rowsPerDay(twoOf, CAP), { config });
    const queries = [query, byDay('2026-11-04', '2026-11-09'), `${query}&_totals=1`, `${query}&_format=raw`];
    const replies = await Promise.all(queries.map((one) => gateway.report(key, one)));
    expect(replies.map(outcomeOf)).toEqual(['200', '200', '200', '200']);
    // The halves of two ranges, one of them twice: raw is asked for as a whole. And the unsplit report of the totals.
    expect(platform.requests.length).toBeLessThan(4 * CALLS);
  });

  it('nothing that was joined is given any more, not even when the platform fails', async () => {
    const { platform, gateway, count } = await openScene(
      rowsPerDay(() => 7, 20),
      { config: { platform: { retry: { attempts: 0 } }, ...rule({ rowCap: 20 }) } },
    );
    const joined = byDay('2026-11-01', '2026-11-04');
    // The halves; and four, two and one week that the gateway tried to compare.
    expect((await count(joined)).calls).toBe(3 + 3);
    expect((await count(`${joined}&_format=csv`)).calls).toBe(0);
    // Other numbers for each period.
    platform.answer(
      answering((period) =>
        plain(period).map((row) => ({ ...row, impressions: Date.parse(period[1]) / 1e6 })),
      ),
    );
    await count(byDay('2026-11-02', '2026-11-03'));
    expect((await stateOf(gateway)).divisibility?.state).toBe('refuted');
    platform.answer(sends('{"message":"away"}', {}, 500));
    for (const form of ['', '&_format=csv'])
      expect(outcomeOf((await count(joined + form)).reply)).toBe('502 upstream_error');
  });
});

describe('a cap that is found out', () => {
  const PER_DAY = 60;
  const open = async () => {
    const { count } = await openScene(
      rowsPerDay(() => PER_DAY, 600),
      NO_CHECKS,
    );
    return async (from: string, to: string) => {
      const { reply, calls } = await count(byDay(from, to));
      return { rows: rowsIn(reply), calls };
    };
  };

  it('a range of more than twice as many rows as the cap costs one call for each half', async () => {
    const ask = await open();
    // Nobody can tell yet.
    await ask('2026-10-20', '2026-11-08');
    const { rows, calls } = await ask('2026-10-18', '2026-11-10');
    expect(rows).toBe(24 * PER_DAY);
    expect(calls).toBeLessThan(15);
    expect((await ask('2026-10-20', '2026-11-08')).rows).toBe(20 * PER_DAY);
  });

  it('a cap of a round count is found out by the first answer', async () => {
    for (const cap of [1000, 1024]) {
      const { count } = await openScene(
        rowsPerDay(() => 250, cap),
        NO_CHECKS,
      );
      expect(rowsIn((await count(byDay('2026-11-01', '2026-11-08'))).reply)).toBe(2000);
    }
  });

  it('a cap is told by final days, though days that still change lost rows between the calls', async () => {
    let calls = 0;
    // The latest days come first, and are not cut off.
    const { gateway, ask } = await openScene((request, response) => {
      calls += 1;
      const rows = daysBetween(...periodOf(request))
        .toReversed()
        .flatMap((date) => {
          const length = date > '2026-11-15' && calls > 1 ? 50 : 300;
          return Array.from({ length }, (_, at) => ({ date, campaign_id: at, clicks: 1 }));
        });
      sends(JSON.stringify({ data: rows.slice(0, 1000) }))(request, response);
    }, NO_CHECKS);
    expect(rowsIn(await ask(byDay('2026-11-13', '2026-11-16')))).toBe(950);
    expect(gateway.logText).toContain('truncates answers at a row count');
  });

  it('many advertisers with as many rows on each day cost hardly more calls, though their counts are round', async () => {
    const ADVERTISERS = 30;
    const rows = (of: number) => (of % 2 === 0 ? 500 : 1000);
    const { gateway, platform, ask } = await openScene(
      (request, response) => {
        const of = Number(new URL(request.url ?? '', 'http://platform').searchParams.get('advertiserId'));
        rowsPerDay(() => rows(of), Number.POSITIVE_INFINITY, { advertiser_id: of })(request, response);
      },
      { config: { report: { ...ALWAYS.report, crossCheckEvery: 0 } } },
    );
    for (let day = 0; day < 3; day += 1) {
      const to = `2026-11-${20 + day}`;
      for (let of = 1; of <= ADVERTISERS; of += 1) {
        const query = byDay(`2026-11-${19 + day}`, to).replace('advertiserId=1', `advertiserId=${of}`);
        expect(rowsIn(await ask(query))).toBe(2 * rows(of));
      }
      gateway.clock.advance(DAY);
    }
    expect(platform.requests.length / (3 * ADVERTISERS)).toBeLessThanOrEqual(1.08);
  });

  it('a range that happens to have as many rows as a proven cap takes nothing back', async () => {
    const ask = await open();
    await ask('2026-10-20', '2026-11-08');
    await ask('2026-10-18', '2026-11-05');
    expect((await ask('2026-10-01', '2026-10-10')).rows).toBe(600);
    expect((await ask('2026-09-01', '2026-09-19')).rows).toBe(19 * PER_DAY);
  });

  it('a count that was a coincidence for short ranges is looked into again for a longer one', async () => {
    const ask = await open();
    await ask('2026-10-01', '2026-10-10');
    await ask('2026-10-11', '2026-10-20');
    expect((await ask('2026-09-01', '2026-09-19')).rows).toBe(19 * PER_DAY);
  });

  it('what the first capped answer said is skipped in the history, and what is fetched since is not', async () => {
    const { gateway, ask } = await openScene(
      rowsPerDay(() => 250, 600),
      { config: ALWAYS },
    );
    const later = async (query: string) => {
      const reply = await ask(query);
      gateway.clock.advance(MINUTE);
      return reply;
    };
    const cut = await later(byDay('2026-11-01', '2026-11-04'));
    const last = byDay('2026-11-04', '2026-11-04');
    const then = `${last}&_asOf=${reportIn(cut).meta.knownAt}`;
    // Nothing tells yet that it was cut off: this day had no rows.
    expect(reportIn(await later(then)).data).toEqual([]);
    await later(byDay('2026-11-05', '2026-11-08'));
    expect(outcomeOf(await later(then))).toBe('404 not_known_then');
    const { data, meta } = reportIn(await later(last));
    expect(data).toHaveLength(250);
    expect(reportIn(await later(`${last}&_asOf=${meta.knownAt}`)).data).toEqual(data);
  });

  it('the whole answer is given and kept, and the count is no cap', async () => {
    // Halves hold less than the range: each campaign is listed on every day of the period.
    const { gateway, count } = await openScene(
      answering((period) =>
        plain(period).flatMap(({ date }) =>
          plain(period).flatMap((own, index) =>
            Array.from({ length: 100 }, (_, at) => ({
              date,
              campaign_id: index * 100 + at,
              advertiser_id: 1,
              impressions: own.date === date ? 5 : 0,
            })),
          ),
        ),
      ),
      NO_CHECKS,
    );
    const { seq } = gateway.services.purges;
    const ask = async (from: string, to: string) => {
      const { reply, calls } = await count(byDay(from, to));
      return [rowsIn(reply), calls];
    };
    expect((await ask('2026-11-01', '2026-11-03'))[0]).toBe(900);
    // The same count for another range: looked into once.
    expect((await ask('2026-10-01', '2026-10-03'))[0]).toBe(900);
    expect(gateway.services.purges.seq).toBe(seq);
    expect(await ask('2026-11-01', '2026-11-03')).toEqual([900, 0]);
    expect(await ask('2026-10-11', '2026-10-13')).toEqual([900, 1]);
  });
});

describe('on the simulator', () => {
  async function open(options: GatewayOptions & { switches: object }) {
    const gateway = await withGateway(options);
    const key = await gateway.addTeam();
    const ask = async (dateFrom: string, dateTo: string, more = '') => {
      const query = `${byDay(dateFrom, dateTo)}&byCampaign=1${more}`;
      const reply = await gateway.report(key, query);
      await gateway.services.settled();
      return reply;
    };
    async function expectTruth(dateFrom: string, dateTo: string) {
      const truth = gateway.simulator.truth({
        advertiserId: 1,
        byDate: true,
        byCampaign: true,
        dateFrom,
        dateTo,
      });
      expect(truth.length).toBeGreaterThan(50);
      expect(rowsIn(await ask(dateFrom, dateTo))).toBe(truth.length);
    }
    return { gateway, ask, expectTruth };
  }

  it('a store that is away while the cap shows fails nobody, and the days go when it shows again', async () => {
    let away = false;
    const { ask, expectTruth } = await open({
      switches: { rowCap: 500 },
      wrapStore: (store) => ({
        ...store,
        registry: {
          ...store.registry,
          commit: (change) =>
            away ? Promise.reject(new StoreUnavailable('away')) : store.registry.commit(change),
        },
      }),
    });
    await ask('2025-10-01', '2026-09-30');
    away = true;
    expect((await ask('2025-08-01', '2026-08-05')).status).toBe(200);
    away = false;
    expect((await ask('2025-08-01', '2026-08-06')).status).toBe(200);
    await expectTruth('2026-08-18', '2026-09-30');
  });

  it('an audit whose answer is capped changes nothing', async () => {
    const { gateway, ask, expectTruth } = await open({
      switches: { rowCap: 60 },
      config: { report: { crossCheckEvery: 2, ...rule({ rowCap: 60 }).report } },
    });
    await ask('2026-10-10', '2026-10-20');
    await ask('2026-10-11', '2026-10-21');
    await ask('2026-10-12', '2026-10-22');
    await ask('2026-10-22', '2026-11-10');
    for (let times = 0; times < 4; times++) await ask('2026-10-10', '2026-11-12', `&_days=${times % 2}`);
    await expectTruth('2026-10-10', '2026-11-11');
    expect(gateway.log.filter(({ msg }) => msg.includes('cannot be split'))).toEqual([]);
  });
});
