import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBudget } from '../../src/platform/budget.js';
import { runs } from '../support/runs.js';

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
  it('lets a call that waits for all start after those of all teams, whoever is charged', async () => {
    const budget = createBudget({ maxConcurrent: () => 1, maxQueued: 9 });
    const started: string[] = [];
    const ask = async (name: string, team: string, waitsForAll: boolean) => {
      const release = await budget.acquire(team, patient(), waitsForAll);
      started.push(name);
      release();
    };
    const release = await budget.acquire('a', patient());
    const asked = [ask('watch', 'a', true), ask('b', 'b', false), ask('a', 'a', false), ask('c', 'c', false)];
    release();
    await Promise.all(asked);
    expect(started).toEqual(['b', 'c', 'a', 'watch']);
  });

  it('never runs more than the limit, never loses a turn, never leaves one idle, whatever happens when', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.nat(4), steps, async (limit, maxQueued, script) => {
        const budget = createBudget({ maxConcurrent: () => limit, maxQueued });
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
      runs(100, 300),
    );
  });

  it('gives turns in the order asked within a team, and first to the team that had fewest', async () => {
    const budget = createBudget({ maxConcurrent: () => 1, maxQueued: 100 });
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
      // Somebody who comes late goes before those who have had more.
      if (order.at(-1) === 'b1') void wait('d1');
      releases.shift()?.();
    }
    await settle();
    // The call that ran first was of team a.
    expect(order).toEqual(['b1', 'c1', 'd1', 'a1', 'c2', 'a2', 'a3', 'a4']);
  });

  it("lets a team's single calls, one after the other, wait for one turn of a flood at most", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 10, max: 100 }),
        fc.array(fc.nat(5), { minLength: 1, maxLength: 5 }),
        async (limit, flood, pauses) => {
          const budget = createBudget({ maxConcurrent: () => limit, maxQueued: 1000 });
          const running: (() => void)[] = [];
          const started = { flood: 0, single: 0 };
          const ask = (team: keyof typeof started) =>
            budget.acquire(team, patient()).then((release) => {
              started[team] += 1;
              running.push(release);
            });
          for (let call = 0; call < flood; call++) void ask('flood');
          await settle();
          for (const pause of pauses) {
            for (let ended = 0; ended < pause; ended++) running.shift()?.();
            await settle();
            const before = started.single;
            void ask('single');
            running.shift()?.();
            await settle();
            // Where it had the turn before, the flood has the one that was free.
            if (started.single === before) running.shift()?.();
            await settle();
            expect(started.single).toBe(before + 1);
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  it('gives all teams as many turns, whoever asked more', async () => {
    await fc.assert(
      fc.asyncProperty(
        // Calls beyond those that can get a turn.
        fc.array(fc.nat(50), { minLength: 2, maxLength: 5 }),
        fc.integer({ min: 1, max: 3 }),
        async (more, limit) => {
          const budget = createBudget({ maxConcurrent: () => limit, maxQueued: 100_000 });
          const turns = more.map(() => 0);
          const running: (() => void)[] = [];
          const rounds = 20;
          for (const [team, calls] of more.entries()) {
            for (let call = 0; call < 2 * rounds + calls; call++) {
              void budget.acquire(String(team), patient()).then((release) => {
                turns[team] = (turns[team] as number) + 1;
                running.push(release);
              });
            }
          }
          await settle();
          for (let ended = 0; ended < rounds * more.length; ended++) {
            running.shift()?.();
            await settle();
          }
          for (const count of turns) expect(Math.abs(count - rounds)).toBeLessThanOrEqual(limit + 2);
        },
      ),
      { numRuns: 15 },
    );
  });

  it('keeps to the limit of the moment: as replicas come and go, it is another', async () => {
    let limit = 3;
    const budget = createBudget({ maxConcurrent: () => limit, maxQueued: 100 });
    const releases: (() => void)[] = [];
    for (let call = 0; call < 10; call++)
      void budget.acquire('a', patient()).then((release) => releases.push(release));
    await settle();
    expect(budget.running).toBe(3);
    limit = 1;
    releases.shift()?.();
    releases.shift()?.();
    await settle();
    expect(budget.running).toBe(1);
    limit = 5;
    releases.shift()?.();
    await settle();
    expect(budget).toMatchObject({ running: 5, queued: 2 });
  });

  it('starts no call before its pace allows, and then by itself', async () => {
    let waitMs = 1;
    const budget = createBudget({ maxConcurrent: () => 2, maxQueued: 10, paceMs: () => waitMs });
    const order: string[] = [];
    const first = budget.acquire('a', patient()).then(() => order.push('a'));
    const second = budget.acquire('b', patient()).then(() => order.push('b'));
    await settle();
    expect([budget.running, budget.queued]).toEqual([0, 2]);
    waitMs = 0;
    await Promise.all([first, second]);
    expect(order).toEqual(['a', 'b']);
  });

  it("refuses the gateway's own, then the newest of the team that fills the queue, not the one that comes late", async () => {
    const budget = createBudget({ maxConcurrent: () => 1, maxQueued: 4 });
    const release = await budget.acquire('flood', patient());
    const outcomes = new Map<string, string>();
    const ask = (name: string) =>
      void budget.acquire(name.replace(/\d/, ''), patient()).then(
        (done) => {
          outcomes.set(name, 'turn');
          done();
        },
        (error: Error & { code: string }) => outcomes.set(name, error.code),
      );
    const flood = ['flood1', 'flood2', 'flood3', 'flood4', 'flood5'];
    for (const name of ['gateway1', ...flood, 'late1', 'gateway2', 'late2', 'late3']) ask(name);
    await settle();
    expect(budget.queued).toBe(4);
    expect(Object.fromEntries(outcomes)).toEqual({
      gateway1: 'overloaded',
      gateway2: 'overloaded',
      flood5: 'overloaded',
      flood4: 'overloaded',
      flood3: 'overloaded',
      late3: 'overloaded',
    });
    release();
    await settle();
    expect(['flood1', 'flood2', 'late1', 'late2'].map((name) => outcomes.get(name))).toEqual(
      Array(4).fill('turn'),
    );
  });

  it('refuses beyond the queue, and says when to come again', async () => {
    const budget = createBudget({ maxConcurrent: () => 1, maxQueued: 1 });
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
    const budget = createBudget({ maxConcurrent: () => 1, maxQueued: 10 });
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
});
