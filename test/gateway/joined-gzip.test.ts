/** Answers from the store for callers that take gzip: what is deflated there is joined, and neither inflated nor deflated. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ALWAYS, byDay, rowsPerDay } from '../reports/fetch/by-day.js';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn } from '../support/start-gateway.js';
import { MINUTE } from '../support/test-clock.js';
import { cacheOf } from './reports.js';

const GZIP = { headers: { 'accept-encoding': 'gzip' } };

/** A gateway whose store has the days of a report, and a replica of it whose memory has nothing. */
async function openReplicas(rowsOn: (date: string) => number) {
  const platform = await startRawPlatform(rowsPerDay(rowsOn));
  const config = { config: ALWAYS };
  const writer = await gatewayAt(platform, config);
  const key = await writer.addTeam();
  const query = byDay('2026-11-01', '2026-11-09');
  const plain = await writer.report(key, query);
  await writer.services.reporting.settled();
  const reader = await gatewayAt(platform, { ...config, sharedStore: writer.store, clock: writer.clock });
  await reader.services.registry.refresh();
  return { platform, reader, plain, ask: () => reader.report(key, query, GZIP), key, query };
}

describe('a report of which all days are in the store', () => {
  it.each<[string, (date: string) => number]>([
    ['with rows on each of them', () => 20],
    ['without rows on some of them', (date) => Number(date.slice(-1)) % 3],
    ['with one row, too small to be deflated', (date) => (date.endsWith('4') ? 1 : 0)],
    ['without any row', () => 0],
  ])('%s is the same, joined', async (_what, rowsOn) => {
    const { platform, ask, plain } = await openReplicas(rowsOn);
    const joined = await ask();
    const encoding = joined.headers['content-encoding'];
    expect(cacheOf(joined)).toMatch(/^hit; ttl=\d+; detail=store/);
    const text = encoding === undefined ? joined.body : gunzipSync(joined.body);
    expect(String(text)).toBe(plain.text);
    expect(reportIn(plain).meta.rowCount).toBe(reportIn(plain).data.length);
    expect(platform.requests).toHaveLength(1);
  });

  it('is made smaller behind the answer when it is asked for again, and has the same tag', async () => {
    const { reader, ask, plain } = await openReplicas(() => 20);
    const joined = await ask();
    const again = await ask();
    await reader.services.reporting.settled();
    const smaller = await ask();
    expect([again, smaller].map(cacheOf)).toEqual([
      expect.stringContaining('detail=l1'),
      expect.stringContaining('detail=l1'),
    ]);
    expect(again.body.equals(joined.body)).toBe(true);
    expect(smaller.body.length).toBeLessThan(joined.body.length);
    expect(smaller.body.length).toBeLessThanOrEqual(gzipSync(plain.body).length);
    expect(String(gunzipSync(smaller.body))).toBe(plain.text);
    expect(new Set([joined, again, smaller].map(({ headers }) => headers.etag)).size).toBe(1);
  });

  it('is told by its tag, and its length, to whoever asks for no body', async () => {
    const { reader, ask, key, query } = await openReplicas(() => 20);
    const head = await reader.report(key, query, { ...GZIP, method: 'HEAD' });
    const joined = await ask();
    expect(head.headers['content-length']).toBe(String(joined.body.length));
    const headers = { ...GZIP.headers, 'if-none-match': joined.headers.etag as string };
    reader.clock.advance(MINUTE);
    expect((await reader.report(key, query, { headers })).status).toBe(304);
  });
});
