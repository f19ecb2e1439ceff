/** What is said where totals of the platform are not the sums of the rows. */
import { expect, it } from 'vitest';
import { daysBetween } from '../../src/reports/query/days.js';
import { ALWAYS, byDay, periodOf } from '../reports/fetch/by-day.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { openScene } from '../support/scene.js';
import { reportIn, type SimulatedGateway, withTeam } from '../support/start-gateway.js';
import { MINUTE } from '../support/test-clock.js';

const DAYS = 'advertiserId=1&byDate=1&dateFrom=2026-10-26&dateTo=2026-10-30';
const LATE = { advertiserId: 1, from: '2026-10-28', to: '2026-10-28' };

/** Final days whose rows are cached, and to which the platform has added since. */
async function restated(query = DAYS) {
  const { gateway, key } = await withTeam({ config: ALWAYS });
  const ask = async (headers = {}, more = '') =>
    reportIn(await gateway.report(key, `${query}&_totals=1${more}`, { headers }));
  await gateway.report(key, query);
  await gateway.services.settled();
  gateway.clock.advance(MINUTE);
  gateway.simulator.restate(LATE);
  gateway.clock.advance(MINUTE);
  return { gateway, ask };
}

const codesIn = ({ meta }: ReturnType<typeof reportIn>) => (meta.warnings ?? []).map(({ code }) => code);

function expectSums({ data, meta }: ReturnType<typeof reportIn>): void {
  const sum = data.reduce((all, { clicks }) => all + Number(clicks), 0);
  expect(meta.totals?.clicks).toBe(sum);
}

it('late data on final days is told with the columns that differ, from memory and from the store', async () => {
  const { gateway, ask } = await restated();
  const first = await ask();
  expect(first.meta.final).toBe(true);
  expect(codesIn(first)).toEqual(['totals_differ']);
  const sum = first.data.reduce((all, { clicks }) => all + Number(clicks), 0);
  const { message } = (first.meta.warnings ?? [])[0] ?? { message: '' };
  expect(message).toContain(`clicks ${first.meta.totals?.clicks} instead of ${sum}`);
  expect(message).toMatch(/impressions .+ spent .+ fetched at different times, .+ use meta\.totals/);
  expect(message).not.toContain('reach');
  expect(first.meta).toMatchObject({ totalsAsOf: new Date(gateway.clock.now()).toISOString() });
  expect(await ask()).toEqual(first);
  const fields = await ask({}, '&_fields=date,spent');
  expect((fields.meta.warnings ?? [])[0]?.message).toMatch(/rows: spent [\d.]+ instead of [\d.]+\. Both/);
  expect(codesIn(await ask({}, '&_fields=date,reach'))).toEqual([]);
});

it.each<[remedy: string, headers: object, act: (gateway: SimulatedGateway) => unknown]>([
  ['no-cache fetches', { 'cache-control': 'no-cache' }, () => {}],
  [
    'a purge makes the next request fetch',
    {},
    (gateway) => gateway.manage('POST', '/cache/purge', { advertiserId: 1, from: LATE.from, to: LATE.to }),
  ],
])('%s rows that add up to the totals', async (_remedy, headers, act) => {
  const { gateway, ask } = await restated();
  expect(codesIn(await ask())).toEqual(['totals_differ']);
  gateway.clock.advance(MINUTE);
  await act(gateway);
  const report = await ask(headers);
  expect(codesIn(report)).toEqual([]);
  expectSums(report);
});

it('rows by campaign alone are compared too', async () => {
  const { ask } = await restated(DAYS.replace('byDate', 'byCampaign'));
  expect(codesIn(await ask())).toEqual(['totals_differ']);
});

it('rows and totals that were fetched at once are not said to have changed', async () => {
  const platform = await startRawPlatform((request, response) => {
    const days = daysBetween(...periodOf(request));
    const rows = request.url?.includes('byDate')
      ? days.map((date) => ({ date, clicks: 2 }))
      : [{ clicks: 5 }];
    sends(JSON.stringify(rows))(request, response);
  });
  const { ask } = await openScene(platform, { config: ALWAYS });
  const { meta } = reportIn(await ask(`${byDay('2026-11-01', '2026-11-02')}&_totals=1`));
  expect((meta.warnings ?? [])[0]?.message).toMatch(/clicks 5 instead of 4\. Both were fetched at once: the/);
});

it('rows that the platform may have cut are not compared', async () => {
  const platform = await startRawPlatform((request, response) => {
    const isSplit = request.url?.includes('byDate') ?? false;
    const rows = [{ date: '2026-11-01', clicks: 2 }];
    const body = isSplit ? { data: rows, total: 3 } : [{ clicks: 5 }];
    sends(JSON.stringify(body))(request, response);
  });
  const { ask } = await openScene(platform, { config: ALWAYS });
  const report = reportIn(await ask(`${byDay('2026-11-01', '2026-11-01')}&_totals=1`));
  expect(codesIn(report)).toEqual(['pages_left']);
});
