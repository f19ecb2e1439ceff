import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Circuit, createCircuit } from '../../src/platform/circuit.js';
import { createStandingClock } from '../support/test-clock.js';

const OPEN_MS = 10_000;
const ill = () => true;
const fine = async () => 'fine';
const fails = async () => {
  throw new Error('ill');
};

/** Time stands still, and the machine's clock with it, until one of them is moved. */
const standing = createStandingClock();
const clock = { now: () => expect.unreachable(), monotonicMs: standing.monotonicMs };
const advance = standing.advanceMonotonic;

async function fail(circuit: Circuit, times: number): Promise<void> {
  for (let call = 0; call < times; call++) await expect(circuit.run(fails, ill)).rejects.toThrow('ill');
}

const refused = (retryAfterS: number) =>
  expect.objectContaining({
    code: 'upstream_circuit_open',
    status: 503,
    options: { retryAfterS },
  });

afterEach(() => {
  vi.useRealTimers();
});

describe('the circuit', () => {
  it('opens after so many failures in a row, and no others', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.constantFrom('fine' as const, 'ill' as const, 'says nothing' as const), {
          maxLength: 40,
        }),
        async (failures, script) => {
          const circuit = createCircuit({ failures, openMs: OPEN_MS, clock });
          let row = 0;
          for (const step of script) {
            if (circuit.isOpen) break;
            if (step === 'fine') row = 0;
            if (step === 'ill') row += 1;
            const call = step === 'fine' ? fine : fails;
            await circuit
              .run(call, () => step === 'ill')
              .catch((error: Error) => expect(error.message).toBe('ill'));
            expect(circuit.isOpen).toBe(row >= failures);
          }
        },
      ),
    );
  });

  it('closes at once when the platform has answered a call that was made without it', async () => {
    const circuit = createCircuit({ failures: 2, openMs: OPEN_MS, clock });
    await circuit.answered();
    await fail(circuit, 2);
    await circuit.answered();
    expect([circuit.isOpen, circuit.failures, circuit.leftMs()]).toEqual([false, 0, 0]);
    expect(await circuit.run(fine, ill)).toBe('fine');
  });

  it('refuses calls while it is open, and says for how long', async () => {
    const circuit = createCircuit({ failures: 3, openMs: OPEN_MS, clock });
    circuit.check();
    expect(circuit.leftMs()).toBe(0);
    await fail(circuit, 3);
    expect(circuit.check).toThrow(refused(10));
    await expect(circuit.run(fine, ill)).rejects.toEqual(refused(10));
    advance(8500);
    expect([circuit.isOpen, circuit.leftMs()]).toEqual([true, 1500]);
    expect(circuit.check).toThrow(refused(2));
  });

  it('lets one call try, and closes when that succeeds', async () => {
    const circuit = createCircuit({ failures: 1, openMs: OPEN_MS, clock });
    await fail(circuit, 1);
    advance(OPEN_MS);
    circuit.check();
    let answer = (_: string) => {};
    const probe = circuit.run(() => new Promise<string>((resolve) => (answer = resolve)), ill);
    expect(circuit.check).toThrow(refused(1));
    expect(circuit.isOpen).toBe(true);
    await sleep(0);
    answer('back');
    expect(await probe).toBe('back');
    expect(circuit.isOpen).toBe(false);
    circuit.check();
    await fail(circuit, 1);
    expect(circuit.check).toThrow(refused(10));
  });

  it('opens again when the try fails, or tells nothing', async () => {
    for (const isFailure of [true, false]) {
      const circuit = createCircuit({ failures: 1, openMs: OPEN_MS, clock });
      await fail(circuit, 1);
      advance(OPEN_MS);
      await expect(circuit.run(fails, () => isFailure)).rejects.toThrow('ill');
      expect(circuit.check).toThrow(refused(10));
      advance(OPEN_MS);
      expect(await circuit.run(fine, ill)).toBe('fine');
      expect(circuit.isOpen).toBe(false);
    }
  });

  it('is open for as long as it should be, wherever the machine sets its clock', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    for (const stepMs of [-3_600_000, 3_600_000]) {
      const circuit = createCircuit({ failures: 1, openMs: OPEN_MS, clock });
      await fail(circuit, 1);
      vi.setSystemTime(Date.now() + stepMs);
      expect(circuit.check).toThrow(refused(10));
      advance(OPEN_MS);
      circuit.check();
      expect(await circuit.run(fine, ill)).toBe('fine');
      expect(circuit.isOpen).toBe(false);
    }
  });
});
