/** How many digests a write takes: of each name and of equal facts, one. */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { expect, it, onTestFinished, vi } from 'vitest';
import { HISTORY_TABLES, historyOver } from '../../../src/store/embedded/history.js';
import { stampWrite } from '../../../src/store/entry-stamp.js';
import { MemoryTable } from '../../support/memory/memory-table.js';

async function digestsDuring(work: () => Promise<unknown>): Promise<number> {
  const hash = vi.spyOn(crypto, 'hash');
  syncBuiltinESMExports();
  onTestFinished(syncBuiltinESMExports);
  onTestFinished(() => void hash.mockRestore());
  await work();
  return hash.mock.calls.length;
}

const DAYS = Array.from({ length: 9 }, (_, at) => `2026-03-0${at + 1}`);

it('one of the series and one of the facts for all days of an answer, in history and cache together', async () => {
  const history = historyOver(new MemoryTable(), HISTORY_TABLES);
  const [facts, bytes] = [Buffer.from('columns'), Buffer.from('bytes')];
  const content = { version: 7, header: bytes, body: bytes, facts };
  const writes = DAYS.map((day) => ({
    ...{ day, stamp: 0, heads: bytes, removed: [] },
    added: new Map([['a', content]]),
  }));
  const place = { series: 's', group: '2026-03' };
  const written = await digestsDuring(async () => {
    await history.write('s', writes);
    for (const day of DAYS) stampWrite({ ...content, ...place, field: day, ttlMs: 1000 }, 0);
  });
  expect(written).toBe(2);
});
