/** What is kept of an answer, and how; and what becomes of it when it is damaged. */
import { constants, inflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { CacheWrite, Store } from '../../src/store/port.js';
import { ALWAYS, byDay, rowsPerDay } from '../reports/fetch/by-day.js';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn } from '../support/start-gateway.js';
import { cacheOf } from './reports.js';

const BY_DAY = byDay('2026-11-01', '2026-11-03');
const WHOLE = BY_DAY.replace('&byDate=1', '');
const ROWS = 40;

async function open(config: object = {}) {
  const writes: CacheWrite[] = [];
  const platform = await startRawPlatform(rowsPerDay(() => ROWS));
  const gateway = await gatewayAt(platform, {
    config: { ...config },
    wrapStore: (store: Store) => ({
      ...store,
      cache: {
        ...store.cache,
        async write(entries) {
          writes.push(...entries);
          await store.cache.write(entries);
        },
      },
    }),
  });
  return { gateway, platform, writes, key: await gateway.addTeam() };
}

describe('of an answer', () => {
  const days = ['01', '02', '03'];
  it.each<[string, string, object, readonly string[]]>([
    ['of a kind that is split, its days', BY_DAY, ALWAYS, days],
    ['of a kind that is learned, its days and its rows', BY_DAY, {}, [...days, 'rows']],
    [
      'whose bytes are asked for, of a kind that is split, those and its days',
      `${BY_DAY}&_format=raw`,
      ALWAYS,
      [...days, 'bytes'],
    ],
    [
      'whose bytes are asked for, of a kind that is learned, those, its days and its rows',
      `${BY_DAY}&_format=raw`,
      {},
      [...days, 'bytes', 'rows'],
    ],
    ['that is not split, its rows and its bytes', WHOLE, {}, ['bytes', 'rows']],
  ])('%s are kept', async (_what, query, config, kept) => {
    const { gateway, writes, key } = await open(config);
    expect((await gateway.report(key, query)).status).toBe(200);
    await expect.poll(() => writes.map(({ field }) => field).sort()).toEqual(kept);
  });

  it('rows are kept as a stream that can be gone on with, a fraction of their size', async () => {
    const { gateway, writes, key } = await open(ALWAYS);
    const { data } = reportIn(await gateway.report(key, BY_DAY));
    await expect.poll(() => writes.length).toBe(3);
    const rows = writes.map(({ body }) => {
      const text = String(inflateRawSync(body, { finishFlush: constants.Z_SYNC_FLUSH }));
      expect(body.length).toBeLessThan(text.length / 4);
      return JSON.parse(`[${text}]`) as unknown[];
    });
    expect(rows.flat()).toEqual(data);
  });
});

describe('a day that was damaged in the store', () => {
  it('is fetched again, counted, and never given; those beside it are used', async () => {
    const { gateway, platform, writes, key } = await open(ALWAYS);
    const first = await gateway.report(key, BY_DAY);
    await expect.poll(() => writes.length).toBe(3);
    const damaged = writes[1] as CacheWrite;
    const body = Buffer.from(damaged.body);
    body[30] = (body[30] as number) ^ 1;
    await gateway.store.cache.remove([damaged]);
    await gateway.store.cache.write([{ ...damaged, body }]);
    const second = await gateway.report(key, `${BY_DAY}&_format=ndjson`);
    expect(cacheOf(second)).toBe('fwd=miss; stored; detail="days=1/3"');
    const rows = second.text.trim().split('\n');
    expect(rows.map((row) => JSON.parse(row) as unknown)).toEqual(reportIn(first).data);
    expect(platform.requests).toHaveLength(2);
    expect(gateway.log.filter(({ msg }) => msg === 'a damaged cache entry was ignored')).not.toEqual([]);
  });
});
