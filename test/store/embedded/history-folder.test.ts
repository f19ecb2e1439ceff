/** History cannot be fetched again: what is damaged is set aside, and what is whole outlives the processes. */
import { readdir, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { HistoryStore } from '../../../src/store/history-port.js';
import { inFolder, openIn } from './in-folder.js';

const DAY = '2026-03-01';
const content = {
  ...{ version: 1, header: Buffer.from('h'), body: Buffer.alloc(100_000, 'x') },
  facts: Buffer.from('columns'),
};

async function keep(history: HistoryStore): Promise<void> {
  const added = new Map([['a', content]]);
  await history.write('s', [{ day: DAY, stamp: 0, heads: Buffer.from('heads'), added, removed: [] }]);
}

it('is there after a restart, and set aside when its file is damaged', () =>
  inFolder(async (folder) => {
    const first = await openIn(folder);
    await keep(first.history);
    await first.close();
    const again = await openIn(folder);
    expect((await again.history.heads('s', [DAY]))[0]?.heads.toString()).toBe('heads');
    expect(await again.history.contents('s', [{ day: DAY, name: 'a' }])).toEqual([content]);
    expect(again.log.lines).toEqual([]);
    await again.close();
    await truncate(join(folder, 'history', 'data.mdb'), 20_000);
    const third = await openIn(folder);
    expect(third.log.lines).toMatchObject([
      { level: 'error', message: expect.stringContaining('set aside, and a new one started') },
    ]);
    expect((await readdir(folder)).filter((name) => name.startsWith('history.damaged-'))).toHaveLength(1);
    expect(await third.history.heads('s', [DAY])).toEqual([null]);
    await keep(third.history);
    expect(await third.history.contents('s', [{ day: DAY, name: 'a' }])).toEqual([content]);
    await third.close();
  }));
