/** Days split from an answer that turned out to be capped stayed in use, and the audit cut capped answers itself. */
import { expect, it } from 'vitest';
import { StoreUnavailable } from '../../src/store/port.js';
import { ALWAYS, byDay, rowsPerDay } from '../reports/fetch/by-day.js';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, reportIn, withGateway } from '../support/start-gateway.js';
import { MINUTE } from '../support/test-clock.js';

const query = (dateFrom: string, dateTo: string) =>
  `advertiserId=1&byDate=1&byCampaign=1&dateFrom=${dateFrom}&dateTo=${dateTo}`;

const rowsOf = (rows: readonly object[]) => rows.length;

it('days of the first capped answer go when the second one shows the cap', async () => {
  const gateway = await withGateway({ switches: { rowCap: 500 } });
  const key = await gateway.addTeam();
  await gateway.report(key, query('2025-10-01', '2026-09-30'));
  await gateway.services.settled();
  await gateway.report(key, query('2025-08-01', '2026-08-05'));
  await gateway.services.settled();
  const [from, to] = ['2026-08-18', '2026-09-30'];
  const { data } = reportIn(await gateway.report(key, query(from, to)));
  const truth = gateway.simulator.truth({
    advertiserId: 1,
    byDate: true,
    byCampaign: true,
    dateFrom: from,
    dateTo: to,
  });
  expect(rowsOf(data)).toBe(rowsOf(truth));
  expect(rowsOf(truth)).toBeGreaterThan(50);
});

it('what the first capped answer said is skipped in the history, and what is fetched since is not', async () => {
  const platform = await startRawPlatform(rowsPerDay(() => 250, 600));
  const gateway = await gatewayAt(platform, { config: ALWAYS });
  const key = await gateway.addTeam();
  const ask = async (asked: string) => {
    const reply = await gateway.report(key, asked);
    await gateway.services.settled();
    gateway.clock.advance(MINUTE);
    return reply;
  };
  const cut = await ask(byDay('2026-11-01', '2026-11-04'));
  const last = byDay('2026-11-04', '2026-11-04');
  const then = `${last}&_asOf=${reportIn(cut).meta.knownAt}`;
  // Nothing tells yet that it was cut off: this day had no rows.
  expect(reportIn(await ask(then)).data).toEqual([]);
  await ask(byDay('2026-11-05', '2026-11-08'));
  expect(outcomeOf(await ask(then))).toBe('404 not_known_then');
  const { data, meta } = reportIn(await ask(last));
  expect(data).toHaveLength(250);
  expect(reportIn(await ask(`${last}&_asOf=${meta.knownAt}`)).data).toEqual(data);
});

it('a store that is away while the cap shows fails nobody, and the days go when it shows again', async () => {
  let away = false;
  const gateway = await withGateway({
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
  const key = await gateway.addTeam();
  await gateway.report(key, query('2025-10-01', '2026-09-30'));
  await gateway.services.settled();
  away = true;
  expect((await gateway.report(key, query('2025-08-01', '2026-08-05'))).status).toBe(200);
  away = false;
  await gateway.services.settled();
  expect((await gateway.report(key, query('2025-08-01', '2026-08-06'))).status).toBe(200);
  await gateway.services.settled();
  const late = { dateFrom: '2026-08-18', dateTo: '2026-09-30' };
  const { data } = reportIn(await gateway.report(key, query(late.dateFrom, late.dateTo)));
  const truth = gateway.simulator.truth({ advertiserId: 1, byDate: true, byCampaign: true, ...late });
  expect(rowsOf(data)).toBe(rowsOf(truth));
});

it('an audit whose answer is capped changes nothing', async () => {
  const gateway = await withGateway({
    switches: { rowCap: 60 },
    config: { report: { crossCheckEvery: 2, endpoints: { 'campaigns/get': { rowCap: 60 } } } },
  });
  const key = await gateway.addTeam();
  for (const [from, to] of [
    ['2026-10-10', '2026-10-20'],
    ['2026-10-11', '2026-10-21'],
    ['2026-10-12', '2026-10-22'],
    ['2026-10-22', '2026-11-10'],
  ] as const) {
    await gateway.report(key, query(from, to));
    await gateway.services.settled();
  }
  const [from, to] = ['2026-10-10', '2026-11-12'];
  for (let times = 0; times < 4; times++) {
    await gateway.report(key, `${query(from, to)}&_days=${times % 2}`);
    await gateway.services.settled();
  }
  const { data } = reportIn(await gateway.report(key, query('2026-10-10', '2026-11-11')));
  const truth = gateway.simulator.truth({
    advertiserId: 1,
    byDate: true,
    byCampaign: true,
    dateFrom: '2026-10-10',
    dateTo: '2026-11-11',
  });
  expect(rowsOf(truth)).toBeGreaterThan(60);
  expect(rowsOf(data)).toBe(rowsOf(truth));
  expect(gateway.log.filter(({ msg }) => msg.includes('may not be split'))).toEqual([]);
});
