/** What the lines of days keep for finality and truth: whoever writes a line is told what is new in it, and nobody twice. */
import { expect, it } from 'vitest';
import { type Counts, judge, type Verdict } from '../../../src/reports/learn/evidence.js';
import { DAY, HOUR } from '../../support/test-clock.js';
import { fetchedDay, MONTH, openDays, rowOf, SERIES } from './stored-days.js';

const DATE = `${MONTH}-01`;
type Process = ReturnType<ReturnType<typeof openDays>['open']>;

function scene(wrap?: Parameters<typeof openDays>[1]) {
  const { clock, open, ...rest } = openDays(undefined, wrap);
  let spent = 1;
  return {
    clock,
    open,
    ...rest,
    restate() {
      spent += 1;
    },
    /** @returns what a look tells, by name */
    async look({ fetch }: Process, options: Parameters<Process['fetch']>[1] = {}) {
      clock.pass(HOUR);
      const { news } = await fetch([fetchedDay(DATE, [rowOf(DATE, spent)], clock.now())], options);
      return news.flatMap(({ ages, verdicts }) =>
        [...ages, ...verdicts].map(([name, by]) => `${name} ${by}`),
      );
    },
    /** Notes a verdict of now. */
    async judged({ days }: Process, verdict: Verdict): Promise<Counts> {
      const age = Math.floor(clock.now() / DAY) - Math.floor(Date.parse(DATE) / DAY);
      return await days.count(SERIES, [DATE, `${MONTH}-20`], (known) => judge(known, age, verdict));
    },
  };
}

it('a look by another process adds what is new alone, and one whose counts were lost is not counted again', async () => {
  const { clock, open, look, restate } = scene();
  const [one, other] = [open(), open()];
  clock.pass(2 * DAY);
  expect(await look(one)).toEqual([]);
  expect(await look(other)).toEqual(['same 2 1']);
  expect(await look(one)).toEqual([]);
  clock.pass(DAY);
  // The process ends before it writes its counts.
  expect(await look(open())).toEqual(['seen 2 1', 'same 3 1']);
  expect(await look(other)).toEqual([]);
  restate();
  clock.pass(DAY);
  expect(await look(other)).toEqual(['changed 2 1', 'seen 3 1', 'changed 3 1', 'restated 4 1']);
  expect(await look(one)).toEqual([]);
});

it('the same day fetched by two processes at once is counted once', async () => {
  const { clock, open, look } = scene();
  const processes = [open(), open()];
  clock.pass(2 * DAY);
  await look(processes[0] as Process);
  clock.pass(DAY);
  const told = await Promise.all(processes.map((one) => look(one)));
  expect(told.flat().sort()).toEqual(['same 3 1', 'seen 2 1']);
});

it('a worse verdict of an age takes the place of the one before, once for all processes, and days that are not stored have none', async () => {
  const { clock, open, look, judged } = scene();
  const [one, other] = [open(), open()];
  clock.pass(2 * DAY);
  await look(one);
  await look(one);
  expect((await Promise.all([one, other].map((by) => judged(by, 'wrong')))).flat()).toEqual([
    ...[['wrong 2', 1] as const, ['same 2', -1] as const],
  ]);
  expect(await judged(one, 'failed')).toEqual([['failed 2', 1]]);
  expect(await judged(other, 'failed')).toEqual([]);
  expect(await look(other)).toEqual([]);
});

it('days that history does not record tell nothing, and keep what was counted before', async () => {
  const { clock, open, look, judged } = scene();
  const one = open();
  clock.pass(2 * DAY);
  await look(one);
  await look(one);
  expect(await look(one, { isRecorded: false })).toEqual([]);
  expect(await judged(one, 'wrong')).toEqual([
    ['wrong 2', 1],
    ['same 2', -1],
  ]);
});

it('a look that cannot be stored tells nothing', async () => {
  let isAway = false;
  const { clock, open, look } = scene((store) => ({
    ...store,
    write: async (writes) => {
      if (isAway) throw new Error('away');
      return await store.write(writes);
    },
  }));
  const one = open();
  clock.pass(2 * DAY);
  await look(one);
  isAway = true;
  expect(await look(one)).toEqual([]);
  isAway = false;
  expect(await look(one)).toEqual(['same 2 1']);
});
