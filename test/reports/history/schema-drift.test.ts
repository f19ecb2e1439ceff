/** Columns that change between two revisions: told once a change, whatever the days and fetches. */
import { expect, it } from 'vitest';
import type { Entry, RowsHeader } from '../../../src/reports/rows/entry.js';
import { HOUR, NOON } from '../../support/test-clock.js';
import { rowsEntry } from '../rows/entries.js';
import { dayOf, openHistory, recorderOn } from './on-disk.js';

const DATES = ['2026-11-01', '2026-11-02', '2026-11-03'];

function fetchOf(atMs: number, row: object, dates = DATES) {
  const days = dates.map((date): Entry<RowsHeader> => {
    const like = dayOf(date, 0, atMs).header;
    const entry = rowsEntry([{ date, ...row }]);
    const { columns, types = [], hash } = entry.header;
    const splitFrom = { from: date, to: date, sortedHash: hash, generation: 'g' };
    return { body: entry.body, header: { ...like, columns, types, hash, splitFrom } };
  });
  return { series: 's', days };
}

it('a new column is told once, as news; one that is gone, or holds texts, as a warning', async () => {
  const { history } = await openHistory();
  const { record, schema, log } = recorderOn(history);
  const told = () => log.lines.filter(({ msg }) => String(msg).includes('columns'));
  await record(fetchOf(NOON, { spent: 1, clicks: 1 }));
  await record(fetchOf(NOON + HOUR, { spent: 2, clicks: 1 }));
  expect([schema, told()]).toEqual([{}, []]);

  await record(fetchOf(NOON + 2 * HOUR, { spent: 3, clicks: 1, views: 4 }, DATES.slice(0, 2)));
  await record(fetchOf(NOON + 3 * HOUR, { spent: 4, clicks: 1, views: 5 }));
  expect(schema).toEqual({ added: 1 });
  expect(told().map(({ level, added }) => [level, added])).toEqual([['info', ['views']]]);

  await record(fetchOf(NOON + 4 * HOUR, { spent: 'n/a', views: 5 }));
  expect(schema).toEqual({ added: 1, removed: 1, retyped: 1 });
  expect(told().at(-1)).toMatchObject({ level: 'warn', removed: ['clicks'], retyped: ['spent'] });
  expect(told()).toHaveLength(2);
});

it('what cannot be read any more is no fault', async () => {
  const { history } = await openHistory();
  const contents = async () => {
    throw new Error('away');
  };
  const { record, events, schema } = recorderOn({ ...history, contents });
  await record(fetchOf(NOON, { spent: 1 }));
  await record(fetchOf(NOON + HOUR, { spent: 1, views: 1 }));
  expect([events, schema]).toEqual([{ appended: 6 }, {}]);
});
