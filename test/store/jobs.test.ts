import { expect, it, onTestFinished, vi } from 'vitest';
import { hourlyOrUrgent, startJobs } from '../../src/store/jobs.js';
import { createMemoryServer } from '../support/memory/memory-store.js';
import { createRecordedLog } from '../support/recorded-log.js';
import { createTestClock } from '../support/test-clock.js';
import { waitFor } from '../support/wait-for.js';

/** A job that tells how often it was begun, and ends when it is told to. */
function createJob() {
  let [begun, running, most] = [0, 0, 0];
  let finish: (error?: Error) => void = () => {};
  let noteBegun = () => {};
  return {
    run: () => {
      begun += 1;
      running += 1;
      most = Math.max(most, running);
      noteBegun();
      return new Promise<void>((resolve, reject) => {
        finish = (error) => {
          running -= 1;
          if (error === undefined) resolve();
          else reject(error);
        };
      });
    },
    finish: (error?: Error) => finish(error),
    /** Waits until it is begun for the nth time. */
    async begun(nth: number): Promise<void> {
      while (begun < nth) {
        await new Promise<void>((resolve) => {
          noteBegun = resolve;
        });
      }
    },
    count: () => begun,
    most: () => most,
  };
}

const { logger } = createRecordedLog();
const openServer = () => createMemoryServer({ clock: createTestClock(), logger });
const open = (options: Partial<Parameters<typeof startJobs>[0]>) => {
  const jobs = startJobs({
    everywhere: {},
    led: {},
    leases: openServer().handle().registryLeases,
    logger,
    everyMs: 1,
    ...options,
  });
  onTestFinished(() => jobs.stop());
  return jobs;
};

it('does no job twice at once, and lets none wait for another', async () => {
  const [one, two] = [createJob(), createJob()];
  const jobs = open({ everywhere: { one: one.run, two: two.run } });
  await one.begun(1);
  for (let round = 1; round <= 3; round++) {
    await two.begun(round);
    two.finish();
  }
  expect([one.count(), one.most(), two.most()]).toEqual([1, 1, 1]);
  const stopped = jobs.stop();
  const count = two.count();
  one.finish();
  two.finish();
  await stopped;
  // What was under way was waited for, and nothing was begun after it.
  expect([one.count(), two.count()]).toEqual([1, count]);
});

it('goes on after a fault, which it tells once until all is well again', async () => {
  const [broken, well] = [createJob(), createJob()];
  const log = createRecordedLog();
  const jobs = open({ everywhere: { broken: broken.run, well: well.run }, logger: log.logger });
  for (const [round, isFault] of [true, true, false, true].entries()) {
    await broken.begun(round + 1);
    broken.finish(isFault ? new Error('the store is away') : undefined);
    await well.begun(round + 1);
    well.finish();
  }
  await broken.begun(5);
  const stopped = jobs.stop();
  broken.finish();
  well.finish();
  await stopped;
  expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
    { job: 'broken', msg: 'a background job failed', err: { message: 'the store is away' } },
    { job: 'broken' },
  ]);
});

it('lets one process lead, and another follow when that one has ended', async () => {
  const server = openServer();
  const [first, second] = [createJob(), createJob()];
  const leader = open({ led: { job: first.run }, leases: server.handle().registryLeases });
  await first.begun(1);
  const follower = { led: { job: second.run }, leases: server.handle().registryLeases };
  open(follower);
  first.finish();
  await first.begun(2);
  expect(second.count()).toBe(0);
  const stopped = leader.stop();
  first.finish();
  await stopped;
  await second.begun(1);
  second.finish();
});

it('ends what it leads when the store no longer grants it', async () => {
  let isGranted = true;
  const job = createJob();
  let isToEnd = () => false;
  const leases = {
    ...openServer().handle().registryLeases,
    claim: async () => [isGranted],
    release: async () => {},
  };
  open({
    leases,
    led: {
      job: (isStopped) => {
        isToEnd = isStopped;
        return job.run();
      },
    },
  });
  await job.begun(1);
  expect(isToEnd()).toBe(false);
  isGranted = false;
  await waitFor('the end of the lead', () => isToEnd());
  job.finish();
});

it('an hourly job runs at once where it becomes urgent, and each minute while it is, or until it is done', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let [runs, isUrgent, isDone] = [0, false, true];
  const job = hourlyOrUrgent(
    async () => {
      runs += 1;
      return isDone;
    },
    () => isUrgent,
  );
  /** @returns runs within so many seconds of calls, one each second */
  const runsWithin = async (seconds: number) => {
    const before = runs;
    for (let at = 0; at < seconds; at += 1) {
      await job(() => false);
      vi.advanceTimersByTime(1000);
    }
    return runs - before;
  };
  expect(await runsWithin(600)).toBe(1);
  isUrgent = true;
  expect(await runsWithin(1)).toBe(1);
  expect(await runsWithin(59)).toBe(0);
  expect(await runsWithin(120)).toBe(2);
  isUrgent = false;
  expect(await runsWithin(600)).toBe(0);
  expect(await runsWithin(3600)).toBe(1);
  isDone = false;
  expect(await runsWithin(3600)).toBeGreaterThanOrEqual(10);
  isDone = true;
  expect(await runsWithin(60)).toBe(1);
  expect(await runsWithin(3000)).toBe(0);
});
