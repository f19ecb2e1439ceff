import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openEnvironment } from '../../../src/store/embedded/environment.js';
import { createRecordedLog } from '../../support/recorded-log.js';

it('a write that is under way when the environment is closed is made, or refused, and nothing else is thrown', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-close-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const uncaught: unknown[] = [];
  const note = (error: unknown) => uncaught.push(error);
  process.on('uncaughtException', note);
  onTestFinished(() => void process.off('uncaughtException', note));
  for (let round = 0; round < 30; round++) {
    const environment = await openEnvironment({
      folder: join(folder, String(round)),
      mapBytes: 1_048_576,
      durable: false,
      logger: createRecordedLog().logger,
    });
    const write = (name: string) => environment.write([{ key: Buffer.from(name), value: Buffer.from('x') }]);
    const writes = ['a', 'b', 'c'].map((name) => write(name));
    if (round % 2 === 1) await new Promise((resolve) => setImmediate(resolve));
    const closing = environment.close();
    writes.push(write('late'));
    for (const one of await Promise.allSettled(writes))
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ name: 'StoreUnavailable' });
    await closing;
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(uncaught).toEqual([]);
});
