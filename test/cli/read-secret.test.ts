/** Secrets from a pipe, and from a person at a terminal who sees nothing of what is typed. */
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { CommandError } from '../../src/cli/command-error.js';
import { confirm, readSecret } from '../../src/cli/read-secret.js';
import type { Input, Terminal } from '../../src/cli/terminal.js';

/** A terminal as Node shows it: raw or not, and typed at. */
function atTerminal(): {
  terminal: Terminal;
  type: (text: string) => void;
  said: () => string;
  raw: () => boolean;
} {
  const keys = new PassThrough();
  let [said, raw] = ['', false];
  const input: Input = Object.assign(keys, {
    isTTY: true,
    setRawMode(on: boolean) {
      raw = on;
    },
  });
  const say = (text: string) => {
    said += text;
  };
  return {
    terminal: {
      env: {},
      input,
      print: say,
      say,
      deliver: async () => {},
      ready: async () => {},
      nowMs: () => 0,
    },
    type: (text) => void keys.write(text),
    said: () => said,
    raw: () => raw,
  };
}

it('asks at a terminal, without showing what is typed, and puts the terminal back', async () => {
  const { terminal, type, said, raw } = atTerminal();
  const secret = readSecret(terminal, undefined, 'Platform token');
  expect(raw()).toBe(true);
  type('tok');
  type('em\u007fn');
  type('-é\r');
  expect(await secret).toBe('token-é');
  expect(said()).toBe('Platform token: \n');
  expect(raw()).toBe(false);
});

it('joins a letter that comes in two pieces', async () => {
  const { terminal, type } = atTerminal();
  const secret = readSecret(terminal, undefined, 'Platform token');
  const [first, second] = [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)];
  (terminal.input as PassThrough).write(first);
  (terminal.input as PassThrough).write(second);
  type('\r');
  expect(await secret).toBe('é');
});

it('takes what was typed when the input ends without Enter', async () => {
  const { terminal, type } = atTerminal();
  const secret = readSecret(terminal, undefined, 'Platform token');
  type('token');
  (terminal.input as PassThrough).end();
  expect(await secret).toBe('token');
});

it('is left by Ctrl-C, with nothing done', async () => {
  const { terminal, type, raw } = atTerminal();
  const secret = readSecret(terminal, undefined, 'Platform token');
  type('half\u0003');
  await expect(secret).rejects.toThrow(new CommandError('nothing was done', 64));
  expect(raw()).toBe(false);
});

it('takes no empty answer', async () => {
  const { terminal, type } = atTerminal();
  const secret = readSecret(terminal, undefined, 'Platform token');
  type('\n');
  await expect(secret).rejects.toThrow('Platform token: nothing was typed');
});

it('reads standard input at a terminal, too, when that is asked for', async () => {
  const { terminal, said } = atTerminal();
  (terminal.input as PassThrough).end('from-a-pipe\n');
  expect(await readSecret(terminal, '-', 'Platform token')).toBe('from-a-pipe');
  expect(said()).toBe('');
});

it.each([
  ['y\n', true],
  ['YES\n', true],
  ['n\n', false],
  ['\n', false],
  ['yesterday\n', false],
])('takes %j for a yes: %s', async (typed, yes) => {
  const { terminal, type, said } = atTerminal();
  const confirmed = confirm(terminal, 'Gone for good.', undefined).then(
    () => true,
    () => false,
  );
  type(typed);
  expect(await confirmed).toBe(yes);
  expect(said()).toBe('Gone for good. [y/N] ');
});
