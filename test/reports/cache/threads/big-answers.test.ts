import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../../store/redis/open-store.js';
import { sends, startRawPlatform } from '../../../support/raw-platform.js';
import { startRedis } from '../../../support/redis.js';
import { gatewayAt, outcomeOf, reportIn } from '../../../support/start-gateway.js';
import { largeAnswer, MIB } from './large-answer.js';

const QUERY = 'advertiserId=1&byDate=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-03&x=1';
/** Of one advertiser, as its report would be. */
const LARGE = Buffer.from(
  largeAnswer(1.25 * MIB)
    .toString()
    .replaceAll(/"advertiser_id":\d/g, '"advertiser_id":1'),
);

async function gatewayFor(body: Buffer, headers = {}) {
  const platform = await startRawPlatform(sends(body, headers));
  const gateway = await gatewayAt(platform);
  const key = await gateway.addTeam();
  return { platform, gateway, report: (more = '') => gateway.report(key, QUERY + more) };
}

describe('a report of more than 1 MiB', () => {
  it('is given in every form, from the platform and from the cache, as a small one would be', async () => {
    const { platform, gateway, report } = await gatewayFor(gzipSync(LARGE), { 'content-encoding': 'gzip' });
    expect((await report('&_format=raw')).body.equals(LARGE)).toBe(true);
    const source = (JSON.parse(LARGE.toString()) as { data: Record<string, unknown>[] }).data;
    const rows = source
      .map((row) => ({
        date: row.date,
        campaignId: row.campaign_id,
        campaignName: row.campaign_name,
        advertiserId: row.advertiser_id,
        spent: Number(row.spent),
      }))
      .sort((a, b) => (String(a.date) < String(b.date) ? -1 : a.date === b.date ? 0 : 1));
    const json = reportIn(await report());
    expect(JSON.stringify(json.data) === JSON.stringify(rows)).toBe(true);
    const some = reportIn(await report('&_fields=spent,date'));
    expect(
      JSON.stringify(some.data) === JSON.stringify(rows.map(({ spent, date }) => ({ spent, date }))),
    ).toBe(true);
    const table = (await report('&_fields=date&_format=csv')).text;
    expect(table === ['date', ...rows.map(({ date }) => date), ''].join('\r\n')).toBe(true);
    const ndjson = (await report('&_format=ndjson')).text;
    expect(ndjson === rows.map((row) => `${JSON.stringify(row)}\n`).join('')).toBe(true);
    const csv = (await report('&_format=csv')).text;
    expect(csv.startsWith('date,campaignId,campaignName,advertiserId,spent\r\n')).toBe(true);
    expect(csv.split('\r\n')).toHaveLength(rows.length + 2);
    expect(platform.requests).toHaveLength(1);
    expect(gateway.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('is kept in Redis, and given by another replica without another call', async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const platform = await startRawPlatform(sends(LARGE));
    const open = async () => {
      const { store } = await openStore(redis.url, { timeoutMs: 5000, registryTimeoutMs: 5000 });
      onTestFinished(() => store.close());
      return gatewayAt(platform, { sharedStore: store });
    };
    const [here, there] = [await open(), await open()];
    const key = await here.addTeam();
    await there.services.registry.refresh();
    // The platform's own bytes are kept for whoever asked for them.
    await here.report(key, `${QUERY}&_format=raw`);
    await here.services.settled();
    for (const more of ['', '&_format=raw', '&_format=ndjson']) {
      const [own, other] = [await here.report(key, QUERY + more), await there.report(key, QUERY + more)];
      expect([own.status, other.status]).toEqual([200, 200]);
      expect(own.body.equals(other.body)).toBe(true);
      expect(other.headers['cache-status']).toContain('detail=store');
    }
    expect(platform.requests).toHaveLength(1);
  });

  it('that holds the token is not given, and the token is nowhere', async () => {
    const { platform, gateway, report } = await gatewayFor(LARGE);
    const poisoned = `${LARGE.toString().slice(0, -1)},"debug":${JSON.stringify(platform.token)}}`;
    platform.answer(sends(poisoned));
    for (const more of ['', '&_format=raw', '&_format=csv']) {
      const reply = await report(more);
      expect(outcomeOf(reply)).toBe('502 upstream_invalid_response');
      expect(reply.text).not.toContain('of_this-test');
    }
    expect(gateway.logText).not.toContain('of_this-test');
  });
});
