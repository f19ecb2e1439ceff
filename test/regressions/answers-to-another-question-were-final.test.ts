/** Rows that are visibly not what was asked for were served without a word, and kept as final for 30 days. */
import { describe, expect, it } from 'vitest';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, type Reply, reportIn } from '../support/start-gateway.js';
import { MINUTE } from '../support/test-clock.js';

const RANGE = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-03';
const BY_DATE = `${RANGE}&byDate=1`;
const day = (date: string | null, spent = 1) => ({ date, campaign_id: 7, spent });
const GOOD = [day('2026-11-01'), day('2026-11-02', 2), day('2026-11-03', 3)];

const CASES: [code: string, body: object, query: string][] = [
  ['rows_outside_range', { data: [...GOOD, day('2026-11-09')] }, BY_DATE],
  ['rows_outside_range', { data: [day('2026-10-31'), ...GOOD] }, BY_DATE],
  ['undated_rows', { data: [...GOOD, day(null, 6)] }, BY_DATE],
  ['undated_rows', { data: [...GOOD, { campaign_id: 7, spent: 6 }] }, BY_DATE],
  ['undated_rows', { data: [{ campaign_id: 7, spent: 6 }] }, BY_DATE],
  ['undated_rows', { data: [...GOOD, day('', 6)] }, BY_DATE],
  ['undated_rows', { data: [...GOOD, day('Total', 6)] }, BY_DATE],
  ['duplicate_rows', { data: [...GOOD, GOOD[1]] }, BY_DATE],
  [
    'duplicate_rows',
    {
      data: [
        ...GOOD,
        { spent: 2, date: '2026-11-02', campaign_id: 7 },
        { campaign_id: 7, date: '2026-11-02' },
      ],
    },
    BY_DATE,
  ],
  ['duplicate_rows', { data: [day(null), day('2026-11-01'), day(null)] }, `${RANGE}&byCampaign=1`],
  ['platform_warning', { data: GOOD, warnings: ['data incomplete'] }, BY_DATE],
  ['platform_warning', { meta: { warning: 'data incomplete' }, data: [day(null)] }, `${RANGE}&byCampaign=1`],
  [
    'rows_of_other_campaigns',
    { data: [1, 2, 3].map((id) => ({ campaign_id: id, spent: id })) },
    `${RANGE}&byCampaign=1&campaignIds[]=2`,
  ],
  ['rows_of_other_campaigns', { data: GOOD }, `${BY_DATE}&campaignIds[]=77`],
  ['rows_of_other_advertisers', { data: GOOD.map((row) => ({ ...row, advertiser_id: '2' })) }, BY_DATE],
];

async function started(body: object, rule: object = {}) {
  const platform = await startRawPlatform(sends(JSON.stringify(body)));
  const gateway = await gatewayAt(platform, { config: { report: { endpoints: { 'campaigns/get': rule } } } });
  return { platform, gateway, key: await gateway.addTeam() };
}

const codesIn = (reply: Reply) => (reportIn(reply).meta.warnings ?? []).map(({ code }) => code);
const ttlOf = (reply: Reply) => Number(/ttl=(\d+)/.exec(reply.headers['cache-status'] ?? '')?.[1]);

describe('an answer that is visibly not what was asked for', () => {
  it.each(CASES)(
    '%s: is given with a warning, not final, for five minutes: %j',
    async (code, body, query) => {
      const { platform, gateway, key } = await started(body);
      const first = await gateway.report(key, query);
      expect(codesIn(first)).toEqual([code]);
      expect(reportIn(first).data).toHaveLength((body as { data: unknown[] }).data.length);
      expect(reportIn(first).meta).toMatchObject({ final: false });
      expect(reportIn(first).meta).not.toHaveProperty('revision');
      expect(reportIn(first).meta).not.toHaveProperty('knownAt');
      await gateway.services.reporting.settled();
      gateway.clock.advance(4 * MINUTE);
      const csv = await gateway.report(key, `${query}&_format=csv`);
      expect(csv.headers['report-warnings']).toBe(code);
      expect(ttlOf(csv)).toBe(60);
      expect((await gateway.report(key, `${query}&_format=csv`)).headers['report-warnings']).toBe(code);
      expect((await gateway.report(key, query)).headers['report-warnings']).toBeUndefined();
      expect(platform.requests).toHaveLength(1);
      const campaign = Number(/campaignIds\[\]=(\d+)/.exec(query)?.[1] ?? 7);
      platform.answer(
        sends(JSON.stringify({ data: GOOD.map((row) => ({ ...row, campaign_id: campaign })) })),
      );
      gateway.clock.advance(2 * MINUTE);
      const later = await gateway.report(key, query);
      expect(codesIn(later)).toEqual([]);
      expect(reportIn(later).meta.final).toBe(true);
    },
  );

  it.each(CASES)('%s: says nothing to history and learning: %j', async (_code, body, query) => {
    const { gateway, key } = await started(body);
    for (const to of ['03', '05', '07'])
      await gateway.report(key, query.replace('dateTo=2026-11-03', `dateTo=2026-11-${to}`));
    await gateway.services.reporting.settled();
    const about = new URLSearchParams({ endpoint: 'campaigns/get', query: BY_DATE });
    const reply = await gateway.call(`/gateway/v1/revisions?${about}`, { key });
    const { data } = reply.json<{ data: { revisions: unknown[] }[] }>();
    expect(data.map(({ revisions }) => revisions.length)).toEqual([0, 0, 0]);
    expect((await gateway.manage('GET', '/divisibility')).kinds).toEqual([]);
  });

  it('says which days it is about where others come from another answer', async () => {
    const { platform, gateway, key } = await started({ data: GOOD.slice(0, 2) }, { divisible: 'always' });
    await gateway.report(key, BY_DATE.replace('dateTo=2026-11-03', 'dateTo=2026-11-02'));
    platform.answer(sends(JSON.stringify({ data: [GOOD[2], GOOD[2]] })));
    const { meta } = reportIn(await gateway.report(key, `${BY_DATE}&_days=1`));
    expect(meta.warnings).toMatchObject([{ code: 'duplicate_rows', days: ['2026-11-03'] }]);
    expect(meta.days?.map(({ final }) => final)).toEqual([true, true, false]);
    expect(meta.firstProvisionalDate).toBe('2026-11-03');
  });

  it('shows the words of the platform bounded and escaped', async () => {
    const { gateway, key } = await started({
      data: GOOD,
      warnings: [`\u0007\u202e"${'x'.repeat(500)}`, { text: 'second' }, 7, 'third', 'fourth'],
    });
    const [warning] = reportIn(await gateway.report(key, BY_DATE)).meta.warnings ?? [];
    expect(warning?.message).toContain('gave a warning with its answer: "\\\\u{7}\\\\u{202e}\\"xxx');
    expect(warning?.message).toContain('…"; "second"');
    expect(warning?.message).not.toContain('fourth');
    expect(warning?.message.length).toBeLessThan(600);
  });

  it.each([
    { data: GOOD, warnings: [] },
    { data: GOOD, warnings: 'none', meta: { warnings: 0 } },
    { data: [{ ...day('2026-11-01 07:00:00') }] },
    { data: [{ stat_date: '2026-11-01', spent: 1 }] },
    { data: [{ stat_date: '01.11.2026', spent: 1 }] },
    { data: [day('2026/11/01'), day('2026/11/02', 2)] },
    { data: [day('01.11.2026'), day('02.11.2026', 2)] },
    { data: [day('2026-11-01'), day('02.11.2026', 2)] },
    { data: [{ date: 1793491200, spent: 1 }] },
    { data: [{ date: { date: '2026-11-01 00:00:00.000000' }, spent: 1 }] },
    { data: GOOD.map((row) => ({ ...row, advertiser_id: 1 })) },
  ])('does not take %j for one', async (body) => {
    const { gateway, key } = await started(body);
    expect(codesIn(await gateway.report(key, BY_DATE))).toEqual([]);
  });
});

describe('a page of several', () => {
  it.each([
    { data: GOOD, meta: { current_page: 1, last_page: 4, total: 14 } },
    { data: GOOD, links: { next: 'https://platform.example/page/2' } },
  ])('is incomplete, never kept, and the operator is told: %j', async (body) => {
    for (const query of [BY_DATE, `${RANGE}&byCampaign=1`]) {
      const { platform, gateway, key } = await started(body);
      for (let calls = 1; calls <= 2; calls++) {
        const reply = await gateway.report(key, query);
        expect(codesIn(reply)).toEqual(['pages_left']);
        expect(reportIn(reply).meta).toMatchObject({ complete: false, final: false });
        expect(reply.headers['cache-control']).toBe('private, no-store');
        await gateway.services.reporting.settled();
        expect(platform.requests).toHaveLength(calls);
      }
      const status = await gateway.manage('GET', '/status');
      expect(status).toMatchObject({ platform: { state: 'answers in pages' } });
      expect(JSON.stringify(status.verdict)).toContain('pages_left');
      expect(gateway.log.filter(({ msg }) => msg.includes('one page of several'))).toHaveLength(1);
    }
  });
});
