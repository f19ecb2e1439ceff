/** A report of some campaigns, answered from the rows of all of them. */
import { describe, expect, it } from 'vitest';
import { NEEDED_AGREEMENTS } from '../../src/reports/learn/selectable.js';
import { daysBetween } from '../../src/reports/query/days.js';
import { ALWAYS, byDay, periodOf } from '../reports/fetch/by-day.js';
import { prove } from '../support/prove.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn, type TestGateway, withGateway } from '../support/start-gateway.js';
import { DAY } from '../support/test-clock.js';

const [FROM, TO] = ['2026-10-20', '2026-11-10'];
const ALL = `${byDay(FROM, TO)}&byCampaign=1`;
const idsIn = (ids: readonly number[]) => ids.map((id) => `&campaignIds[]=${id}`).join('');

async function scene(gateway: TestGateway) {
  const key = await gateway.addTeam();
  const ask = async (query: string) => {
    const reply = await gateway.report(key, query);
    await gateway.services.settled();
    return reply;
  };
  return { key, ask };
}

/** Campaigns of advertiser 1 with rows in the period. */
async function simulated() {
  const gateway = await withGateway();
  const { key, ask } = await scene(gateway);
  await prove(gateway, key, { more: '&byCampaign=1' });
  const { data } = reportIn(await ask(ALL));
  const ids = [...new Set(data.map(({ campaignId }) => campaignId as number))];
  expect(ids.length).toBeGreaterThanOrEqual(NEEDED_AGREEMENTS);
  const learn = async () => {
    for (const id of ids.slice(0, NEEDED_AGREEMENTS)) await ask(`${ALL}${idsIn([id])}`);
  };
  return { gateway, ask, ids, learn };
}

describe('a report of some campaigns', () => {
  it('is asked for until enough answers agreed, and then selected, byte for byte', async () => {
    const { gateway, ask, ids, learn } = await simulated();
    const calls = () => gateway.simulator.callCount;
    const before = calls();
    await learn();
    expect(calls()).toBe(before + NEEDED_AGREEMENTS);
    const some = ids.slice(-2);
    const selected = await ask(`${ALL}${idsIn(some)}`);
    expect(selected.headers['cache-status']).toContain('hit');
    expect(calls()).toBe(before + NEEDED_AGREEMENTS);
    const csv = await ask(`${ALL}${idsIn(some)}&_format=csv`);
    const { calls: explained, policy } = await gateway.services.reporting.explain(
      'campaigns/get',
      `${byDay('2026-10-21', TO)}&byCampaign=1${idsIn(some)}`,
    );
    expect([explained, policy.because]).toEqual([[], 'selected from the report of all campaigns']);
    // The platform's own answer, asked for by a gateway that has nothing to select from.
    const fresh = await gatewayAt(gateway.simulator, { clock: gateway.clock, config: ALWAYS });
    const other = await scene(fresh);
    const asked = await other.ask(`${ALL}${idsIn(some)}`);
    expect(reportIn(asked).data).toEqual(reportIn(selected).data);
    expect(asked.headers['report-revision']).toBe(selected.headers['report-revision']);
    expect((await other.ask(`${ALL}${idsIn(some)}&_format=csv`)).text).toBe(csv.text);
  });
});

/** Six campaigns, of which it says something else where they are asked for by name and `isLying` says so. */
const lyingPlatform = (isLying: () => boolean) =>
  startRawPlatform((request, response) => {
    const named = new URL(request.url ?? '', 'http://platform').searchParams.getAll('campaignIds[]');
    const reach = named.length > 0 && isLying() ? 9 : 7;
    const rows = daysBetween(...periodOf(request)).flatMap((date) =>
      [1, 2, 3, 4, 5, 6]
        .filter((id) => named.length === 0 || named.includes(String(id)))
        .map((id) => ({ date, campaign_id: id, advertiser_id: 1, reach })),
    );
    sends(JSON.stringify({ data: rows }))(request, response);
  });

it('is given no longer, not from memory either, once the daily check finds that the platform says something else', async () => {
  let lies = false;
  const platform = await lyingPlatform(() => lies);
  const gateway = await gatewayAt(platform, { config: ALWAYS });
  const { ask } = await scene(gateway);
  const reachOf = async (id: number) => reportIn(await ask(`${ALL}${idsIn([id])}`)).data[0]?.reach;
  await ask(ALL);
  for (const id of [1, 2, 3]) await reachOf(id);
  const before = platform.requests.length;
  expect([await reachOf(4), await reachOf(4)]).toEqual([7, 7]);
  expect(platform.requests.length).toBe(before);
  lies = true;
  gateway.clock.advance(DAY);
  expect([await reachOf(5), await reachOf(4)]).toEqual([9, 9]);
});

it('is never selected where the platform says something else of campaigns that are named', async () => {
  let lies = true;
  const platform = await lyingPlatform(() => lies);
  const gateway = await gatewayAt(platform, { config: ALWAYS });
  const { ask } = await scene(gateway);
  await ask(ALL);
  for (const id of [1, 2, 3, 4, 5]) await ask(`${ALL}${idsIn([id])}`);
  const before = platform.requests.length;
  expect(reportIn(await ask(`${ALL}${idsIn([6])}`)).data[0]).toMatchObject({ campaignId: 6, reach: 9 });
  expect(platform.requests.length).toBe(before + 1);
  lies = false;
  // It is not learned anew for a month.
  for (const id of [
    [1, 2],
    [1, 3],
    [1, 4],
  ])
    await ask(`${ALL}${idsIn(id)}`);
  await ask(`${ALL}${idsIn([2, 6])}`);
  expect(platform.requests.length).toBe(before + 5);
});
