import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createLogSink, type LogSinkOptions } from '../../src/telemetry/log-sink.js';

const LINE = `{"msg":"${'x'.repeat(90)}"}\n`;
/** What waits at most, in characters, and what one write of the system is given. */
const [MOST, BLOCK] = [4_194_304, 65_536];

type Answer = { readonly takes: number } | { readonly fails: string };

/** A sink on a system that answers as it is told, and takes everything by default. */
function onSystem(answers: Answer[] = [], options: Partial<LogSinkOptions> = {}) {
  let text = '';
  let calls = 0;
  const recovered: number[] = [];
  const writeTo: LogSinkOptions['writeTo'] = (_fd, bytes, offset, length, _at, done) => {
    calls += 1;
    const answer = answers.shift() ?? { takes: length };
    // As the system does: later, never within the call.
    setTimeout(() => {
      if ('fails' in answer) return done(Object.assign(new Error('write'), { code: answer.fails }), 0);
      const count = Math.min(answer.takes, length);
      text += bytes.toString('utf8', offset, offset + count);
      done(null, count);
    }, 0);
  };
  const sink = createLogSink({
    fd: 99,
    writeTo,
    nowMs: () => Date.now(),
    onRecovered: (lines) => recovered.push(lines),
    ...options,
  });
  return {
    sink,
    recovered,
    get text() {
      return text;
    },
    get calls() {
      return calls;
    },
  };
}

describe('a log sink', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('writes what comes within a quarter of a second at once, and a full block without waiting', async () => {
    const system = onSystem();
    system.sink.write(LINE);
    system.sink.write(LINE);
    expect(system.calls).toBe(0);
    await vi.advanceTimersByTimeAsync(260);
    expect([system.text, system.calls]).toEqual([LINE + LINE, 1]);
    for (let chars = 0; chars < BLOCK; chars += LINE.length) system.sink.write(LINE);
    expect(system.calls).toBe(2);
  });

  it('goes on where the system took a part, and waits where it took nothing', async () => {
    const system = onSystem([{ takes: 10 }, { fails: 'EAGAIN' }, { fails: 'EAGAIN' }, { takes: 5 }]);
    system.sink.write(LINE);
    await vi.advanceTimersByTimeAsync(300);
    expect(system.text).toBe(LINE);
    expect(system.sink.health()).toEqual({ ok: true, droppedLines: 0 });
  });

  it('tells of a reader that takes nothing for seconds, and asks less and less often', async () => {
    const system = onSystem(Array.from({ length: 10_000 }, () => ({ fails: 'EAGAIN' })));
    system.sink.write(LINE);
    await vi.advanceTimersByTimeAsync(4000);
    expect(system.sink.health().ok).toBe(true);
    await vi.advanceTimersByTimeAsync(2000);
    expect(system.sink.health()).toEqual({ ok: false, reason: 'nobody reads it', droppedLines: 0 });
    expect(system.calls).toBeLessThan(120);
  });

  it('holds so much for a slow reader and no more, counts the rest, and says so when it is read again', async () => {
    const system = onSystem(Array.from({ length: 20 }, () => ({ fails: 'EAGAIN' })));
    const written = Math.ceil((MOST * 1.5) / LINE.length);
    for (let count = 0; count < written; count += 1) system.sink.write(LINE);
    const kept = Math.ceil(MOST / LINE.length);
    expect(system.sink.health().droppedLines).toBe(written - kept);
    await vi.advanceTimersByTimeAsync(5000);
    expect(system.text).toBe(LINE.repeat(kept));
    expect(system.recovered).toEqual([written - kept]);
    system.sink.write(LINE);
    await vi.advanceTimersByTimeAsync(260);
    expect(system.text).toBe(LINE.repeat(kept + 1));
  });

  it.each(['EPIPE', 'ENOSPC', 'EIO', 'EBADF'])(
    'drops and counts what fails by %s, and tries again each second',
    async (code) => {
      const system = onSystem([{ fails: code }, { fails: code }]);
      for (let count = 0; count < 3; count += 1) system.sink.write(LINE);
      await vi.advanceTimersByTimeAsync(260);
      expect(system.sink.health()).toEqual({ ok: false, reason: code, droppedLines: 3 });
      system.sink.write(LINE);
      await vi.advanceTimersByTimeAsync(900);
      expect(system.calls).toBe(1);
      await vi.advanceTimersByTimeAsync(1400);
      expect(system.sink.health()).toEqual({ ok: false, reason: code, droppedLines: 4 });
      system.sink.write('{"msg":"after"}\n');
      await vi.advanceTimersByTimeAsync(2000);
      expect(system.text).toBe('{"msg":"after"}\n');
      expect(system.recovered).toEqual([4]);
      expect(system.sink.health()).toEqual({ ok: true, droppedLines: 4 });
    },
  );

  it('begins a new line after one that broke off', async () => {
    const system = onSystem([{ takes: 20 }, { fails: 'ENOSPC' }]);
    system.sink.write(LINE);
    await vi.advanceTimersByTimeAsync(500);
    system.sink.write('{"msg":"after"}\n');
    await vi.advanceTimersByTimeAsync(2000);
    expect(system.text).toBe(`${LINE.slice(0, 20)}\n{"msg":"after"}\n`);
    expect(system.sink.health().droppedLines).toBe(1);
  });

  it('closes when all is written', async () => {
    const system = onSystem([{ takes: 3 }, { fails: 'EAGAIN' }]);
    system.sink.write(LINE);
    const closed = system.sink.close(2000);
    await vi.advanceTimersByTimeAsync(100);
    await closed;
    expect(system.text).toBe(LINE);
    await onSystem().sink.close(2000);
  });

  it('closes when time is up, and at once when nothing can be written', async () => {
    const slow = onSystem(Array.from({ length: 10_000 }, () => ({ fails: 'EAGAIN' })));
    slow.sink.write(LINE);
    let over = false;
    const closed = slow.sink.close(2000).then(() => {
      over = true;
    });
    await vi.advanceTimersByTimeAsync(1900);
    expect(over).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    await closed;

    const broken = onSystem([{ fails: 'EPIPE' }, { fails: 'EPIPE' }]);
    broken.sink.write(LINE);
    const first = broken.sink.close(2000);
    await vi.advanceTimersByTimeAsync(1);
    await first;
    await broken.sink.close(2000);
  });
});

it('a log sink writes to real files, and to a device that is full', async () => {
  const { tempFolder } = await import('../support/processes.js');
  const path = `${await tempFolder()}/log`;
  const file = await open(path, 'a');
  onTestFinished(() => file.close());
  const sink = createLogSink({ fd: file.fd });
  for (let count = 0; count < 2000; count += 1) sink.write(LINE);
  await sink.close(10_000);
  expect(readFileSync(path, 'utf8')).toBe(LINE.repeat(2000));

  const full = await open('/dev/full', 'w');
  onTestFinished(() => full.close());
  const lost = createLogSink({ fd: full.fd });
  lost.write(LINE + LINE);
  await lost.close(10_000);
  expect(lost.health()).toEqual({ ok: false, reason: 'ENOSPC', droppedLines: 2 });
});
