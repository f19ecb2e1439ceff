import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createClock } from '../../../src/lib/clock.js';
import { createCircuit } from '../../../src/store/redis/link.js';

const PATIENCE_MS = 300;
/** Later than any pause between two probes. */
const LONG_MS = 10_000;

function createFixture() {
  let alive = false;
  const probed: number[] = [];
  const changes: boolean[] = [];
  const circuit = createCircuit({
    clock: { ...createClock(), now: () => Number.NaN },
    patienceMs: PATIENCE_MS,
    probe: async () => {
      probed.push(Date.now());
      if (!alive) throw new Error('no answer');
    },
    onChange: (open) => changes.push(open),
  });
  const failFor = async (times: number, everyMs: number) => {
    for (let left = times; left > 0; left -= 1) {
      circuit.unanswered();
      await vi.advanceTimersByTimeAsync(everyMs);
    }
  };
  const hear = async () => {
    circuit.heard();
    await vi.advanceTimersByTimeAsync(0);
  };
  return { circuit, probed, changes, failFor, hear, revive: () => (alive = true) };
}

describe('the circuit', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('opens when many calls fail for a long time, and says so once', async () => {
    const { circuit, changes, failFor } = createFixture();
    await failFor(10, 100);
    expect(circuit.open).toBe(true);
    expect(changes).toEqual([true]);
    circuit.stop();
  });

  it('begins to count anew whenever the server is heard', async () => {
    const { circuit, failFor, hear } = createFixture();
    for (let round = 0; round < 10; round += 1) {
      await failFor(4, 1_000);
      await hear();
    }
    await failFor(4, 1_000);
    expect(circuit.open).toBe(false);
  });

  it('closes when a probe is answered, and probes no more', async () => {
    const { circuit, probed, changes, failFor, revive } = createFixture();
    await failFor(10, 100);
    await vi.advanceTimersByTimeAsync(LONG_MS);
    expect(circuit.open).toBe(true);
    expect(probed.length).toBeGreaterThan(2);
    revive();
    await vi.advanceTimersByTimeAsync(LONG_MS);
    expect(circuit.open).toBe(false);
    expect(changes).toEqual([true, false]);
    const { length } = probed;
    await vi.advanceTimersByTimeAsync(LONG_MS);
    expect(probed).toHaveLength(length);
  });

  it('probes with growing pauses', async () => {
    const { circuit, probed, failFor } = createFixture();
    await failFor(10, 100);
    await vi.advanceTimersByTimeAsync(60_000);
    const pauses = probed.slice(1).map((at, index) => at - (probed[index] ?? 0));
    expect(Math.min(...pauses.slice(-5))).toBeGreaterThan(Math.max(...pauses.slice(0, 2)));
    expect(Math.max(...pauses)).toBeLessThanOrEqual(500);
    circuit.stop();
  });

  it('closes when the server is heard while a probe still waits', async () => {
    const changes: boolean[] = [];
    const circuit = createCircuit({
      clock: { ...createClock(), now: () => Number.NaN },
      patienceMs: 0,
      probe: () => new Promise(() => {}),
      onChange: (open) => changes.push(open),
    });
    for (let left = 5; left > 0; left -= 1) circuit.unanswered();
    await vi.advanceTimersByTimeAsync(LONG_MS);
    expect(circuit.open).toBe(true);
    circuit.heard();
    await vi.advanceTimersByTimeAsync(0);
    expect(circuit.open).toBe(false);
    expect(changes).toEqual([true, false]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
