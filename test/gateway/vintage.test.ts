/** `_vintage`: the first numbers of each day, and those that were final. */
import { describe, expect, it } from 'vitest';
import { prove } from '../support/prove.js';
import { outcomeOf, type Reply, reportIn, withGateway } from '../support/start-gateway.js';
import { DAY, HOUR } from '../support/test-clock.js';

const SERIES = 'advertiserId=1&byDate=1';
const QUERY = `${SERIES}&dateFrom=2026-11-19&dateTo=2026-11-20`;

async function scene() {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  await prove(gateway, key);
  const ask = async (query: string, headers: Record<string, string> = {}) => {
    const reply = await gateway.report(key, query, { headers });
    await gateway.services.settled();
    return reply;
  };
  const restate = () => gateway.simulator.restate({ advertiserId: 1, from: '2026-11-19', to: '2026-11-20' });
  return { gateway, ask, restate };
}

const detailOf = (reply: Reply) => reply.json<{ detail: string }>().detail;
const faultsOf = (reply: Reply) => reply.json<{ errors?: { param: string; message: string }[] }>().errors;

describe('the first numbers of each day', () => {
  it('are given from history, with how old each day was, and a warning of those that were seen late', async () => {
    const { gateway, ask, restate } = await scene();
    const first = await ask(QUERY);
    gateway.clock.advance(DAY);
    restate();
    const later = await ask(QUERY);
    expect(reportIn(later).data).not.toEqual(reportIn(first).data);
    const calls = gateway.simulator.callCount;
    const reply = await ask(`${QUERY}&_vintage=first&_days=1`);
    const { data, meta } = reportIn(reply);
    expect(data).toEqual(reportIn(first).data);
    expect(reply.headers['report-revision']).toBe(first.headers['report-revision']);
    expect(meta.days?.map(({ ageHours }) => ageHours)).toEqual([36, 12]);
    expect(meta.warnings).toEqual([
      { code: 'first_seen_late', message: expect.stringContaining('2026-11-19 within 24 hours') },
    ]);
    expect(meta).not.toHaveProperty('knownAt');
    expect(gateway.simulator.callCount).toBe(calls);
  });

  it('are not known of a day that is not over, nor of one that nobody asked for', async () => {
    const { ask } = await scene();
    await ask(`${SERIES}&dateFrom=2026-11-20&dateTo=2026-11-21`);
    const reply = await ask(`${SERIES}&dateFrom=2026-11-19&dateTo=2026-11-21&_vintage=first`);
    expect(outcomeOf(reply)).toBe('404 not_known_then');
    expect(detailOf(reply)).toMatch(/^Nothing was seen of 2026-11-19, 2026-11-21 since it was over\./);
  });
});

describe('the final numbers of each day', () => {
  it('are 409 with the days and when they are expected, then those that were first seen final, and stay', async () => {
    const { gateway, ask, restate } = await scene();
    await ask(QUERY);
    const early = await ask(`${QUERY}&_vintage=final`);
    expect(outcomeOf(early)).toBe('409 not_final');
    expect(detailOf(early)).toBe(
      'Not final yet: 2026-11-19 (expected to be final on 2026-11-25), 2026-11-20 (expected to be final on 2026-11-26).',
    );
    gateway.clock.set('2026-11-26T12:00:00Z');
    const unseen = await ask(`${QUERY}&_vintage=final`);
    expect(detailOf(unseen)).toMatch(/^Old enough to be final, and not seen since: 2026-11-19, 2026-11-20\./);
    restate();
    const final = await ask(QUERY);
    expect(reportIn(final).meta.final).toBe(true);
    gateway.clock.advance(3 * DAY);
    restate();
    const forced = await ask(QUERY, { 'cache-control': 'no-cache' });
    expect(reportIn(forced).data).not.toEqual(reportIn(final).data);
    const { data, meta } = reportIn(await ask(`${QUERY}&_vintage=final`));
    expect(data).toEqual(reportIn(final).data);
    expect(meta.final).toBe(true);
  });

  it('are those that were known before, where the fetch of the final day brought the same within the hour', async () => {
    const { gateway, ask } = await scene();
    gateway.clock.set('2026-11-25T23:50:00Z');
    await ask(`${SERIES}&dateFrom=2026-11-20&dateTo=2026-11-20`);
    gateway.clock.advance(HOUR / 3);
    const same = await ask(`${SERIES}&dateFrom=2026-11-20&dateTo=2026-11-20`, {
      'cache-control': 'no-cache',
    });
    const final = await ask(`${SERIES}&dateFrom=2026-11-20&dateTo=2026-11-20&_vintage=final`);
    expect(reportIn(final).data).toEqual(reportIn(same).data);
  });
});

it('the latest numbers are the ordinary answer', async () => {
  const { ask } = await scene();
  const [plain, latest] = [await ask(QUERY), await ask(`${QUERY}&_vintage=latest`)];
  expect(latest.text).toBe(plain.text);
  expect(latest.headers.etag).toBe(plain.headers.etag);
});

describe('refused is', () => {
  it.each([
    ['with _asOf', `${QUERY}&_vintage=first&_asOf=2026-11-20`, /leave out one/],
    ['latest with _asOf', `${QUERY}&_vintage=latest&_asOf=2026-11-20`, /leave out one/],
    ['an empty one', `${QUERY}&_vintage=`, /must be one of first, final, latest/],
    ['one in other case', `${QUERY}&_vintage=First`, /must be one of first, final, latest/],
    [
      'a report that is not by date',
      'advertiserId=1&dateFrom=2026-11-19&dateTo=2026-11-20&_vintage=final',
      /byDate/,
    ],
    ['no period', `${SERIES}&_vintage=first`, /dateFrom and dateTo/],
    ['the platform’s bytes', `${QUERY}&_vintage=first&_format=raw`, /_format=raw/],
    ['totals', `${QUERY}&_vintage=final&_totals=1`, /_totals/],
    ['one given twice', `${QUERY}&_vintage=first&_vintage=first`, /./],
  ])('_vintage %s', async (_what, query, message) => {
    const { ask } = await scene();
    const reply = await ask(query);
    expect(outcomeOf(reply)).toBe('400 invalid_query');
    expect(faultsOf(reply)).toEqual([{ param: '_vintage', message: expect.stringMatching(message) }]);
  });
});

it('is given by HEAD, as CSV, and as 304 to whoever has it', async () => {
  const { gateway, ask } = await scene();
  await ask(QUERY);
  const key = await gateway.addTeam();
  const got = await gateway.report(key, `${QUERY}&_vintage=first`);
  const head = await gateway.report(key, `${QUERY}&_vintage=first`, { method: 'HEAD' });
  expect([head.status, head.headers.etag]).toEqual([200, got.headers.etag]);
  const etag = got.headers.etag as string;
  const same = await gateway.report(key, `${QUERY}&_vintage=first`, { headers: { 'if-none-match': etag } });
  expect(same.status).toBe(304);
  const csv = await gateway.report(key, `${QUERY}&_vintage=first&_format=csv`);
  expect(csv.text).toBe((await gateway.report(key, `${QUERY}&_format=csv`)).text);
});

it('is no way to an advertiser that the team may not see', async () => {
  const { gateway, ask } = await scene();
  await ask(QUERY);
  const other = await gateway.addTeam({ id: 'other', advertisers: [2] });
  for (const vintage of ['first', 'final', 'latest'])
    expect(outcomeOf(await gateway.report(other, `${QUERY}&_vintage=${vintage}`))).toBe(
      '403 advertiser_forbidden',
    );
});
