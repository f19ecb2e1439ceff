/** `GET /gateway/v1/revisions`: what is known of each day, and since when. */
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../src/errors.js';
import { outcomeOf, type Reply, reportIn } from '../support/start-gateway.js';
import { aboutReport, BY_DATE, historyScene, PERIOD } from './history-scene.js';

interface Listed {
  readonly data: readonly {
    readonly date: string;
    readonly revisions: readonly (Readonly<Record<string, unknown>> & {
      readonly totals: Readonly<Record<string, unknown>> | null;
    })[];
  }[];
  readonly meta: Readonly<Record<string, unknown>>;
}

const listed = (reply: Reply) => {
  expect(reply.status, reply.text).toBe(200);
  return reply.json<Listed>();
};
const paramsIn = (reply: Reply) => reply.json<Problem>().errors?.map(({ param }) => param);

describe('the revisions of a report', () => {
  it('are listed by day, with what changed, since when, and what their rows add up to', async () => {
    const { ask, restated, about, gateway } = await historyScene();
    const before = reportIn(await ask(BY_DATE));
    const after = reportIn(await restated(BY_DATE));
    const calls = gateway.simulator.callCount;
    const { data, meta } = listed(await about('revisions', BY_DATE));
    expect(gateway.simulator.callCount).toBe(calls);
    expect(data.map(({ date, revisions }) => [date, revisions.map(({ kind }) => kind)])).toEqual([
      ['2026-11-17', ['first']],
      ['2026-11-18', ['first', 'changed']],
      ['2026-11-19', ['first']],
    ]);
    expect(meta).toMatchObject({
      endpoint: 'campaigns/get',
      advertiserId: 1,
      split: ['date'],
      revisionCount: 4,
    });
    const [first, second] = data[1]?.revisions ?? [];
    expect(first).toMatchObject({ ageDays: 3, rowCount: 1, knownFrom: before.meta.knownAt });
    const { impressions, clicks, spent } = before.data[1] as Record<string, number>;
    expect(first?.totals).toEqual({ impressions, clicks, spent });
    expect(second?.totals?.spent).toBe(after.data[1]?.spent);
    expect(Date.parse(String(second?.knownFrom))).toBeGreaterThan(Date.parse(String(first?.knownFrom)));
  });

  it('have an empty list for a day that was never asked for', async () => {
    const { ask, about } = await historyScene();
    await ask(BY_DATE.replace('dateFrom=2026-11-17', 'dateFrom=2026-11-19'));
    const { data } = listed(await about('revisions', BY_DATE));
    expect(data.map(({ revisions }) => revisions.length)).toEqual([0, 0, 1]);
  });

  it.each([
    ['advertiserId=1&byCampaign=1&dateFrom=2026-11-17&dateTo=2026-11-19', ['query']],
    ['advertiserId=1&byDate=1', ['query']],
    [`${BY_DATE}&_asOf=2026-11-20`, ['query._asOf']],
  ])('are refused for %s', async (query, params) => {
    const { about } = await historyScene();
    const reply = await about('revisions', query);
    expect(outcomeOf(reply)).toBe('400 invalid_query');
    expect(paramsIn(reply)).toEqual(params);
  });

  it('are no way to an advertiser that the team may not see, and take no other method', async () => {
    const { about, gateway, ask } = await historyScene();
    await ask(BY_DATE);
    const other = await gateway.addTeam({ id: 'other', advertisers: [2] });
    expect(outcomeOf(await about('revisions', BY_DATE, '', other))).toBe('403 advertiser_forbidden');
    expect(outcomeOf(await about('revisions', `byDate=1&${PERIOD}`, '', other))).toBe(
      '403 advertiser_required',
    );
    const target = `/gateway/v1/revisions?${aboutReport(BY_DATE)}`;
    const posted = await gateway.call(target, { method: 'POST', key: other });
    expect([posted.status, posted.headers.allow]).toEqual([405, 'GET, HEAD']);
  });

  it('are none where no history is kept', async () => {
    const { about } = await historyScene('', { config: { history: { enabled: false } } });
    const reply = await about('revisions', BY_DATE);
    expect(outcomeOf(reply)).toBe('404 not_known_then');
    expect(reply.json<Problem>().detail).toContain('history.enabled');
  });
});
