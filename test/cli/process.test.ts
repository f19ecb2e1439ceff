/** The command line as a process: its exit code, its streams, and that it does not take long to say no. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { launchCli, ROOT } from '../support/processes.js';

it('ends with the code of its fault, and keeps standard output for answers', async () => {
  const ran = launchCli(['teams', 'list'], { ADMIN_TOKEN: 'x', GATEWAY_ADMIN_URL: 'http://127.0.0.1:1' });
  expect(await ran.exited).toEqual({ code: 69, signal: null });
  expect(ran.stdout).toBe('');
  expect(ran.stderr).toContain('cannot be reached');
});

it('reads a secret from a pipe, and repeats nothing of it', async () => {
  const child = spawn(process.execPath, [join(ROOT, 'dist', 'cli.js'), 'token', 'stage'], {
    env: { ADMIN_TOKEN: 'x', GATEWAY_ADMIN_URL: 'http://127.0.0.1:1' },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  child.stdin.end('SECRET-OF-THE-TEST\n');
  expect(await new Promise((resolve) => child.once('close', resolve))).toBe(69);
  expect(said).toContain('cannot be reached');
  expect(said).not.toContain('SECRET-OF-THE-TEST');
});

it('takes it in good part when its reader has had enough', async () => {
  // Closed long before there is anything to read.
  const child = spawn(process.execPath, [join(ROOT, 'dist', 'cli.js'), 'config', 'defaults'], {
    env: {},
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  expect([await new Promise((resolve) => child.once('close', resolve)), said]).toEqual([0, '']);
});
