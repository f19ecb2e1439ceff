/** `GET /gateway/v1/diff`: what became of a report between two moments. */
import { describe, expect, it } from 'vitest';
import { outcomeOf, type Reply, reportIn } from '../support/start-gateway.js';
import { BY_DATE, HOUR, historyScene } from './history-scene.js';

interface Diff {
  readonly data: readonly (Readonly<Record<string, unknown>> & {
    readonly kind: string;
    readonly changed: Readonly<
      Record<string, { old: number; new: number; diff?: number; percent?: number | null }>
    >;
  })[];
  readonly meta: Readonly<Record<string, unknown>>;
}

const diffIn = (reply: Reply) => {
  expect(reply.status, reply.text).toBe(200);
  return reply.json<Diff>();
};
const BY_CAMPAIGN = `${BY_DATE}&byCampaign=1`;

describe('the diff of a report', () => {
  it('has each row that changed between two moments, and names both by their revisions', async () => {
    const { ask, restated, about, gateway } = await historyScene('&byCampaign=1');
    const before = await ask(BY_CAMPAIGN);
    const after = await restated(BY_CAMPAIGN);
    const calls = gateway.simulator.callCount;
    const from = String(reportIn(before).meta.knownAt);
    const { data, meta } = diffIn(await about('diff', BY_CAMPAIGN, `&from=${from}&to=latest`));
    expect(gateway.simulator.callCount).toBe(calls);
    expect(meta).toMatchObject({
      from,
      to: 'latest',
      revisionFrom: before.headers['report-revision'],
      revisionTo: after.headers['report-revision'],
    });
    expect(data.length).toBeGreaterThan(0);
    for (const row of data) {
      expect(row).toMatchObject({ date: '2026-11-18', kind: 'changed' });
      const rowIn = (reply: Reply) =>
        reportIn(reply).data.find((one) => one.date === row.date && one.campaignId === row.campaignId);
      for (const [column, cell] of Object.entries(row.changed)) {
        expect([cell.old, cell.new]).toEqual([rowIn(before)?.[column], rowIn(after)?.[column]]);
        expect(String(cell.diff)).toMatch(/^-?\d+(\.\d{1,4})?$/);
        expect(cell.old + Number(cell.diff)).toBeCloseTo(cell.new, 9);
      }
    }
    const first = diffIn(await about('diff', BY_CAMPAIGN, '&from=first&to=latest'));
    expect(first.data).toEqual(data);
    const nothing = diffIn(await about('diff', BY_CAMPAIGN, `&from=${from}&to=${from}`));
    expect(nothing.data).toEqual([]);
  });

  it('has a line for each cell as CSV', async () => {
    const { ask, restated, about } = await historyScene();
    await ask(BY_DATE);
    await restated(BY_DATE);
    const { data } = diffIn(await about('diff', BY_DATE, '&from=first&to=latest'));
    const csv = await about('diff', BY_DATE, '&from=first&to=latest&_format=csv');
    expect(csv.headers['content-type']).toContain('text/csv');
    const [head, ...lines] = csv.text.trim().split('\r\n');
    expect(head).toBe('date,advertiserId,kind,column,old,new,diff,percent');
    expect(lines).toEqual(
      data.flatMap(({ date, kind, changed }) =>
        Object.entries(changed).map(([column, cell]) =>
          [date, 1, kind, column, cell.old, cell.new, cell.diff, cell.percent].join(),
        ),
      ),
    );
  });

  it('is refused for what has no history, is not known, or is another team’s', async () => {
    const { about, ask, gateway } = await historyScene();
    const whole = 'advertiserId=1&dateFrom=2026-11-17&dateTo=2026-11-19';
    expect(outcomeOf(await about('diff', whole, '&from=first&to=latest'))).toBe('400 invalid_query');
    expect(outcomeOf(await about('diff', BY_DATE, '&from=first&to=latest'))).toBe('404 not_known_then');
    await ask(BY_DATE);
    gateway.clock.advance(HOUR);
    expect(outcomeOf(await about('diff', BY_DATE, '&from=first&to=latest'))).toBe('200');
    const other = await gateway.addTeam({ id: 'other', advertisers: [2] });
    expect(outcomeOf(await about('diff', BY_DATE, '&from=first&to=latest', other))).toBe(
      '403 advertiser_forbidden',
    );
    const image = { key: other, headers: { accept: 'image/png' } };
    const target = `/gateway/v1/diff?endpoint=campaigns/get&query=${encodeURIComponent(BY_DATE.replace('=1', '=2'))}&from=first&to=latest`;
    expect(outcomeOf(await gateway.call(target, image))).toBe('406 not_acceptable');
  });
});
