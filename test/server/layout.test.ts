/** A start beside processes of an earlier release. */
import { expect, it } from 'vitest';
import { awaitOthers, LAYOUT } from '../../src/server/layout.js';
import { StoreUnavailable } from '../../src/store/port.js';
import { createRecordedLog } from '../support/recorded-log.js';

const process = (id: string, info: object | string) => ({
  id,
  info: typeof info === 'string' ? info : JSON.stringify(info),
});

/** @param lists what the store lists, look by look. @returns what was done, in order */
async function started(lists: readonly (readonly ReturnType<typeof process>[] | 'away')[]) {
  const done: string[] = [];
  let look = 0;
  const log = createRecordedLog();
  const list = async () => {
    const found = lists[look++] ?? [];
    if (found === 'away') throw new StoreUnavailable('away');
    done.push(`${found.length}`);
    return [...found];
  };
  const hold = async () => {
    done.push('held');
    return async () => void done.push('released');
  };
  await awaitOthers({ list }, log.logger, hold, 1);
  return { done, lines: log.lines };
}

const OLD = process('old', { version: '0.1.0' });
const NEW = process('new', { version: '0.1.0', layout: LAYOUT });

it('a start waits, not ready, until processes of an earlier release have ended, and says what to do', async () => {
  const { done, lines } = await started([[OLD, NEW], 'away', [OLD], [NEW]]);
  expect(done).toEqual(['2', 'held', '1', '1', 'released']);
  expect(lines.map(({ msg }) => msg)).toEqual([expect.stringContaining('scale the gateway to 0')]);
});

it('a start waits for no process of its own or a later release', async () => {
  const later = process('later', { layout: LAYOUT + 1 });
  expect((await started([[NEW, later]])).done).toEqual(['2']);
});

it('a start waits, not ready, for a store that is away at the first look, and then for processes of an earlier release', async () => {
  expect((await started(['away', [NEW]])).done).toEqual(['held', '1', 'released']);
  const { done, lines } = await started(['away', 'away', [OLD], [NEW]]);
  expect(done).toEqual(['held', '1', '1', 'released']);
  expect(lines.map(({ msg }) => msg)).toEqual([expect.stringContaining('scale the gateway to 0')]);
});

it('a start waits for a process whose report it cannot read', async () => {
  expect((await started([[process('1', '123')], []])).done).toEqual(['1', 'held', '0', 'released']);
});
