import { describe, expect, it } from 'vitest';
import { addCall, createTrace } from '../../src/telemetry/trace.js';

describe('a trace', () => {
  it('adds up the platform calls of its request, and no other’s', () => {
    const [one, other] = [createTrace(), createTrace()];
    const call = { team: 'a', method: 'GET', outcome: 'answer', status: 200 } as const;
    addCall(one, { ...call, durationMs: 20 });
    addCall(one, { ...call, durationMs: 22.5 });
    expect([one.platformCalls, one.platformMs, other.platformCalls, other.platformMs]).toEqual([
      2, 42.5, 0, 0,
    ]);
  });
});
