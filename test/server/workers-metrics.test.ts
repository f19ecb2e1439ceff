import type { Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Workers } from '../../src/server/workers.js';

/** A process with numbers of its own that answers its supervisor, unless it is told to stall. */
function createWorker() {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({ name: 'requests_total', help: 'r', labelNames: ['status'], registers });
  const times = new Histogram({ name: 'seconds', help: 's', buckets: [1], registers });
  const bytes = new Gauge({ name: 'bytes', help: 'b', registers });
  const events = new EventEmitter();
  let stalled = false;
  const late: (() => void)[] = [];
  const worker = Object.assign(events, {
    send({ ask }: { ask: number }, done: (error: Error | null) => void) {
      done(null);
      const answer = () =>
        void registry.getMetricsAsJSON().then((numbers) =>
          // As the channel between processes does.
          events.emit('message', structuredClone({ answer: ask, numbers })),
        );
      if (stalled) late.push(answer);
      else answer();
    },
  }) as unknown as Worker;
  return {
    worker,
    requests,
    times,
    bytes,
    listen: () => events.emit('message', { listening: true }),
    die: () => events.emit('exit', null, 'SIGKILL'),
    stall: () => {
      stalled = true;
    },
    goOn() {
      stalled = false;
      for (const answer of late.splice(0)) answer();
    },
  };
}

function follow(count: number) {
  const followed = new Workers(pino({ level: 'silent' }));
  const workers = Array.from({ length: count }, () => {
    const made = createWorker();
    followed.add(made.worker);
    made.listen();
    return made;
  });
  const scrape = async () => {
    const asked = followed.metricsText(new Registry());
    await vi.advanceTimersByTimeAsync(3000);
    const text = await asked;
    const sampleOf = (sample: string) =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${sample} `))
          ?.split(' ')[1] ?? Number.NaN,
      );
    return {
      ok: sampleOf('requests_total{status="200"}'),
      times: sampleOf('seconds_count'),
      bytes: sampleOf('bytes'),
    };
  };
  return { followed, workers, scrape };
}

describe('numbers of several workers', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('never run backwards when one stalls, answers late, dies or is replaced', async () => {
    const { followed, workers, scrape } = follow(2);
    const [one, two] = workers as [ReturnType<typeof createWorker>, ReturnType<typeof createWorker>];
    one.requests.inc({ status: '200' }, 10);
    two.requests.inc({ status: '200' }, 5);
    two.times.observe(0.5);
    two.bytes.set(7);
    expect(await scrape()).toEqual({ ok: 15, times: 1, bytes: 7 });

    two.stall();
    one.requests.inc({ status: '200' });
    two.requests.inc({ status: '200' }, 3);
    // It is alive, and holds what it held.
    expect(await scrape()).toEqual({ ok: 16, times: 1, bytes: 7 });
    two.goOn();
    expect((await scrape()).ok).toBe(19);

    two.die();
    // What it counted stays; what it held is gone with it.
    expect(await scrape()).toEqual({ ok: 19, times: 1, bytes: 0 });
    const three = createWorker();
    followed.add(three.worker);
    three.listen();
    three.requests.inc({ status: '200' }, 2);
    expect((await scrape()).ok).toBe(21);
    three.die();
    one.die();
    expect(await scrape()).toMatchObject({ ok: 21, times: 1 });
  });

  it('of one that dies while it is asked are those it gave before', async () => {
    const { workers, scrape } = follow(1);
    const [one] = workers as [ReturnType<typeof createWorker>];
    one.requests.inc({ status: '200' }, 4);
    expect((await scrape()).ok).toBe(4);
    one.stall();
    one.requests.inc({ status: '200' }, 4);
    const asked = scrape();
    one.die();
    expect((await asked).ok).toBe(4);
  });

  it('that come after the wait are kept for the next scrape', async () => {
    const { workers, scrape } = follow(1);
    const [one] = workers as [ReturnType<typeof createWorker>];
    one.requests.inc({ status: '200' }, 4);
    one.stall();
    await scrape();
    one.goOn();
    await vi.advanceTimersByTimeAsync(0);
    one.stall();
    expect((await scrape()).ok).toBe(4);
  });
});

it('several workers are ready while one of them listens', () => {
  const { followed, workers } = follow(1);
  const fresh = createWorker();
  followed.add(fresh.worker);
  expect(followed.ready).toBe(true);
  workers[0]?.die();
  expect(followed.ready).toBe(false);
  fresh.listen();
  expect(followed.ready).toBe(true);
});
