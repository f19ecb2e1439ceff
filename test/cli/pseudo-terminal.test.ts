/** A secret typed at a real terminal: the kernel's echo, its raw mode and its signals, as `script` lends them. */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, tempFolder } from '../support/processes.js';

const QUESTION = 'Platform token: ';

async function typeAt(keys: string, term = 'xterm') {
  const got = join(await tempFolder(), 'secret');
  const command = `exec ${process.execPath} ${join(ROOT, 'test/cli/ask-secret.mjs')} ${got}`;
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    env: { ...process.env, TERM: term },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const asked = screen.includes(QUESTION);
    screen += text;
    if (!asked && screen.includes(QUESTION)) child.stdin.write(keys);
  });
  const code = await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
  return { code, screen, secret: code === 0 ? await readFile(got, 'utf8') : null };
}

it.each([
  ['an erased letter', 'tokem\u007fn-é\r', 'token-é'],
  ['an erased letter of two code units', 'token😀\u007f\r', 'token'],
  ['arrow keys, which type nothing', 'tok\u001b[Den\u001b[C\r', 'token'],
  ['Ctrl-D for Enter', 'token\u0004', 'token'],
])('takes a secret with %s, and shows nothing of it', async (_, keys, secret) => {
  expect(await typeAt(keys)).toEqual({ code: 0, screen: `${QUESTION}\r\n`, secret });
});

it('erases in a terminal that can do nothing, too', async () => {
  expect(await typeAt('tokem\u007fn\r', 'dumb')).toEqual({
    code: 0,
    screen: `${QUESTION}\r\n`,
    secret: 'token',
  });
});

it('is left by Ctrl-C', async () => {
  expect(await typeAt('half\u0003')).toEqual({
    code: 64,
    screen: `${QUESTION}\r\nnothing was done\r\n`,
    secret: null,
  });
});

it('has nothing when the input ends at once', async () => {
  expect(await typeAt('\u0004')).toEqual({
    code: 65,
    screen: `${QUESTION}\r\nPlatform token: nothing was typed\r\n`,
    secret: null,
  });
});
