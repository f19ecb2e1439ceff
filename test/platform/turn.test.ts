import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/errors.js';
import { createBudget } from '../../src/platform/budget.js';
import { createPause } from '../../src/platform/pause.js';
import { createTakeTurn } from '../../src/platform/turn.js';
import { createTestClock } from '../support/test-clock.js';

interface Broken {
  readonly pause?: boolean;
  readonly circuit?: boolean;
  /** What is left of the team's share. */
  readonly share?: number;
  readonly token?: boolean;
}

/** Turns, one at a time, and what was charged. */
function open(broken: Broken = {}) {
  const budget = createBudget({ maxConcurrent: () => 1, maxQueued: 1 });
  const pause = createPause(createTestClock(), 900_000);
  if (broken.pause) pause.open(5000);
  const charged: string[] = [];
  const state = {
    circuitOpen: broken.circuit ?? false,
    paceMs: 0,
    charging: Promise.resolve(),
    charges: 0,
    share: broken.share ?? 9,
  };
  const exhausted = () => new GatewayError('upstream_budget_exhausted', { retryAfterS: 1 });
  const takeTurn = createTakeTurn({
    pace: { waitMs: () => state.paceMs },
    budget,
    pause,
    circuit: {
      check() {
        if (state.circuitOpen) throw new GatewayError('upstream_circuit_open', { retryAfterS: 1 });
      },
    },
    shares: {
      exhausted: async () => (state.share === 0 ? exhausted() : null),
      async take(team) {
        if (state.share === 0) throw exhausted();
        state.share -= 1;
        await state.charging;
        state.charges += 1;
        charged.push(team);
        return {
          putBack() {
            state.share += 1;
            charged.splice(charged.indexOf(team), 1);
          },
        };
      },
    },
    tokens: {
      async current() {
        if (broken.token) throw new GatewayError('credential_unavailable');
        return 'token';
      },
    },
  });
  return { takeTurn, budget, pause, charged, state };
}

const patient = () => new AbortController().signal;
const question = async () => 'question';

describe('a turn', () => {
  it('comes with token and question, and is charged', async () => {
    const { takeTurn, budget, charged } = open();
    const turn = await takeTurn('growth', question, patient());
    expect(turn).toMatchObject({ active: 'token', what: 'question' });
    expect([budget.running, charged]).toEqual([1, ['growth']]);
    turn?.release();
    expect([budget.running, charged]).toEqual([0, ['growth']]);
  });

  it.each<[string, Broken]>([
    ['upstream_rate_limited', { pause: true }],
    ['upstream_circuit_open', { circuit: true }],
    ['credential_unavailable', { token: true }],
  ])('that ends with %s is not charged, holds nothing, and asks nothing', async (code, broken) => {
    const { takeTurn, budget, charged } = open(broken);
    const asked = async () => expect.unreachable();
    await expect(takeTurn('growth', asked, patient())).rejects.toMatchObject({ code });
    expect([budget.running, budget.queued, charged]).toEqual([0, 0, []]);
  });

  it('is not charged when nothing is left to be asked, when asking fails, or when too many wait', async () => {
    const { takeTurn, budget, charged } = open();
    expect(await takeTurn('growth', async () => null, patient())).toBeNull();
    const failing = async () => {
      throw new GatewayError('invalid_query');
    };
    await expect(takeTurn('growth', failing, patient())).rejects.toMatchObject({ code: 'invalid_query' });
    expect([budget.running, charged]).toEqual([0, []]);
    const first = await takeTurn('growth', question, patient());
    const waiting = takeTurn('growth', question, patient());
    await new Promise((resolve) => setImmediate(resolve));
    await expect(takeTurn('growth', question, patient())).rejects.toMatchObject({ code: 'overloaded' });
    expect(charged).toEqual(['growth']);
    first?.release();
    (await waiting)?.release();
    expect(charged).toEqual(['growth', 'growth']);
  });

  it('of a team that has used up its share is refused at once, also while others wait, and holds nothing', async () => {
    const { takeTurn, budget, charged } = open({ share: 1 });
    const first = await takeTurn('growth', question, patient());
    const waiting = takeTurn('growth', question, patient());
    await expect(waiting).rejects.toMatchObject({ code: 'upstream_budget_exhausted' });
    expect([budget.running, budget.queued, charged]).toEqual([1, 0, ['growth']]);
    first?.release();
  });

  it('needs no share when nothing is left to be asked', async () => {
    const { takeTurn, budget, charged } = open({ share: 0 });
    expect(await takeTurn('growth', async () => null, patient())).toBeNull();
    expect([budget.running, charged]).toEqual([0, []]);
  });

  it('is charged when it comes, so that those who wait for the same call are not refused', async () => {
    const { takeTurn, budget, charged } = open({ share: 2 });
    const first = await takeTurn('growth', question, patient());
    const others = [1, 2, 3].map(() => takeTurn('other', async () => null, patient()));
    // One may wait here; that it does is no reason to charge it.
    const settled = Promise.allSettled(others);
    await new Promise((resolve) => setImmediate(resolve));
    expect([budget.queued, charged]).toEqual([1, ['growth']]);
    first?.release();
    expect((await settled).filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(charged).toEqual(['growth']);
  });

  it('whose share ends while it waits goes to the next in line', async () => {
    const { takeTurn, budget, state } = open();
    const first = await takeTurn('growth', question, patient());
    const waiting = takeTurn('growth', question, patient());
    await new Promise((resolve) => setImmediate(resolve));
    expect(budget.queued).toBe(1);
    state.share = 0;
    first?.release();
    await expect(waiting).rejects.toMatchObject({ code: 'upstream_budget_exhausted' });
    expect(budget.running).toBe(0);
  });

  it('is looked at again after the wait: what broke meanwhile breaks it', async () => {
    for (const happens of ['pause', 'circuit', 'gone'] as const) {
      const { takeTurn, budget, pause, charged, state } = open();
      const caller = new AbortController();
      const first = await takeTurn('growth', question, patient());
      const waiting = takeTurn('other', question, caller.signal);
      await new Promise((resolve) => setImmediate(resolve));
      if (happens === 'pause') pause.open(1000);
      if (happens === 'circuit') state.circuitOpen = true;
      if (happens === 'gone') caller.abort(new GatewayError('upstream_timeout'));
      first?.release();
      const code = {
        pause: 'upstream_rate_limited',
        circuit: 'upstream_circuit_open',
        gone: 'upstream_timeout',
      };
      await expect(waiting).rejects.toMatchObject({ code: code[happens] });
      expect([budget.running, budget.queued, charged]).toEqual([0, 0, ['growth']]);
    }
  });

  it('is given back when its caller goes while it is being charged', async () => {
    const { takeTurn, charged, state } = open();
    const caller = new AbortController();
    let charge = () => {};
    state.charging = new Promise((resolve) => {
      charge = () => resolve();
    });
    const waiting = takeTurn('growth', question, caller.signal);
    await new Promise((resolve) => setImmediate(resolve));
    caller.abort(new GatewayError('upstream_timeout'));
    await expect(waiting).rejects.toMatchObject({ code: 'upstream_timeout' });
    charge();
    await new Promise((resolve) => setImmediate(resolve));
    expect([state.charges, state.share, charged]).toEqual([1, 9, []]);
  });

  it('that does not come in time is the platform’s limit where its pace held it up, else a time-out', async () => {
    for (const [paceMs, code, retryAfterS] of [
      [0, 'upstream_timeout', undefined],
      [2500, 'upstream_rate_limited', 3],
    ] as const) {
      const { takeTurn, state } = open();
      const first = await takeTurn('growth', question, patient());
      const deadline = new AbortController();
      const waiting = takeTurn('growth', question, deadline.signal);
      await new Promise((resolve) => setImmediate(resolve));
      state.paceMs = paceMs;
      deadline.abort(new GatewayError('upstream_timeout'));
      const error: GatewayError = await waiting.then(
        () => expect.unreachable(),
        (thrown) => thrown,
      );
      expect([error.code, error.options.retryAfterS]).toEqual([code, retryAfterS]);
      first?.release();
    }
  });
});
