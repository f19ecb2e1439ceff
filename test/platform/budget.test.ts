import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBudget } from '../../src/platform/budget.js';

/** Of a caller who does not give up. */
const patient = () => new AbortController().signal;
/** Lets every promise that is settled be heard of. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** `pick` chooses among the calls that run, wait or are over. */
const steps = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('ask' as const),
        team: fc.constantFrom('a', 'b', 'c'),
        aborted: fc.boolean(),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom('finish' as const, 'finish-again' as const, 'abort' as const),
        pick: fc.nat(1000),
      }),
    },
  ),
  { maxLength: 60 },
);

interface Ask {
  readonly team: string;
  readonly controller: AbortController;
  state: 'waiting' | 'running' | 'over' | 'refused' | 'aborted';
  release: () => void;
}

describe('the budget', () => {
  it('never runs more than the limit, never loses a turn, never leaves one idle, whatever happens when', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.nat(4), steps, async (limit, maxQueued, script) => {
        const budget = createBudget(limit, maxQueued);
        const asks: Ask[] = [];
        const ask = (team: string, aborted: boolean): void => {
          const one: Ask = { team, controller: new AbortController(), state: 'waiting', release: () => {} };
          asks.push(one);
          if (aborted) one.controller.abort(new Error('gone'));
          budget.acquire(team, one.controller.signal).then(
            (release) => Object.assign(one, { state: 'running', release }),
            (error: Error & { code?: string }) => {
              one.state = error.code === 'overloaded' ? 'refused' : 'aborted';
              expect(error.message === 'gone' || error.code === 'overloaded').toBe(true);
            },
          );
        };
        const choose = (pick: number, state: Ask['state']): Ask | undefined => {
          const among = asks.filter((one) => one.state === state);
          return among[pick % Math.max(1, among.length)];
        };
        const count = (state: Ask['state']) => asks.filter((one) => one.state === state).length;

        for (const step of script) {
          if (step.do === 'ask') ask(step.team, step.aborted);
          else if (step.do === 'abort')
            choose(step.pick, step.pick % 3 === 0 ? 'running' : 'waiting')?.controller.abort(
              new Error('gone'),
            );
          else {
            const one = choose(step.pick, step.do === 'finish' ? 'running' : 'over');
            one?.release();
            if (one !== undefined) one.state = 'over';
          }
          await settle();
          expect(budget.running).toBeLessThanOrEqual(limit);
          expect(budget.running).toBe(count('running'));
          expect(budget.queued).toBe(count('waiting'));
          expect(budget.queued).toBeLessThanOrEqual(maxQueued);
          if (budget.queued > 0) expect(budget.running).toBe(limit);
        }
        while (count('running') > 0) {
          for (const one of asks.filter(({ state }) => state === 'running')) {
            one.release();
            one.state = 'over';
          }
          await settle();
        }
        expect([budget.running, budget.queued, count('waiting')]).toEqual([0, 0, 0]);
      }),
      { numRuns: 300 },
    );
  });

  it('gives turns in the order asked within a team, and by turns between teams', async () => {
    const budget = createBudget(1, 100);
    const first = await budget.acquire('a', patient());
    const order: string[] = [];
    const releases: (() => void)[] = [];
    const wait = (name: string) =>
      budget.acquire(name.charAt(0), patient()).then((release) => {
        order.push(name);
        releases.push(release);
      });
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'c2']) void wait(name);
    await settle();
    first();
    for (let turn = 0; turn < 7; turn++) {
      await settle();
      // Somebody who comes late waits for one turn of each other team at most.
      if (order.at(-1) === 'b1') void wait('d1');
      releases.shift()?.();
    }
    await settle();
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'd1', 'c2', 'a3', 'a4'].slice(0, order.length));
    expect(order).toHaveLength(8);
  });

  it("puts a team's single call behind at most one call of each other, however many those have", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 5 }),
        async (flood, teams) => {
          const budget = createBudget(1, 1000);
          const held = await budget.acquire('first', patient());
          let before = 0;
          let reached = false;
          for (let team = 0; team < teams; team++) {
            for (let call = 0; call < flood; call++) {
              void budget.acquire(`team-${team}`, patient()).then((release) => {
                if (!reached) before += 1;
                release();
              });
            }
          }
          const single = budget.acquire('single', patient()).then((release) => {
            reached = true;
            release();
          });
          held();
          await single;
          expect(before).toBeLessThanOrEqual(teams);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('refuses beyond the queue, and says when to come again', async () => {
    const budget = createBudget(1, 1);
    const release = await budget.acquire('a', patient());
    const waiting = budget.acquire('b', patient());
    await expect(budget.acquire('c', patient())).rejects.toMatchObject({
      code: 'overloaded',
      status: 503,
      options: { retryAfterS: 1 },
    });
    release();
    (await waiting)();
    (await budget.acquire('c', patient()))();
  });

  it('lets nobody in before those who wait', async () => {
    const budget = createBudget(1, 10);
    const release = await budget.acquire('a', patient());
    const order: string[] = [];
    void budget.acquire('a', patient()).then((done) => {
      order.push('waited');
      done();
    });
    release();
    void budget.acquire('b', patient()).then((done) => {
      order.push('came after the release');
      done();
    });
    await settle();
    expect(order).toEqual(['waited', 'came after the release']);
  });

  it('forgets a waiter who gave up, and a turn given back twice counts once', async () => {
    const budget = createBudget(1, 10);
    const release = await budget.acquire('a', patient());
    const gone = new AbortController();
    const waiting = budget.acquire('b', gone.signal);
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    expect(budget).toMatchObject({ running: 1, queued: 0 });
    release();
    release();
    expect(budget.running).toBe(0);
    await expect(budget.acquire('b', gone.signal)).rejects.toThrow('gone');
    expect(budget.running).toBe(0);
  });
});
