import { describe, expect, it } from 'vitest';
import { Trace } from '../../src/telemetry/trace.js';

describe('a trace', () => {
  it('adds up the platform calls of its request, and no other’s', () => {
    const [one, other] = [new Trace(), new Trace()];
    const call = { team: 'a', method: 'GET', outcome: 'answer', status: 200, attempt: 1 } as const;
    one.called({ ...call, durationMs: 20 });
    one.called({ ...call, durationMs: 22.5 });
    expect([one.platformCalls, one.platformMs, other.platformCalls, other.platformMs]).toEqual([
      2, 42.5, 0, 0,
    ]);
  });

  it('keeps the stages of its request in order, with the time since its beginning at which each ended', () => {
    let nowMs = 1000;
    const trace = new Trace(() => nowMs);
    for (const stage of ['admit', 'acquire', 'acquire', 'fetch'] as const) {
      nowMs += 5;
      trace.mark(stage);
    }
    expect(trace.stages).toEqual([
      { stage: 'admit', endedMs: 5 },
      { stage: 'acquire', endedMs: 10 },
      { stage: 'acquire', endedMs: 15 },
      { stage: 'fetch', endedMs: 20 },
    ]);
  });

  it('keeps a hundred of them, and no more', () => {
    const trace = new Trace();
    for (let n = 0; n < 150; n++) trace.mark('fetch');
    expect(trace.stages).toHaveLength(100);
  });
});
