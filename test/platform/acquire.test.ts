import { text } from 'node:stream/consumers';
import { MockAgent } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../src/errors.js';
import { createClock } from '../../src/lib/clock.js';
import { createBudget } from '../../src/platform/budget.js';
import { createAcquire } from '../../src/platform/client.js';
import { createPause } from '../../src/platform/pace.js';
import type { Slot } from '../../src/platform/slot.js';
import type { CallReport } from '../../src/telemetry/trace.js';
import { createRecordedLog } from '../support/recorded-log.js';
import { createTestClock } from '../support/test-clock.js';

interface Broken {
  readonly pause?: boolean;
  readonly circuit?: boolean;
  /** What is left of the team's share. */
  readonly share?: number;
  readonly token?: boolean;
}

/** Slots, one at a time, and what was charged. */
function open(broken: Broken = {}) {
  const budget = createBudget({ maxConcurrent: () => 1, maxQueued: 1 });
  const pause = createPause(createTestClock(), 900_000);
  if (broken.pause) pause.open(5000);
  const charged: string[] = [];
  const reports: CallReport[] = [];
  const state = {
    circuitOpen: broken.circuit ?? false,
    paceMs: 0,
    charging: Promise.resolve(),
    charges: 0,
    share: broken.share ?? 9,
  };
  const exhausted = () => new GatewayError('upstream_budget_exhausted', { retryAfterS: 1 });
  const agent = new MockAgent();
  agent.disableNetConnect();
  agent.get('http://platform').intercept({ path: '/thing' }).reply(200, 'fine').persist();
  onTestFinished(() => agent.close());
  const acquire = createAcquire({
    agent,
    rules: { baseUrl: new URL('http://platform'), loginPaths: [] },
    clock: createClock(),
    userAgent: 'test',
    onCall: (report) => void reports.push(report),
    pace: { waitMs: () => state.paceMs, started: () => {}, ended: () => {} },
    budget,
    pause,
    circuit: {
      leftMs: () => 0,
      run: (call) => call(),
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
        return { id: 'tok_1', token: 'token' };
      },
      why: () => ({}),
      accepted: () => {},
      refused: async () => false,
    },
    retry: { attempts: 0, baseMs: 1 },
    logger: createRecordedLog().logger,
  });
  return { acquire, budget, pause, charged, reports, state };
}

const within = (signal: AbortSignal) => ({ signal, totalMs: 60_000, attempt: 1, leftMs: () => 60_000 });
const patient = () => within(new AbortController().signal);
const tick = () => new Promise((resolve) => setImmediate(resolve));
/** Makes the slot's request, and reads the answer to its end. */
const use = (slot: Slot) =>
  slot.send({ method: 'GET', target: '/thing' }, async ({ token, body }) => `${token}: ${await text(body)}`);

describe('a slot', () => {
  it('comes with a token, and is charged when it is used', async () => {
    const { acquire, budget, charged } = open();
    const slot = await acquire('growth', patient());
    expect([budget.running, charged]).toEqual([1, []]);
    expect(await use(slot)).toBe('token: fine');
    await tick();
    expect([budget.running, charged]).toEqual([0, ['growth']]);
  });

  it.each<[string, Broken]>([
    ['upstream_rate_limited', { pause: true }],
    ['upstream_circuit_open', { circuit: true }],
    ['credential_unavailable', { token: true }],
  ])('that ends with %s is not charged, and holds nothing', async (code, broken) => {
    const { acquire, budget, charged } = open(broken);
    await expect(acquire('growth', patient())).rejects.toMatchObject({ code });
    expect([budget.running, budget.queued, charged]).toEqual([0, 0, []]);
  });

  it('of a call that the queue held until its deadline is told with the wait, not with the call', async () => {
    const { acquire, reports } = open();
    const ended = new AbortController();
    const first = await acquire('growth', patient());
    const second = acquire('growth', within(ended.signal));
    const late = acquire('growth', { ...patient(), leftMs: () => 1 });
    ended.abort(new GatewayError('upstream_timeout'));
    await expect(second).rejects.toMatchObject({
      code: 'upstream_timeout',
      options: { detail: 'The call waited 60 s for a free slot.', noSlot: true },
    });
    first.release();
    await use(await late);
    expect(reports.map(({ waitedMs }) => Math.round((waitedMs ?? 0) / 10_000))).toEqual([6]);
  });

  it('is not charged when it is given back unused, or when too many wait', async () => {
    const { acquire, budget, charged } = open();
    (await acquire('growth', patient())).release();
    expect([budget.running, charged]).toEqual([0, []]);
    const first = await acquire('growth', patient());
    const waiting = acquire('growth', patient());
    await tick();
    await expect(acquire('growth', patient())).rejects.toMatchObject({ code: 'overloaded' });
    expect(charged).toEqual([]);
    await use(first);
    await use(await waiting);
    expect(charged).toEqual(['growth', 'growth']);
  });

  it('of a team that has used up its share is refused at once, also while others wait, and holds nothing', async () => {
    const { acquire, budget, charged } = open({ share: 1 });
    await use(await acquire('growth', patient()));
    const busy = await acquire('other', patient()).catch((error: GatewayError) => error.code);
    expect(busy).toBe('upstream_budget_exhausted');
    await tick();
    expect([budget.running, budget.queued, charged]).toEqual([0, 0, ['growth']]);
  });

  it('is charged when it is used, so that those who wait for the same call are not refused', async () => {
    const { acquire, budget, charged } = open({ share: 1 });
    const first = await acquire('growth', patient());
    const second = acquire('growth', patient());
    await tick();
    expect([budget.queued, charged]).toEqual([1, []]);
    first.release();
    await use(await second);
    expect(charged).toEqual(['growth']);
  });

  it('whose share ends while it waits is refused when it is used, and goes to the next in line', async () => {
    const { acquire, budget, state } = open();
    const first = await acquire('growth', patient());
    const waiting = acquire('growth', patient());
    await tick();
    expect(budget.queued).toBe(1);
    state.share = 0;
    first.release();
    await expect(use(await waiting)).rejects.toMatchObject({ code: 'upstream_budget_exhausted' });
    expect(budget.running).toBe(0);
  });

  it('is looked at again after the wait: what broke meanwhile breaks it', async () => {
    for (const happens of ['pause', 'circuit', 'gone'] as const) {
      const { acquire, budget, pause, charged, state } = open();
      const caller = new AbortController();
      const first = await acquire('growth', patient());
      const waiting = acquire('other', within(caller.signal));
      await tick();
      if (happens === 'pause') pause.open(1000);
      if (happens === 'circuit') state.circuitOpen = true;
      if (happens === 'gone') caller.abort(new GatewayError('upstream_timeout'));
      first.release();
      const code = {
        pause: 'upstream_rate_limited',
        circuit: 'upstream_circuit_open',
        gone: 'upstream_timeout',
      };
      await expect(waiting).rejects.toMatchObject({ code: code[happens] });
      expect([budget.running, budget.queued, charged]).toEqual([0, 0, []]);
    }
  });

  it('is looked at again when it is used: a pause that began meanwhile holds it back, uncharged', async () => {
    const { acquire, budget, pause, charged } = open();
    const slot = await acquire('growth', patient());
    pause.open(1000);
    await expect(use(slot)).rejects.toMatchObject({ code: 'upstream_rate_limited' });
    expect([budget.running, charged]).toEqual([0, []]);
  });

  it('is charged once if it was charged ahead of its use, and has the charge put back if there is none', async () => {
    const { acquire, charged, state } = open();
    const slot = await acquire('growth', patient());
    await Promise.all([slot.charge(), slot.charge()]);
    expect(charged).toEqual(['growth']);
    await use(slot);
    const unused = await acquire('other', patient());
    void unused.charge();
    unused.release();
    unused.release();
    await tick();
    expect([state.charges, charged]).toEqual([2, ['growth']]);
  });

  it('has its charge put back when its caller goes while it is being charged', async () => {
    const { acquire, charged, state } = open();
    const caller = new AbortController();
    let charge = () => {};
    state.charging = new Promise((resolve) => {
      charge = () => resolve();
    });
    const using = use(await acquire('growth', within(caller.signal)));
    await tick();
    caller.abort(new GatewayError('upstream_timeout'));
    await expect(using).rejects.toMatchObject({ code: 'upstream_timeout' });
    charge();
    await tick();
    expect([state.charges, state.share, charged]).toEqual([1, 9, []]);
  });

  it('that does not come in time is the platform’s limit where its pace held it up, else a time-out', async () => {
    for (const [paceMs, code, retryAfterS] of [
      [0, 'upstream_timeout', undefined],
      [2500, 'upstream_rate_limited', 3],
    ] as const) {
      const { acquire, state } = open();
      const first = await acquire('growth', patient());
      const deadline = new AbortController();
      const waiting = acquire('growth', within(deadline.signal));
      await tick();
      state.paceMs = paceMs;
      deadline.abort(new GatewayError('upstream_timeout'));
      const error: GatewayError = await waiting.then(
        () => expect.unreachable(),
        (thrown) => thrown,
      );
      expect([error.code, error.options.retryAfterS]).toEqual([code, retryAfterS]);
      first.release();
    }
  });
});
