/**
 * What a Redis server is sent, told by its MONITOR. A socket of its own, for ioredis takes what the server tells in one
 * piece with the reply to MONITOR for replies that nobody waits for, and throws.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';

export interface SeenCommand {
  /** The name and its arguments, as sent. */
  readonly args: readonly string[];
  /** The address of the sender, or "lua" where a script called it. */
  readonly source: string;
}

const LINE = /^\+[\d.]+ \[\d+ (\S+)\] (.*)$/;
const ARGUMENT = /"((?:[^"\\]|\\.)*)"/g;
const ESCAPED = /\\(x[0-9a-f]{2}|.)/g;
const LETTERS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', a: '\u0007', b: '\b' };

/** An argument as Redis spells it between quotes; bytes beyond ASCII stay one character each. */
const spelledOut = (text: string) =>
  text.replace(ESCAPED, (_all, code: string) =>
    code.length > 1 ? String.fromCharCode(Number.parseInt(code.slice(1), 16)) : (LETTERS[code] ?? code),
  );

/** Each command that the server at `url` is sent while `work` runs, in order. */
export async function commandsDuring(url: string, work: () => Promise<unknown>): Promise<SeenCommand[]> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const seen: SeenCommand[] = [];
  const mark = randomUUID();
  try {
    const lines = createInterface({ input: socket });
    const begun = once(lines, 'line');
    socket.write('MONITOR\r\n');
    expect(await begun).toEqual(['+OK']);
    const ended = new Promise<void>((resolve) => {
      lines.on('line', (line) => {
        const [, source = '', rest = ''] = LINE.exec(line) ?? [];
        const args = Array.from(rest.matchAll(ARGUMENT), ([, text = '']) => spelledOut(text));
        if (args[1] === mark) resolve();
        else seen.push({ source, args });
      });
    });
    await work();
    await sendTo(url, `ECHO ${mark}\r\n`);
    await ended;
  } finally {
    socket.destroy();
  }
  return seen;
}

/** Sends one command by a connection of its own, and waits for the reply. */
async function sendTo(url: string, command: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(command);
  await once(socket, 'data');
  socket.destroy();
}
