/** Which messages of the feed a team sees, and what of them. */
import pino from 'pino';
import { expect, it } from 'vitest';
import { type DayChange, encodeEntry } from '../../../src/reports/feed/entry.js';
import { createFeed } from '../../../src/reports/feed/feed.js';
import type { Revision } from '../../../src/reports/history/revision.js';
import type { Entry, RowsHeader } from '../../../src/reports/rows/entry.js';
import { createMemoryServer } from '../../support/memory/memory-store.js';
import { createTestClock, NOON } from '../../support/test-clock.js';

const SERIES = 'Ser13s_of-4dvertiser-1-with-43-characters__';

type Rows = Readonly<Record<string, readonly { readonly advertiserId: number; readonly spent: number }[]>>;

/** A day of November whose revisions had these rows, by id; `asked` is what its report names. */
async function feedOf(rows: Rows, asked: readonly string[], kinds: readonly Partial<DayChange>[]) {
  const logger = pino({ level: 'silent' });
  const { changes, bus } = createMemoryServer({ clock: createTestClock(), logger }).handle();
  const revisions = Object.keys(rows).map((id) => ({ id, rowCount: rows[id]?.length }) as Revision);
  const report = {
    kind: '',
    endpoint: 'campaigns/get',
    query: 'advertiserId=1&byDate=1',
    account: '1',
    split: ['date'],
  };
  const feed = createFeed({
    ...{ changes, bus, logger },
    documents: { get: async () => null },
    days: {
      states: async (_series, dates) => dates.map(() => ({ asked, report, revisions })),
      rows: async (_series, wanted) =>
        wanted.map(({ revision: { id } }) => {
          const own = rows[id] ?? [];
          const accounts = own.map(({ advertiserId }) => `${advertiserId}`);
          const body = Buffer.from(own.map((row) => JSON.stringify(row)).join(',\n'));
          const entry: Entry<RowsHeader> = { header: { accounts } as unknown as RowsHeader, body };
          return entry;
        }),
    },
    erasures: { isErased: () => false, version: () => 0 },
  });
  for (const kind of kinds) {
    const change = { day: 7, isFinal: false, afterFinal: false, isMethod: false, ...kind } as DayChange;
    const entry = {
      type: 'days',
      series: SERIES,
      month: '2026-11',
      at: NOON,
      txid: '1',
      changes: [change],
    } as const;
    await changes.append(encodeEntry(entry));
  }
  const filter = { endpoint: null, advertisers: null, split: null, series: null };
  return async (...own: string[]) => {
    const maySee = (accounts: readonly string[] | null) =>
      accounts?.every((account) => own.includes(account)) === true;
    const { body } = await feed.read({ team: 'x', view: 'x', filter, withRows: true, maySee }, '-1');
    const messages = JSON.parse(body) as Record<string, Record<string, unknown> | undefined>[];
    return messages.map(({ value, old_value: old, headers }) => ({
      kind: headers?.kind,
      revision: value?.revision,
      rows: value?.rows,
      old: old?.totals ?? null,
    }));
  };
}

const OWN = { advertiserId: 1, spent: 1 };
const FOREIGN = { advertiserId: 2, spent: 5 };

it('a day with rows of another advertiser is kept from a team with a list, and so are their totals in the next message', async () => {
  const seenBy = await feedOf(
    { a1: [OWN], a2: [OWN, FOREIGN], a3: [{ ...OWN, spent: 3 }] },
    ['1'],
    [
      { kind: 'first', revision: 'a1', before: null },
      { kind: 'restated', revision: 'a2', before: 'a1' },
      { kind: 'restated', revision: 'a3', before: 'a2' },
      { kind: 'void', revision: null, before: 'a2' },
    ],
  );
  const first = { kind: 'first', revision: 'a1', rows: undefined, old: null };
  const newest = { kind: 'restated', revision: 'a3', rows: undefined };
  const gone = { kind: 'void', revision: undefined, rows: undefined };
  expect(await seenBy('1')).toEqual([first, { ...newest, old: null }, { ...gone, old: null }]);
  expect(await seenBy('1', '2')).toEqual([
    first,
    { kind: 'restated', revision: 'a2', rows: undefined, old: { spent: '1' } },
    { ...newest, old: { spent: '6' } },
    { ...gone, old: { spent: '6' } },
  ]);
  expect(await seenBy('2')).toEqual([]);
});

it('a report that names no advertiser is shown by what its rows name', async () => {
  const seenBy = await feedOf(
    { a1: [OWN], a2: [FOREIGN], a3: [] },
    [],
    [
      { kind: 'first', revision: 'a1', before: null },
      { kind: 'restated', revision: 'a2', before: 'a1' },
      { kind: 'restated', revision: 'a3', before: 'a2' },
    ],
  );
  expect((await seenBy('1')).map(({ revision }) => revision)).toEqual(['a1']);
  expect((await seenBy('2')).map(({ revision, old }) => [revision, old])).toEqual([['a2', null]]);
});

it('a day whose rows cannot be read is kept from a team with a list', async () => {
  const seenBy = await feedOf({ a1: [OWN] }, ['1'], [{ kind: 'first', revision: 'a9', before: null }]);
  expect(await seenBy('1')).toEqual([]);
});
