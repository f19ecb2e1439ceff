/** Secrets come from a file, from standard input, or from a person at a terminal; never from the command line. */
import { readFileSync } from 'node:fs';
import { decodeUtf8, NotUtf8 } from '../config/utf8.js';
import { CommandError } from './command-error.js';
import { EXIT } from './exit-codes.js';
import type { Input, Terminal } from './terminal.js';

const MAX_BYTES = 65_536;

/**
 * @param file where it lies; `-` is standard input; undefined asks at a terminal, else reads standard input
 * @param what it is called when asked for, e.g. `Platform token`
 * @throws CommandError
 */
export async function readSecret(
  terminal: Terminal,
  file: string | undefined,
  what: string,
): Promise<string> {
  const asked = file === undefined && terminal.input.isTTY === true;
  const text = asked
    ? await promptHidden(terminal, `${what}: `)
    : file === undefined || file === '-'
      ? await readAll(terminal.input)
      : readFile(file);
  const secret = text.trim();
  if (secret === '') {
    const source = asked ? 'nothing was typed' : `${file === undefined ? 'standard input' : file} is empty`;
    throw new CommandError(`${what}: ${source}`, EXIT.data);
  }
  return secret;
}

/** A file's text; `-` is standard input. @throws CommandError */
export async function readText({ input }: Terminal, file: string): Promise<string> {
  return file === '-' ? readAll(input, Number.MAX_SAFE_INTEGER) : readFile(file);
}

function readFile(path: string): string {
  try {
    return decodeUtf8(readFileSync(path));
  } catch (error) {
    if (error instanceof NotUtf8) throw notUtf8(path, error);
    throw new CommandError(`${path} cannot be read (${(error as Error).message})`, EXIT.data);
  }
}

async function readAll(input: Input, maxBytes = MAX_BYTES): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    const part = Buffer.from(chunk as Uint8Array);
    bytes += part.length;
    if (bytes > maxBytes) {
      throw new CommandError(`standard input holds more than ${maxBytes} bytes: no secret`, EXIT.data);
    }
    chunks.push(part);
  }
  try {
    return decodeUtf8(Buffer.concat(chunks));
  } catch (error) {
    throw error instanceof NotUtf8 ? notUtf8('standard input', error) : error;
  }
}

function notUtf8(source: string, { line }: NotUtf8): CommandError {
  return new CommandError(`${source}:${line}: is no UTF-8; allowed is text in UTF-8`, EXIT.data);
}

const ENTER = '\r\n\u0004';
const INTERRUPT = '\u0003';
const ERASE = '\b\u007f';

/** Reads a line from a terminal that shows nothing of it. @throws CommandError on Ctrl-C */
async function promptHidden({ input, say }: Terminal, question: string): Promise<string> {
  say(question);
  input.setRawMode?.(true);
  try {
    return await readLine(input);
  } finally {
    input.setRawMode?.(false);
    input.pause();
    say('\n');
  }
}

function readLine(input: Input): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed = '';
    const done = (settle: () => void) => {
      input.off('data', take).off('end', ended);
      settle();
    };
    const ended = () => done(() => resolve(typed));
    const take = (chunk: Buffer | string) => {
      for (const char of chunk.toString('utf8')) {
        if (char === INTERRUPT) return done(() => reject(new CommandError('nothing was done', EXIT.usage)));
        if (ENTER.includes(char)) return done(() => resolve(typed));
        typed = ERASE.includes(char) ? typed.slice(0, -1) : typed + char;
      }
    };
    input.on('data', take).on('end', ended);
  });
}

/** Asks a person for a yes; where nobody can be asked, says which option stands for it. @throws CommandError */
export async function confirm(terminal: Terminal, question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return;
  const { input, say } = terminal;
  if (input.isTTY !== true) throw new CommandError(`${question} Repeat with --yes to do it.`, EXIT.usage);
  say(`${question} [y/N] `);
  const answer = (await readLine(input)).trim();
  input.pause();
  if (!/^y(es)?$/i.test(answer)) throw new CommandError('nothing was done', EXIT.usage);
}
