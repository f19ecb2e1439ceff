/** History cannot be fetched again: what is damaged is set aside, and what is whole outlives the processes. */
import { readdir, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Store } from '../../../src/store/port.js';
import { monthWrite, PLACE } from '../conformance-days.js';
import { inFolder, openIn } from './in-folder.js';

const ROWS = Buffer.alloc(100_000, 'x');

async function keep({ days }: Store): Promise<void> {
  await days.write([monthWrite(0, 'index', { parts: new Map([['a', ROWS]]) })]);
}

async function expectKept({ days }: Store): Promise<void> {
  expect((await days.whole(PLACE))?.index?.toString()).toBe('index');
  expect(await days.parts(PLACE, ['a'])).toEqual(new Map([['a', ROWS]]));
}

it('is there after a restart, and set aside when its file is damaged', () =>
  inFolder(async (folder) => {
    const first = await openIn(folder);
    await keep(first);
    await first.close();
    const again = await openIn(folder);
    await expectKept(again);
    expect(again.log.lines).toEqual([]);
    await again.close();
    await truncate(join(folder, 'history', 'data.mdb'), 20_000);
    const third = await openIn(folder);
    expect(third.log.lines).toMatchObject([
      { level: 'error', message: expect.stringContaining('set aside, and a new one started') },
    ]);
    expect((await readdir(folder)).filter((name) => name.startsWith('history.damaged-'))).toHaveLength(1);
    expect(await third.days.whole(PLACE)).toBeNull();
    await keep(third);
    await expectKept(third);
    await third.close();
  }));
