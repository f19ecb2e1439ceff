/** What is over goes, and what is too much: the oldest months first. */
import { expect, it } from 'vitest';
import { type SweepOptions, sweepHistory } from '../../../src/reports/history/erase.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { NOON } from '../../support/test-clock.js';
import { dayOf, openHistory, recorderOn } from './on-disk.js';

async function scene(rules: Pick<SweepOptions, 'retentionDays' | 'maxBytes'>) {
  const { history } = await openHistory();
  const { record } = recorderOn(history);
  for (const date of ['2025-08-31', '2025-10-17', '2026-03-01', '2026-11-20'])
    for (const series of ['a', 'b']) await record({ series, days: [dayOf(date, 1, NOON)] });
  const log = createRecordedLog();
  const options = { store: history, now: () => NOON, logger: log.logger, ...rules };
  const sweep = (isStopped = () => false) => sweepHistory(options, isStopped);
  const months = async () => (await history.months(null, 100)).map(({ month }) => month);
  return { sweep, months, log };
}

it('months that ended before the time that is kept are removed', async () => {
  // The 21st of November 2026, and 400 days before: the 17th of October 2025.
  const { sweep, months, log } = await scene({ retentionDays: 400, maxBytes: 1e9 });
  expect(await sweep()).toMatchObject({ months: 6, removed: 2 });
  expect(await months()).toEqual(['2025-10', '2025-10', '2026-03', '2026-03', '2026-11', '2026-11']);
  expect(log.lines).toEqual([]);
});

it('where there is too much the oldest months go, with a warning', async () => {
  const whole = await scene({ retentionDays: 4000, maxBytes: 1e9 });
  const { bytes } = await whole.sweep();
  expect(bytes).toBeGreaterThan(8 * 50);
  const { sweep, months, log } = await scene({ retentionDays: 4000, maxBytes: Math.ceil((bytes * 3) / 8) });
  expect(await sweep()).toMatchObject({ months: 3, removed: 5 });
  expect(await months()).toEqual(['2026-03', '2026-11', '2026-11']);
  expect(log.lines).toHaveLength(5);
  expect(log.lines[0]).toMatchObject({ level: 'warn', month: '2025-08' });
});

it('a sweep ends when it is told to', async () => {
  const { sweep, months } = await scene({ retentionDays: 400, maxBytes: 1e9 });
  expect(await sweep(() => true)).toMatchObject({ removed: 0 });
  expect(await months()).toHaveLength(8);
});
