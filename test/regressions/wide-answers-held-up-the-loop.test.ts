/** Small answers of many columns cost time by the square of them, on the thread that answers everybody. */
import { describe, expect, it } from 'vitest';
import { createWorkerPool, isHeavyToRead } from '../../src/reports/cache/threads/worker-pool.js';
import { digestAnswer } from '../../src/reports/rows/digest.js';
import { toCsv } from '../../src/reports/rows/row-formats.js';
import { ASK } from '../reports/cache/threads/large-answer.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';

/** Rows that each have a member of their own. */
const ownMembers = (count: number) =>
  Array.from({ length: count }, (_, at) => `{"date":"2026-11-01","m${at}":1}`);
const oneRow = (members: number) =>
  `{"date":"2026-11-01",${Array.from({ length: members }, (_, at) => `"m${at}":1`)}}`;

/** How much work a function does, told by how often it reads or writes: the time of a machine proves nothing. */
function lookUpsIn(run: () => void): number {
  let lookUps = 0;
  const original = Array.prototype.indexOf;
  Array.prototype.indexOf = function (this: unknown[], ...args: Parameters<typeof original>) {
    const found = original.apply(this, args);
    lookUps += found < 0 ? this.length : found + 1;
    return found;
  };
  try {
    run();
  } finally {
    Array.prototype.indexOf = original;
  }
  return lookUps;
}

describe('work on an answer of many columns', () => {
  it('grows as the answer does when it becomes CSV', () => {
    const cost = (members: number) => {
      const { whole } = digestAnswer(`[${oneRow(members)}]`, ASK);
      return lookUpsIn(() => toCsv(whole?.body.toString() ?? '', whole?.columns ?? [], { bom: false }));
    };
    expect(cost(4000)).toBeLessThanOrEqual(3 * cost(2000) + 1000);
  });

  it('is no table when next to nothing in it would be filled, in any format but CSV a report', async () => {
    const platform = await startRawPlatform(sends(`{"data":[${ownMembers(3000).join(',')}]}`));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    const query = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-03';
    const csv = await gateway.report(key, `${query}&_format=csv`);
    expect(outcomeOf(csv)).toBe('502 upstream_too_large');
    expect(csv.text).toMatch(/ask for JSON or NDJSON/);
    for (const format of ['json', 'ndjson']) {
      expect(outcomeOf(await gateway.report(key, `${query}&_format=${format}`))).toBe('200');
    }
  });

  it('is a table still when there are few rows, or few columns', () => {
    const { whole } = digestAnswer(`[${oneRow(20_000)}]`, ASK);
    const csv = toCsv(whole?.body.toString() ?? '', whole?.columns ?? [], { bom: false });
    expect(csv.split('\r\n').map((line) => line.split(',').length)).toEqual([20_001, 20_001, 1]);
    const narrow = digestAnswer(`[${ownMembers(500).join(',')}]`, ASK);
    expect(
      toCsv(narrow.whole?.body.toString() ?? '', narrow.whole?.columns ?? [], { bom: false }).split('\r\n'),
    ).toHaveLength(502);
  });

  it('is done on another thread where cells are many, though bytes are few', async () => {
    expect(isHeavyToRead([Buffer.from(`[${ownMembers(7000).join(',')}]`)])).toBe(true);
    expect(isHeavyToRead([Buffer.from(`[${ownMembers(700).join(',')}]`)])).toBe(false);
    expect(isHeavyToRead([Buffer.from(`[${'{},'.repeat(120_000)}{}]`)])).toBe(true);
    const workerPool = createWorkerPool();
    const chunks = [Buffer.from(ownMembers(600).join(',\n'))];
    const columns = ['date', ...Array.from({ length: 600 }, (_, at) => `m${at}`)];
    const csv = await workerPool.format({ format: 'csv', chunks, columns, rowCount: 600, bom: false });
    // What comes from another thread lies in memory of both.
    expect(csv.buffer).toBeInstanceOf(SharedArrayBuffer);
    await workerPool.close();
  });
});
