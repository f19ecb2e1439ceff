/** Damaged records of days: each concerns its month, or its part, alone. */
import { expect, it } from 'vitest';
import { daysOver } from '../../../src/store/embedded/days.js';
import { createMemoryLeases } from '../../../src/store/embedded/embedded-store.js';
import { MemoryTable } from '../../support/memory/memory-table.js';
import { createStandingClock } from '../../support/test-clock.js';
import { monthWrite } from '../conformance-days.js';
import { damagedTable } from './damaged-table.js';

const PLACE = { series: 's', month: '2026-03' };

it.each([
  { what: 'an index', ending: '2026-03i', left: { index: undefined, earlier: 'earlier', parts: ['a', 'b'] } },
  {
    what: 'earlier revisions',
    ending: 'e01',
    left: { index: 'index', earlier: undefined, parts: ['a', 'b'] },
  },
  {
    what: 'a piece of a part',
    ending: 'pa:000001',
    left: { index: 'index', earlier: 'earlier', parts: ['b'] },
  },
])('$what that is damaged is absent, and the rest is there', async ({ ending, left }) => {
  let damaged = '';
  const clock = createStandingClock();
  const table = damagedTable((key) => damaged !== '' && key.endsWith(damaged));
  const days = daysOver(table, createMemoryLeases(clock), async () => {}, clock.now);
  const parts = new Map(['a', 'b'].map((name) => [name, Buffer.alloc(150_000, name)]));
  const named = new Map([[1, { name: 'a', bytes: 150_000 }]]);
  const earlier = new Map([[1, Buffer.from('earlier')]]);
  await days.write([monthWrite(0, 'index', { parts, named, earlier })]);
  damaged = ending;
  const whole = await days.whole(PLACE);
  const found = await days.parts(PLACE, [...(whole?.parts.keys() ?? [])]);
  expect({
    index: whole?.index?.toString(),
    earlier: whole?.earlier.get(1)?.toString(),
    parts: [...found.keys()],
  }).toEqual(left);
  expect([...(whole?.parts.keys() ?? [])]).toEqual(['a', 'b']);
  const [month] = await days.read('s', [{ month: '2026-03', days: [1] }]);
  expect(month?.index?.toString()).toBe(left.index);
  expect([...(month?.parts.keys() ?? [])]).toEqual(
    ending.endsWith('i') || ending.startsWith('pa') ? [] : ['a'],
  );
  // A write with the stamp that was read replaces it.
  expect(await days.write([monthWrite(month?.stamp ?? 0, 'again')])).toEqual([null]);
  damaged = '';
  expect((await days.whole(PLACE))?.index?.toString()).toBe('again');
});

it('a month whose mark is missing or damaged is found and marked again; what nobody can name is removed', async () => {
  let damaged = '';
  const clock = createStandingClock();
  const table = new MemoryTable();
  const seen = damagedTable((key) => damaged !== '' && key.startsWith(damaged), table);
  const days = daysOver(seen, createMemoryLeases(clock), async () => {}, clock.now);
  const parts = new Map([['a', Buffer.from('rows')]]);
  for (const series of ['s', 't']) await days.write([{ ...monthWrite(0, 'index', { parts }), series }]);
  expect(await days.relist(() => false)).toBe(0);
  table.drop('u');
  expect(await days.months(null, 9)).toEqual([]);
  expect(await days.relist(() => false)).toBe(2);
  damaged = 'u';
  expect(await days.months(null, 9)).toEqual([]);
  expect(await days.relist(() => false)).toBe(2);
  damaged = '';
  expect((await days.months(null, 9)).map(({ series }) => series).sort()).toEqual(['s', 't']);
  table.drop('u');
  damaged = 'd';
  expect(await days.relist(() => false)).toBe(0);
  damaged = '';
  expect(await days.whole(PLACE)).toBeNull();
});
