/** Rows that named another advertiser by `advertiser: 2` or `sub_account_id` were shown to a limited team. */
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../src/errors.js';
import { cacheOf, FINAL } from '../gateway/reports.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';

const BY_DAY = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-03';
const FORMATS = ['json', 'csv', 'ndjson', 'raw', 'json&_days=1'];

async function teamsAt(row: object, status = 200, config = {}) {
  const words = status === 200 ? {} : { message: 'no' };
  const body = JSON.stringify({ ...words, data: [{ date: '2026-11-02', impressions: 5, ...row }] });
  const platform = await startRawPlatform(sends(body, {}, status));
  const gateway = await gatewayAt(platform, { config });
  return {
    gateway,
    platform,
    all: await gateway.addTeam(),
    limited: await gateway.addTeam({ advertisers: [1] }),
  };
}

describe('a row that names another advertiser in words that the configured pattern does not know', () => {
  it.each<object>([
    { advertiser: 2 },
    { advertiser: '2' },
    { advertisers: [1, 2] },
    { advertisers: '1,2' },
    { sub_account_id: 2 },
    { adv_id: '2' },
    { account_no: 2 },
    { parentAccount: { code: 2 } },
    { extra: '{"advertiserId":2}' },
  ])('is not shown to a limited team, fresh or cached: %j', async (row) => {
    for (const query of [FINAL, BY_DAY]) {
      const { gateway, platform, all, limited } = await teamsAt(row);
      for (const format of FORMATS)
        expect(outcomeOf(await gateway.report(limited, `${query}&_format=${format}`)), format).toBe(
          '502 upstream_invalid_response',
        );
      for (const format of FORMATS) {
        const asked = `${query}&_format=${format}`;
        expect((await gateway.report(all, asked)).status).toBe(200);
        expect(cacheOf(await gateway.report(all, asked))).toMatch(/^hit/);
        const { length } = platform.requests;
        expect(outcomeOf(await gateway.report(limited, asked))).toBe('502 upstream_invalid_response');
        expect((await gateway.report(limited, asked, { method: 'HEAD' })).status).toBe(502);
        expect(platform.requests.length).toBe(length);
      }
    }
  });

  it.each<object>([
    { advertiser: 1, advertisers: ['1'], sub_account_id: 1, extra: '{"advertiserId":1}' },
    { id: 7, campaignId: 8, advertisersCount: 3, users: 120, clients: '1,200', cost_per_user: 2 },
    { advertiser: 'Acme', account_name: '22', agency: null, isClient: true, client: '12.50' },
    { advertiser: { name: 'Acme', campaigns: [{ id: 4 }] }, name: '[2] clients' },
  ])('is shown where it names none: %j', async (row) => {
    const { gateway, limited } = await teamsAt(row);
    for (const query of [FINAL, BY_DAY])
      for (const format of FORMATS)
        expect((await gateway.report(limited, `${query}&_format=${format}`)).status).toBe(200);
  });

  it('is shown where the operator says that the column names none, and the log says how', async () => {
    const closed = await teamsAt({ client: 7 });
    await closed.gateway.report(closed.limited, FINAL);
    expect(closed.gateway.logText).toContain('report.nonAccountParameters');
    const open = await teamsAt({ client: 7 }, 200, { report: { nonAccountParameters: ['client'] } });
    expect((await open.gateway.report(open.limited, FINAL)).status).toBe(200);
  });

  it('keeps a refusal’s words from a limited team', async () => {
    const { gateway, limited } = await teamsAt({ advertiser: 2 }, 422);
    const reply = await gateway.report(limited, FINAL);
    expect(reply.json<Problem>().upstream).toEqual({ status: 422, message: null });
  });
});
