import { describe, expect, it, vi } from 'vitest';
import type { FetchedAnswer } from '../../../src/reports/fetch/fetched.js';
import { noteReference, type ReferenceReport } from '../../../src/reports/fetch/reference-reports.js';
import type { Gateway } from '../../../src/reports/gateway.js';
import { dayNumber } from '../../../src/reports/query/days.js';
import { REPORT, withGateway } from '../../support/start-gateway.js';
import { get } from '../query/canonical-request.js';

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
    expect(await noted('advertiserId=2&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-01')).toEqual([
      {
        account: '2',
        endpoint: 'campaigns/get',
        split: ['campaign'],
        day: '2026-11-01',
        target: `${REPORT}?advertiserId=2&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-01`,
      },
    ]);
  });

  it('is none that may still change, is no single day, was refused, or leaves the period to the platform', async () => {
    expect(
      await noted(
        'advertiserId=1&byDate=1&dateFrom=2026-11-18&dateTo=2026-11-21',
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
