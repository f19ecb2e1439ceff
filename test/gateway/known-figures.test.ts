/** Which columns tell a report from other lists and objects, how they become known, and how they are forgotten. */
import { describe, expect, it } from 'vitest';
import { daysBetween } from '../../src/reports/query/days.js';
import { periodOf } from '../reports/fetch/by-day.js';
import { type Handler, sends } from '../support/raw-platform.js';
import { openScene, rule, type Scene } from '../support/scene.js';
import { gatewayAt, outcomeOf, type Reply, reportIn } from '../support/start-gateway.js';

const NO_REPORT = '502 upstream_invalid_response';
const byDate = (advertiser: number) =>
  `advertiserId=${advertiser}&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-03`;
const unsplit = (advertiser: number) => byDate(advertiser).replace('&byDate=1', '');
const byCampaign = (advertiser: number) => `${unsplit(advertiser)}&byCampaign=1`;

const accountOf = (request: Parameters<Handler>[0]) =>
  Number(new URL(request.url ?? '', 'http://platform').searchParams.get('advertiserId'));
/** A row for each day of the period. */
const daily =
  (figures: object): Handler =>
  (request, response) =>
    sends(JSON.stringify({ data: daysBetween(...periodOf(request)).map((date) => ({ date, ...figures })) }))(
      request,
      response,
    );
/** The jobs of an advertiser, whatever is asked for. */
const jobs: Handler = (request, response) =>
  sends(JSON.stringify({ data: [{ job_id: 'b8', advertiser_id: accountOf(request), progress: 35 }] }))(
    request,
    response,
  );

/** What became of it: the outcome of a refusal; else whether it may be no report, or was kept. */
function verdictOf(reply: Reply): string {
  if (reply.status !== 200) return outcomeOf(reply);
  const { warnings = [], final } = reportIn(reply).meta;
  if (!warnings.some(({ code }) => code === 'shape_unknown'))
    return String(reply.headers['cache-status']).includes('stored') ? 'stored' : 'given';
  expect([final, reply.headers['cache-control']]).toEqual([false, 'private, no-store']);
  return 'shape_unknown';
}
async function verdicts(ask: Scene['ask'], queries: readonly string[]) {
  const all: string[] = [];
  for (const query of queries) all.push(verdictOf(await ask(query)));
  return all;
}
const advertisers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => byDate(from + at));

describe('a report of figures that are not usual', () => {
  it('is passed on with a warning until answers to two questions had them, then kept', async () => {
    const { ask } = await openScene(daily({ auctions: 3 }));
    expect(await verdicts(ask, [byDate(1), byDate(1), byDate(1)])).toEqual(Array(3).fill('shape_unknown'));
    expect(await verdicts(ask, [byDate(2), byDate(1)])).toEqual(['shape_unknown', 'stored']);
  });

  it('is passed on for ever if nothing in its rows is about the question', async () => {
    const { ask } = await openScene(sends('{"data":[{"site":"a.test","auctions":3}]}'));
    const queries = [1, 2, 3].map((one) => `${unsplit(one)}&bySite=1`);
    expect(await verdicts(ask, queries)).toEqual(Array(3).fill('shape_unknown'));
  });

  it('is kept from the first answer on where the settings name one, or say where the rows are', async () => {
    for (const settings of [{ knownColumns: ['auctions'] }, { rowsAt: 'data' }]) {
      const { ask } = await openScene(daily({ auctions: 3 }), { config: rule(settings) });
      expect(await verdicts(ask, [byDate(1)])).toEqual(['stored']);
    }
  });

  it('is known to every split, replica and later process', async () => {
    const { platform, gateway, key, ask } = await openScene(daily({ auctions: 3 }));
    await verdicts(ask, advertisers(1, 2));
    platform.answer(sends('{"data":{"auctions":9}}'));
    expect(await verdicts(ask, [unsplit(1)])).toEqual(['stored']);
    const other = await gatewayAt(platform, { sharedStore: gateway.store, clock: gateway.clock });
    expect(verdictOf(await other.report(key, unsplit(2)))).toBe('stored');
    platform.answer(sends('{"data":{"quota":9}}'));
    expect(verdictOf(await other.report(key, unsplit(3)))).toBe(NO_REPORT);
  });
});

describe('one object', () => {
  it.each<[string, object, string, object]>([
    ['with an unusual figure is passed on', { auctions: 9 }, 'shape_unknown', {}],
    ['with a usual figure is a row', { impressions: 9 }, 'stored', {}],
    ['is a row where rowsAt names the whole answer', { auctions: 9 }, 'stored', { rowsAt: '.' }],
    ['with nothing but ids, states and texts is 502', { id: 7, status: 2, name: 'weekly' }, NO_REPORT, {}],
  ])('of an endpoint never seen: %s', async (_what, body, verdict, settings) => {
    const { ask } = await openScene(sends(JSON.stringify(body)), { config: rule(settings) });
    expect(await verdicts(ask, [unsplit(1)])).toEqual([verdict]);
  });
});

describe('a list of jobs that comes first', () => {
  const LISTS = [1, 2, 3].map(byCampaign);

  it('does not close an endpoint to usual figures', async () => {
    const { platform, ask } = await openScene(jobs);
    expect(await verdicts(ask, LISTS)).toEqual(['shape_unknown', 'shape_unknown', 'stored']);
    platform.answer(daily({ impressions: 3 }));
    expect(await verdicts(ask, [byDate(4)])).toEqual(['stored']);
  });

  it('closes it to others for ten answers of one shape, which the log says once', async () => {
    const { platform, gateway, key, ask } = await openScene(jobs);
    await verdicts(ask, LISTS);
    platform.answer(daily({ auctions: 3 }));
    expect(await verdicts(ask, advertisers(4, 13))).toEqual(Array(10).fill(NO_REPORT));
    expect(await verdicts(ask, advertisers(14, 16))).toEqual(['shape_unknown', 'shape_unknown', 'stored']);
    expect(gateway.log.filter(({ msg }) => msg.includes('forgot the figures'))).toHaveLength(1);
    const other = await gatewayAt(platform, { sharedStore: gateway.store, clock: gateway.clock });
    expect(verdictOf(await other.report(key, byDate(17)))).toBe('stored');
    platform.answer(jobs);
    expect(verdictOf(await other.report(key, byCampaign(18)))).toBe(NO_REPORT);
  });

  it('stays what is known while other answers are of several shapes, or good ones come between', async () => {
    const { platform, ask } = await openScene(daily({ auctions: 3 }));
    await verdicts(ask, advertisers(1, 2));
    for (let at = 0; at < 12; at += 1) {
      platform.answer(sends(JSON.stringify({ data: [{ [`quota${at % 2}`]: 3 }] })));
      expect(await verdicts(ask, [byDate(3)])).toEqual([NO_REPORT]);
    }
    for (let at = 0; at < 3; at += 1) {
      platform.answer(sends('{"data":[{"quota":3}]}'));
      expect(await verdicts(ask, Array(5).fill(byDate(3)))).toEqual(Array(5).fill(NO_REPORT));
      platform.answer(daily({ auctions: 3 }));
      expect(await verdicts(ask, [byDate(10 + at)])).toEqual(['stored']);
    }
  });
});
