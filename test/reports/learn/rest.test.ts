/** When a proof begins: not while callers wait for reports of their own. */
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createCompared } from '../../../src/reports/learn/compared.js';
import { createKinds, createLearner } from '../../../src/reports/learn/learn.js';
import { createProver } from '../../../src/reports/learn/prove-kind.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openInMemory, openReplica } from '../../support/shared-registry.js';
import { createStandingClock, SECOND } from '../../support/test-clock.js';
import { policyOf } from '../fetch/policy.js';
import { get } from '../query/canonical-request.js';
import { rowsEntry } from '../rows/entries.js';

const ENDPOINT = { readByPost: false, divisible: 'auto', freshness: 'own' } as const;

/** A prover, and the number of its platform calls. */
async function openProver() {
  const { registry, store } = await openReplica(await openInMemory());
  const { logger } = createRecordedLog();
  const { now } = createStandingClock();
  const policy = policyOf({}, { 'campaigns/get': ENDPOINT });
  const learner = createLearner({
    kinds: createKinds(registry),
    policy,
    now,
    logger,
    onEvent() {},
    onDependent() {},
  });
  const ask = vi.fn(async () => ({ kind: 'undivided' as const, reason: 'it has totals' }));
  const under: Promise<unknown>[] = [];
  const purges = { seq: 1 };
  const prover = createProver({
    learner,
    compared: createCompared(store.documents, now),
    policy,
    now,
    ask,
    leases: store.registryLeases,
    self: 'one',
    recentCalls: { count: () => 0 },
    background: (work) => under.push(work),
    purges,
    logger,
  });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  return {
    purges,
    /** A report was fetched for a caller, so many milliseconds after the last one. @param more parameters */
    async fetched(afterMs: number, to: string, more = ''): Promise<void> {
      await vi.advanceTimersByTimeAsync(afterMs);
      const { report } = get(`advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=${to}${more}`);
      await prover.fetched({ report, series: 'all', known: new Map(), fresh: [rowsEntry([{ clicks: 1 }])] });
    },
    async callsAfter(ms: number): Promise<number> {
      await vi.advanceTimersByTimeAsync(ms);
      await Promise.all(under);
      return ask.mock.calls.length;
    },
  };
}

describe('a proof', () => {
  let prover: Awaited<ReturnType<typeof openProver>>;
  beforeEach(async () => {
    prover = await openProver();
  });

  it('begins half a second after the last report that was fetched for a caller', async () => {
    await prover.fetched(0, '2026-11-07');
    await prover.fetched(400, '2026-11-07');
    expect(await prover.callsAfter(499)).toBe(0);
    expect(await prover.callsAfter(1)).toBe(1);
  });

  it('begins after ten seconds although callers do not rest', async () => {
    for (let at = 0; at < 10 * SECOND; at += 400) await prover.fetched(at === 0 ? 0 : 400, '2026-11-07');
    expect(await prover.callsAfter(399)).toBe(0);
    expect(await prover.callsAfter(1)).toBe(1);
  });

  it('begins at once with the third period of its kind', async () => {
    await prover.fetched(0, '2026-11-07');
    await prover.fetched(0, '2026-11-08');
    expect(await prover.callsAfter(0)).toBe(0);
    await prover.fetched(0, '2026-11-09');
    expect(await prover.callsAfter(0)).toBe(1);
  });

  it('is left to the next report where something was purged meanwhile', async () => {
    await prover.fetched(0, '2026-11-07');
    prover.purges.seq += 1;
    expect(await prover.callsAfter(10 * SECOND)).toBe(0);
    await prover.fetched(0, '2026-11-07');
    expect(await prover.callsAfter(500)).toBe(1);
  });

  it('of a kind with an unknown parameter begins when callers rest after its second period', async () => {
    await prover.fetched(0, '2026-11-07', '&x=1');
    expect(await prover.callsAfter(10 * SECOND)).toBe(0);
    await prover.fetched(0, '2026-11-08', '&x=1');
    expect(await prover.callsAfter(500)).toBe(1);
  });
});
