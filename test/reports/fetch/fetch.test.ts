/** What happens around a fetch: waits, refreshes, purges meanwhile, what is kept and noted. */

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createTurnQueue } from '../../../src/reports/cache/background.js';
import { createLookUp } from '../../../src/reports/cache/look-up.js';
import { createCacheTier } from '../../../src/reports/cache/tier.js';
import { encodePart } from '../../../src/reports/days/part.js';
import { afterFetch } from '../../../src/reports/fetch/after-fetch.js';
import type { Fetch, Fetched, FetchedAnswer } from '../../../src/reports/fetch/fetched.js';
import { noteReference } from '../../../src/reports/fetch/reference-reports.js';
import { createWriteBehind } from '../../../src/reports/fetch/write-behind.js';
import type { Gateway, ReferenceReport } from '../../../src/reports/gateway.js';
import type { FetchedDays } from '../../../src/reports/history/record.js';
import type { Comparison } from '../../../src/reports/learn/learn.js';
import { dayNumber } from '../../../src/reports/query/days.js';
import { dayRefs, newPatience } from '../../../src/reports/question.js';
import { startSimulator } from '../../../src/simulator/simulator.js';
import { type Store, StoreUnavailable } from '../../../src/store/port.js';
import { countedPurges } from '../../support/counted-purges.js';
import { encodeHere } from '../../support/encode-here.js';
import { sends, startHeldPlatform, startRawPlatform } from '../../support/raw-platform.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openInMemory, openReplica } from '../../support/shared-registry.js';
import { gatewayAt, outcomeOf, REPORT, reportIn, withGateway } from '../../support/start-gateway.js';
import { createTestClock, MINUTE, SECOND } from '../../support/test-clock.js';
import { daysOn, recorderOn } from '../history/on-disk.js';
import { get } from '../query/canonical-request.js';
import { rowsEntry } from '../rows/entries.js';
import { ALWAYS, byDay, periodOf, rowsPerDay } from './by-day.js';
import { policyOf } from './policy.js';

const RANGE = { from: '2026-11-10', to: '2026-11-11' };
const SERIES = { ...get('advertiserId=1&byDate=1&dateFrom=2026-11-10&dateTo=2026-11-11'), series: 'series' };

/** What the platform says of both days. */
function answerOf(clicks: number, fetchStartedAt: number): Fetched {
  const days = [RANGE.from, RANGE.to].map((lastDay) =>
    rowsEntry([{ date: lastDay, clicks }], {
      lastDay,
      fetchStartedAt,
      splitFrom: { ...RANGE, sortedHash: `${clicks}`, generation: 'one' },
    }),
  );
  return {
    kind: 'answer',
    range: RANGE,
    rows: null,
    rowsFault: null,
    bytes: null,
    days,
    rowCount: 2,
    splittable: { ok: true },
    doubt: null,
    flaws: [],
    storable: true,
  } as Fetched;
}

async function openKeep() {
  const store = await openInMemory();
  const { registry } = await openReplica(store);
  const asked: string[] = [];
  const noting =
    <In extends unknown[], Out>(name: string, call: (...args: In) => Out) =>
    (...args: In) => {
      asked.push(name);
      return call(...args);
    };
  const { read, write } = store.days;
  const days = daysOn(
    { ...store.days, read: noting('read', read), write: noting('write', write) },
    { encode: noting('encode', async (some: Parameters<typeof encodePart>[0]) => encodePart(some)) },
  );
  const { record } = recorderOn(days);
  const tier = createCacheTier({
    store: store.cache,
    encode: encodeHere,
    versionClockMs: () => 0,
    count: () => {},
    logger: createRecordedLog().logger,
  });
  const purges = countedPurges(registry);
  const { logger } = createRecordedLog();
  const lookUp = createLookUp({ tier, days, purges, now: () => 0, count: () => {}, logger });
  const compared: Comparison[] = [];
  const g = {
    tier,
    lookUp,
    policy: policyOf(),
    background: () => {},
    onReport: () => {},
    turns: createTurnQueue(),
    writeBehind: createWriteBehind(() => {}),
    replacements: { note: async () => {}, givenMs: () => 0 },
    history: { record: (_report: unknown, fetched: FetchedDays) => record(fetched) },
    advertisers: { observed: () => {} },
    evidence: { noted: () => {}, finalized: () => {} },
    learner: {
      status: () => ({ id: '', state: 'unknown', pinned: false, generation: 'one', wholeUntil: null }),
    },
    async learnFrom(news: Comparison) {
      compared.push(news);
    },
  } as unknown as Gateway;
  const fetch: Fetch = {
    ...SERIES,
    ...({ mode: 'whole', form: 'rows', range: RANGE, team: 'team', learns: true } as const),
    known: new Map(),
    patience: newPatience(),
    order: 1,
  };
  return { keep: (answer: Fetched) => afterFetch(g, fetch, answer), lookUp, asked, compared };
}

it('asks nothing of the store, and makes nothing ready for it, before the answer is sent', async () => {
  const { keep, asked } = await openKeep();
  const { kept, result } = await keep(answerOf(1, 1000));
  expect(result.stored).toBe(true);
  expect(asked).toEqual([]);
  await kept;
  expect(asked).toEqual(['read', 'encode', 'write']);
});

it('has read by others at once what is still to be written', async () => {
  const { keep, lookUp } = await openKeep();
  const { kept } = await keep(answerOf(7, 1000));
  const refs = dayRefs(SERIES);
  const { found } = await lookUp.read(SERIES.report, refs);
  expect([...found.values()].map(({ body }) => JSON.parse(body.toString()).clicks)).toEqual([7, 7]);
  await kept;
});

it('compares with what was there before, not with what it writes', async () => {
  const { keep, compared } = await openKeep();
  const first = await keep(answerOf(1, 1000));
  await first.kept;
  expect(compared[0]?.known.size).toBe(0);
  const second = await keep(answerOf(2, 2000));
  await second.kept;
  const split = compared[1];
  expect(split?.fresh).toHaveLength(2);
  expect([...(split?.known.values() ?? [])].map(({ body }) => JSON.parse(body.toString()).clicks)).toEqual([
    1, 1,
  ]);
});

/** What a gateway noted after some reports. */
async function noted(...queries: string[]): Promise<Omit<ReferenceReport, 'rows'>[]> {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  for (const query of queries) await gateway.call(`${REPORT}?${query}`, { key });
  await gateway.services.settled();
  const list = await gateway.services.referenceReports.list();
  return list.map(({ at: _at, rows, ...report }) => {
    expect(rows).toBeGreaterThan(0);
    return report;
  });
}

describe('a report that a token can be proven with', () => {
  it('is a final day of one that is split by date', async () => {
    const [reference, ...others] = await noted(
      'advertiserId=1&byDate=1&dateFrom=2026-11-10&dateTo=2026-11-20',
    );
    expect(others).toEqual([]);
    expect(reference).toMatchObject({ account: '1', endpoint: 'campaigns/get', split: ['date'] });
    const { day = '', target } = reference ?? {};
    expect(day >= '2026-11-10' && day <= '2026-11-15').toBe(true);
    expect(target).toBe(`${REPORT}?advertiserId=1&byDate=1&dateFrom=${day}&dateTo=${day}`);
  });

  it('is one of a single final day, however it is split', async () => {
    const query = 'advertiserId=2&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-01';
    const reference = { account: '2', endpoint: 'campaigns/get', split: ['campaign'], day: '2026-11-01' };
    expect(await noted(query)).toEqual([{ ...reference, target: `${REPORT}?${query}` }]);
  });

  it('is none that may still change, is no single day, was refused, or leaves the period to the platform', async () => {
    expect(
      await noted(
        // With an unknown parameter: its kind is not proven with final days.
        'advertiserId=1&byDate=1&x=1&dateFrom=2026-11-18&dateTo=2026-11-21',
        'advertiserId=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-02',
        'advertiserId=999999&dateFrom=2026-11-01&dateTo=2026-11-01',
        'advertiserId=1',
      ),
    ).toEqual([]);
  });

  it('is none whose rows are from history: they say nothing of the token', () => {
    const onReport = vi.fn();
    const g = { onReport, policy: { rulesFor: () => ({ restatementDays: 5 }) } } as unknown as Gateway;
    const { report } = get('advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-01');
    const day = { lastDay: '2026-11-01', fetchedOn: dayNumber('2026-11-21'), rowCount: 3, kind: 'bounded' };
    const answer = (more: object) =>
      ({
        kind: 'answer',
        doubt: null,
        rows: null,
        days: [{ header: { ...day, ...more } }],
      }) as unknown as FetchedAnswer;
    noteReference(g, report, answer({ forgotten: { code: 'beyond_retention' } }));
    expect(onReport).not.toHaveBeenCalled();
    noteReference(g, report, answer({}));
    expect(onReport).toHaveBeenCalledTimes(1);
  });
});

const NO_RETRY = { ...ALWAYS, platform: { retry: { attempts: 0 } } };

/** A gateway that keeps the days of one answer, on a platform that holds the next. */
async function openWith(kept: string) {
  const platform = await startHeldPlatform(rowsPerDay(() => 1));
  const gateway = await gatewayAt(platform, { config: NO_RETRY });
  const key = await gateway.addTeam();
  platform.release();
  await gateway.report(key, kept);
  platform.hold();
  return { platform, gateway, key };
}

it('a purge while an answer waits for its missing days makes those found before absent: they are asked for again', async () => {
  const { platform, gateway, key } = await openWith(byDay('2026-11-01', '2026-11-03'));
  gateway.clock.advance(MINUTE);
  const answer = gateway.report(key, `${byDay('2026-11-01', '2026-11-04')}&_days=1`);
  await platform.arrived(2);
  expect(periodOf(platform.requests[1] as { url: string })).toEqual(['2026-11-04', '2026-11-04']);
  gateway.clock.advance(MINUTE);
  const purgedAt = new Date(gateway.clock.now()).toISOString();
  await gateway.manage('POST', '/cache/purge', { all: true });
  gateway.clock.advance(MINUTE);
  platform.release();
  const { days = [] } = reportIn(await answer).meta;
  expect(days.map(({ date }) => date)).toEqual(['2026-11-01', '2026-11-02', '2026-11-03', '2026-11-04']);
  expect(days.filter(({ asOf }) => asOf < purgedAt)).toEqual([]);
});

const QUERY = 'advertiserId=1&dateFrom=2026-11-20&dateTo=2026-11-21';
const rows = (impressions: number) => sends(`{"data":[{"impressions":${impressions}}]}`);

/** A report that is past its freshness, in front of a platform that hangs. */
async function startStale() {
  const platform = await startHeldPlatform(rows(1));
  const gateway = await gatewayAt(platform, {
    config: { platform: { retry: { attempts: 0 } } },
  });
  const key = await gateway.addTeam();
  platform.release();
  await gateway.report(key, QUERY);
  platform.hold();
  gateway.clock.advance(6 * MINUTE);
  return {
    platform,
    gateway,
    async ask(query = QUERY) {
      const reply = await gateway.report(key, query);
      expect(reply.headers['cache-status']).toContain('stale-while-revalidate');
      return reportIn(reply).data;
    },
    failures: () => gateway.log.filter(({ msg }) => msg === 'background refresh of a stale answer failed'),
  };
}

it('however many ask for a stale report while the platform hangs, one refresh waits and one line is logged', async () => {
  const { platform, gateway, ask, failures } = await startStale();
  const other = await gateway.addTeam();
  platform.answer(sends('{}', {}, 500));
  for (let hit = 0; hit < 20; hit++) await ask();
  await gateway.report(other, `${QUERY}&_format=csv`);
  await platform.arrived(2);
  platform.release();
  await gateway.services.settled();
  expect(failures()).toHaveLength(1);
  expect(platform.requests).toHaveLength(2);
});

it('a refresh that failed is not tried again by the next hit, but soon', async () => {
  const { platform, gateway, ask, failures } = await startStale();
  platform.answer(sends('{}', {}, 500));
  platform.release();
  for (let hit = 0; hit < 20; hit++) {
    await ask();
    await gateway.services.settled();
  }
  expect([platform.requests.length, failures().length]).toEqual([2, 1]);
  platform.answer(rows(2));
  gateway.clock.advance(5 * SECOND);
  expect(await ask()).toEqual([{ impressions: 1 }]);
  await gateway.services.settled();
  expect(platform.requests).toHaveLength(3);
  // The one that succeeds is followed by the next when its answer is stale again.
  gateway.clock.advance(6 * MINUTE);
  expect(await ask()).toEqual([{ impressions: 2 }]);
  await gateway.services.settled();
  expect(platform.requests).toHaveLength(4);
});

/** A store whose cache, leases and messages answer nothing until the test lets a time-out pass. */
function createSilence() {
  const waiting: { readonly call: string; readonly fail: () => void }[] = [];
  const calls: string[] = [];
  let silent = false;
  const through = <T extends object>(name: string, part: T): T =>
    new Proxy(part, {
      get(target, member) {
        const run: unknown = Reflect.get(target, member);
        // The leader lists months whenever it likes.
        if (typeof run !== 'function' || member === 'subscribe' || member === 'months') return run;
        return (...args: unknown[]) => {
          if (!silent) return run.apply(target, args);
          const call = `${name}.${String(member)}`;
          calls.push(call);
          return new Promise((_, reject) => {
            waiting.push({ call, fail: () => reject(new StoreUnavailable('no answer in time')) });
          });
        };
      },
    });
  const timeOut = () => {
    for (const { fail } of waiting.splice(0)) fail();
  };
  return {
    calls,
    waiting,
    timeOut,
    begin: () => {
      silent = true;
    },
    end() {
      silent = false;
      timeOut();
    },
    wrapStore: (store: Store): Store => ({
      ...store,
      cache: through('cache', store.cache),
      days: through('days', store.days),
      leases: through('leases', store.leases),
      bus: through('bus', store.bus),
    }),
  };
}

it.each([
  [
    'kept as a whole',
    {},
    'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-07',
    sends('{"data":[{"impressions":7}]}'),
    { reads: ['cache.read'], write: 'cache.write' },
  ],
  [
    'kept by day',
    ALWAYS,
    byDay('2026-11-01', '2026-11-07'),
    rowsPerDay(() => 1),
    // A period may have been refused as a whole.
    { reads: ['days.read', 'cache.read'], write: 'days.earlier' },
  ],
])(
  'a request for a report %s waits once for a store that is silent, and is answered without it',
  async (_what, config, query, handler, { reads, write }) => {
    const platform = await startRawPlatform(handler);
    const silence = createSilence();
    const gateway = await gatewayAt(platform, { config, wrapStore: silence.wrapStore });
    onTestFinished(() => silence.end());
    const key = await gateway.addTeam();
    silence.begin();
    const asked = gateway.report(key, query);
    await expect.poll(() => silence.calls).toEqual(reads);
    // The one time-out that it waits for. Whatever it asks of the store after that stays unanswered.
    silence.timeOut();
    const reply = await asked;
    expect(reportIn(reply).data.length).toBeGreaterThan(0);
    expect(reply.headers['cache-status']).toContain('detail=degraded');
    expect(platform.requests).toHaveLength(1);
    // What a slow store may still do is asked of it all the same.
    await expect.poll(() => silence.calls).toContain(write);
    expect(silence.calls).toContainEqual(expect.stringMatching(/\.claim$/));
    expect(silence.calls.filter((call) => call.endsWith('.read'))).toEqual(reads);
  },
);

it('a request that waits for the call of another replica answers upstream_timeout when its time is up', async () => {
  const clock = createTestClock();
  const simulator = await startSimulator({ clock, switches: { rateLimitPerMinute: 0 } });
  onTestFinished(() => simulator.close());
  const sharedStore = await openInMemory(clock);
  const patient = await gatewayAt(simulator, { clock, sharedStore });
  const hasty = await gatewayAt(simulator, {
    clock,
    sharedStore,
    config: { platform: { timeoutMs: 1000 } },
  });
  const key = await patient.addTeam();
  await expect.poll(async () => (await hasty.call('/gateway/v1/me', { key })).status).not.toBe(401);
  simulator.fault({ kind: 'hang' });
  const slow = patient.report(key, QUERY);
  await expect.poll(() => simulator.callCount).toBe(1);
  expect(outcomeOf(await hasty.report(key, QUERY))).toBe('504 upstream_timeout');
  expect(simulator.callCount).toBe(1);
  await simulator.close();
  expect(outcomeOf(await slow)).toBe('502 upstream_error');
});
