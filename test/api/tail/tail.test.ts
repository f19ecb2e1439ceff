/** A tail: nothing while nobody looks, bounded while somebody does, and never slower for its reader. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { createTailStream } from '../../../src/api/tail/stream.js';
import { createTail, type TailLine, type Watcher } from '../../../src/api/tail/tail.js';
import { createLocalBus } from '../../../src/store/listeners.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { createStandingClock, createTestClock, SECOND } from '../../support/test-clock.js';

const LINE: Omit<TailLine, 'at'> = {
  team: 'growth',
  key: 'k1',
  method: 'GET',
  path: '/api/v1/report/campaigns/get',
  status: 200,
  outcome: 'hit',
  platformCalls: 0,
  ms: 1.5,
  rows: 7,
  bytes: 99,
  requestId: 'r1',
};

function open() {
  const clock = createTestClock();
  const { logger } = createRecordedLog();
  const bus = createLocalBus(logger);
  const another = () => {
    const tail = createTail({ bus, clock, logger });
    onTestFinished(() => tail.close());
    return tail;
  };
  return { clock, another };
}

function watched(tail: ReturnType<ReturnType<typeof open>['another']>) {
  const seen = { lines: [] as TailLine[], dropped: 0 };
  const stop = tail.watch({
    onLine: (line) => void seen.lines.push(line),
    onDropped(count) {
      seen.dropped += count;
    },
  });
  return { seen, stop };
}

it('is off until somebody looks, and again some seconds after the last one has left', async () => {
  const { another, clock } = open();
  const [asked, looking] = [another(), another()];
  expect([asked.isOn, looking.isOn]).toEqual([false, false]);
  const { seen, stop } = watched(looking);
  await expect.poll(() => asked.isOn).toBe(true);
  asked.note(LINE);
  await expect.poll(() => seen.lines).toEqual([{ at: '2026-11-21T12:00:00.000Z', ...LINE }]);
  stop();
  clock.pass(6 * SECOND);
  // Each ends at a tick of its own.
  await expect.poll(() => [asked.isOn, looking.isOn]).toEqual([false, false]);
});

it('tells how many requests came beyond what it tells', async () => {
  const { another } = open();
  const tail = another();
  const { seen } = watched(tail);
  await expect.poll(() => tail.isOn).toBe(true);
  for (let count = 0; count < 700; count += 1) tail.note(LINE);
  await expect.poll(() => [seen.lines.length, seen.dropped]).toEqual([500, 200]);
});

it('drops lines of which a reader takes none, and says so where they were', async () => {
  let watcher: Watcher = { onLine: () => {}, onDropped: () => {} };
  const stop = vi.fn();
  const stream = createTailStream({
    tail: {
      watch(one) {
        watcher = one;
        return stop;
      },
    },
    team: 'growth',
    outcome: 'hit',
    durationMs: null,
    mayContinue: () => true,
    monotonicMs: createStandingClock().monotonicMs,
  });
  const told = (changes: Partial<TailLine>) => watcher.onLine({ at: 'now', ...LINE, ...changes });
  told({ team: 'media' });
  told({ outcome: 'miss' });
  for (let count = 0; count < 5000; count += 1) told({});
  const lines: string[] = [];
  stream.setEncoding('utf8').on('data', (text: string) => void lines.push(...text.split('\n')));
  await expect.poll(() => lines.some((line) => line.includes('"dropped"'))).toBe(true);
  const shown = lines.filter((line) => line.includes('"hit"')).length;
  expect(shown).toBeLessThan(5000);
  expect(lines.filter((line) => line.startsWith('{"d'))).toEqual([`{"dropped":${5000 - shown}}`]);
  expect(lines.some((line) => /media|miss/.test(line))).toBe(false);
  stream.destroy();
  await expect.poll(() => stop.mock.calls.length).toBe(1);
});

it('ends when whoever asked may no longer look', async () => {
  const { another } = open();
  const tail = another();
  const { monotonicMs } = createTestClock();
  let isAllowed = true;
  const stream = createTailStream({
    tail,
    team: null,
    outcome: null,
    durationMs: null,
    monotonicMs,
    mayContinue: async () => {
      if (!isAllowed) throw new Error('the token was taken back');
      return true;
    },
  });
  stream.resume();
  await expect.poll(() => tail.isOn).toBe(true);
  expect(stream.readableEnded).toBe(false);
  isAllowed = false;
  await expect.poll(() => stream.readableEnded).toBe(true);
});
