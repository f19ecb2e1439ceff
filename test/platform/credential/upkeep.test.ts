import { expect, it } from 'vitest';
import { startUpkeep } from '../../../src/platform/credential/credential.js';
import { createRecordedLog } from '../../support/recorded-log.js';

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

it('does each job in its turn, and none twice at once', async () => {
  const [one, two] = [createJob(), createJob()];
  const { logger } = createRecordedLog();
  const upkeep = startUpkeep({ jobs: { one: one.run, two: two.run }, logger, everyMs: 1 });
  for (let round = 1; round <= 3; round++) {
    await one.begun(round);
    expect(two.count()).toBe(round - 1);
    one.finish();
    await two.begun(round);
    two.finish();
  }
  await one.begun(4);
  const stopped = upkeep.stop();
  one.finish();
  await stopped;
  // What was under way was waited for, and nothing was begun after it.
  expect([one.count(), two.count(), one.most(), two.most()]).toEqual([4, 3, 1, 1]);
});

it('goes on after a fault, which it tells once until all is well again', async () => {
  const [broken, well] = [createJob(), createJob()];
  const log = createRecordedLog();
  const upkeep = startUpkeep({
    jobs: { broken: broken.run, well: well.run },
    logger: log.logger,
    everyMs: 1,
  });
  for (const [round, isFault] of [true, true, false, true].entries()) {
    await broken.begun(round + 1);
    broken.finish(isFault ? new Error('the store is away') : undefined);
    await well.begun(round + 1);
    well.finish();
  }
  await broken.begun(5);
  const stopped = upkeep.stop();
  broken.finish();
  await stopped;
  expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
    { job: 'broken', msg: 'upkeep of the credential failed', err: { message: 'the store is away' } },
    { job: 'broken' },
  ]);
});
