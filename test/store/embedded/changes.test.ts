/** Damaged records of the feed of changes. A copy of the feed: backup.test.ts. */
import { expect, it } from 'vitest';
import { FEED_START } from '../../../src/store/changes-port.js';
import { changesOver } from '../../../src/store/embedded/changes.js';
import { MemoryTable } from '../../support/memory/memory-table.js';
import { createStandingClock } from '../../support/test-clock.js';
import { expectTexts, one } from '../conformance-changes.js';
import { damagedTable } from './damaged-table.js';

async function openFilled() {
  const table = new MemoryTable();
  const stampOf = (key: string) => table.read((view) => view.stampOf(Buffer.from(key, 'latin1')));
  const damaged = new Map<string, number>();
  const seen = damagedTable((key) => damaged.has(key) && damaged.get(key) === stampOf(key), table);
  const changes = changesOver(seen, async () => {}, createStandingClock().now);
  const keys = (letter: string) => {
    const [from, to] = [Buffer.from(letter), Buffer.of(letter.charCodeAt(0) + 1)];
    return table.read((view) => view.range({ from, to })).map(({ key }) => key.toString('latin1'));
  };
  for (const text of ['a', 'b', 'c']) await changes.append(one(text));
  return {
    changes,
    keys,
    /** Until they are written again. */
    damage(...names: readonly string[]) {
      for (const name of names) damaged.set(name, stampOf(name));
    },
  };
}

it.each(['T', 't'])(
  'another feed begins where the record %s is damaged, and the former goes',
  async (letter) => {
    const works = {
      read: (feed) => feed.read(FEED_START, 9),
      newest: (feed) => feed.newest(),
      trim: (feed) => feed.trim(-998),
      append: (feed) => feed.append(one('d')),
    } satisfies Record<string, (feed: ReturnType<typeof changesOver>) => Promise<unknown>>;
    for (const [name, work] of Object.entries(works)) {
      const { changes, keys, damage } = await openFilled();
      const { incarnation } = await changes.newest();
      damage(...keys(letter).slice(-1));
      await work(changes);
      const isAppended = name === 'append';
      // An entry that is damaged is found by those who read it.
      const { entries } = await changes.read(FEED_START, 9);
      expect([name, entries.map(({ text }) => text)]).toEqual([
        name,
        isAppended && letter === 'T' ? ['d'] : [],
      ]);
      expect((await changes.newest()).incarnation).not.toBe(incarnation);
      await changes.append(one('next'));
      await changes.trim(1000);
      expect(keys('t')).toHaveLength(entries.length + 1);
    }
  },
);

it('a feed whose record has another form begins anew', async () => {
  const table = new MemoryTable();
  const changes = changesOver(table, async () => {}, createStandingClock().now);
  await changes.append(one('a'));
  await table.change((draft) => draft.set(Buffer.from('T'), Buffer.from('{}')));
  await changes.append(one('b'));
  await expectTexts(changes, ['b']);
});
