import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLogSink } from '../../src/telemetry/log-sink.js';
import { openPipe } from '../support/pipes.js';
import { tempFolder } from '../support/processes.js';

const LINE = `{"msg":"${'x'.repeat(990)}"}\n`;
/** Longer than a test may take. */
const LONG_MS = 600_000;
/** More than waits for a reader. */
const MANY = 6000;

/** A sink on a file, device or pipe of the system. */
function sinkOn(path: string, flags: string | number = 'a') {
  // Never closed: a sink goes on trying, and the number would be that of another file.
  const fd = openSync(path, flags);
  const recovered: number[] = [];
  return { sink: createLogSink({ fd, onRecovered: (lines) => recovered.push(lines) }), recovered };
}

/** On a pipe, opened as standard output is. */
function sinkOnPipe() {
  const pipe = openPipe();
  const path = `/proc/self/fd/${pipe.writeEnd}`;
  return { pipe, path, ...sinkOn(path, constants.O_WRONLY | constants.O_NONBLOCK) };
}

const numbered = (count: number) =>
  Array.from({ length: count }, (_, at) => LINE.replace('x', String(at).padStart(8, '0')));

describe('a log sink', () => {
  it('writes every line to a file, without being closed, and again after it was', async () => {
    const path = `${await tempFolder()}/log`;
    const { sink, recovered } = sinkOn(path);
    const lines = numbered(2000);
    for (const line of lines) sink.write(line);
    await expect.poll(() => readFileSync(path, 'utf8') === lines.join('')).toBe(true);
    const wide = ['€\n', '🙂\n', `${'é'.repeat(100_000)}\n`, '€'.repeat(20_000), '\n'];
    for (const line of wide) sink.write(line);
    await sink.close(LONG_MS);
    sink.write('€\n');
    await sink.close(LONG_MS);
    expect(readFileSync(path, 'utf8')).toBe(`${lines.join('')}${wide.join('')}€\n`);
    expect([sink.health(), recovered]).toEqual([{ ok: true, droppedLines: 0 }, []]);
  });

  it('holds so much for a slow reader and no more, counts the rest, and says so when it has caught up', async () => {
    const { sink, recovered, pipe } = sinkOnPipe();
    const lines = numbered(MANY);
    for (const line of lines) sink.write(line);
    const { droppedLines } = sink.health();
    expect(droppedLines).toBeGreaterThan(1000);
    expect(sink.health()).toEqual({ ok: false, reason: 'its reader is too slow', droppedLines });
    let text = '';
    await expect
      .poll(
        () => {
          text += pipe.read();
          return recovered;
        },
        { interval: 1 },
      )
      .toEqual([expect.any(Number)]);
    await sink.close(LONG_MS);
    text += pipe.read();
    // The last block was handed on after the look, and found no room either, or some.
    const [told = 0] = recovered;
    expect(told).toBeGreaterThanOrEqual(droppedLines);
    expect(text.split('\n').length - 1).toBe(MANY - told);
    // Whole lines, in their order, and none twice.
    const said = text.split(/(?<=\n)/);
    expect(said.every((line) => lines[Number(line.slice(8, 16))] === line)).toBe(true);
    expect(said).toEqual([...said].sort());
    sink.write('{"msg":"after"}\n');
    await sink.close(LONG_MS);
    expect(pipe.read()).toBe('{"msg":"after"}\n');
    expect(sink.health()).toEqual({ ok: true, droppedLines: told });
  });

  it('whose reader goes away keeps what it has for the next one', async () => {
    const { sink, pipe, path } = sinkOnPipe();
    pipe.closeReader();
    sink.write(LINE);
    await expect.poll(() => sink.health()).toEqual({ ok: false, reason: 'EPIPE', droppedLines: 0 });
    const next = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    onTestFinished(() => closeSync(next));
    await expect.poll(() => sink.health()).toEqual({ ok: true, droppedLines: 0 });
    const bytes = Buffer.alloc(2 * LINE.length);
    expect(bytes.toString('utf8', 0, readSync(next, bytes))).toBe(LINE);
  });

  it('on a full disk counts what finds no room in memory either', async () => {
    const { sink, recovered } = sinkOn('/dev/full', 'w');
    sink.write(LINE);
    await expect.poll(() => sink.health()).toEqual({ ok: false, reason: 'ENOSPC', droppedLines: 0 });
    for (let count = 0; count < MANY; count += 1) sink.write(LINE);
    expect(sink.health().droppedLines).toBeGreaterThan(1000);
    // Ends because it is impossible, not because time is up.
    await sink.close(LONG_MS);
    expect(sink.health()).toMatchObject({ ok: false, reason: 'ENOSPC' });
    expect(recovered).toEqual([]);
  });

  it('closes when all is read, or time is up', async () => {
    const { sink, pipe } = sinkOnPipe();
    for (let count = 0; count < 1000; count += 1) sink.write(LINE);
    const from = performance.now();
    await sink.close(300);
    expect(performance.now() - from).toBeGreaterThan(290);
    let text = '';
    const reading = setInterval(() => {
      text += pipe.read();
    }, 1);
    await sink.close(LONG_MS);
    clearInterval(reading);
    expect(text + pipe.read() === LINE.repeat(1000)).toBe(true);
  });
});
