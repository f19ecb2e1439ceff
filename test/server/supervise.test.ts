import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { launch } from '../support/processes.js';

it('workers that end at their start three times in a row, without a word, end the whole', async () => {
  const script = fileURLToPath(new URL('failing-workers.mjs', import.meta.url));
  const supervisor = launch(process.execPath, [script]);
  expect(await supervisor.exited).toEqual({ code: 0, signal: null });
  const { started, ...fault } = JSON.parse(supervisor.stdout) as Record<string, unknown>;
  expect(fault).toEqual({
    lines: ['3 workers in a row ended at their start (exit code 3); the log may say why'],
    code: 1,
  });
  // The other one may have been replaced already when the third fails.
  expect([3, 4]).toContain(started);
});

it('a message to a worker that has just died ends nobody else: another is started', async () => {
  const supervisor = launch(process.execPath, [fileURLToPath(new URL('dead-worker.mjs', import.meta.url))]);
  expect(await supervisor.exited, supervisor.stderr).toEqual({ code: 0, signal: null });
  expect(new Set(JSON.parse(supervisor.stdout) as string[])).toEqual(new Set(['EPIPE']));
});
