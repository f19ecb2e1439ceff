/** Reads secrets from a file, standard input or a prompt. */
import { readFileSync } from 'node:fs';
import { createInterface, emitKeypressEvents, type Key } from 'node:readline';
import { decodeUtf8, NotUtf8 } from '../config/utf8.js';
import { CommandError, EXIT } from './command-error.js';
import type { Input, Terminal } from './terminal.js';

const MAX_BYTES = 65_536;

/**
 * @param file `-` is standard input; undefined prompts on a terminal, else reads standard input
 * @param what shown in the prompt, e.g. `Platform token`
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

/** @param file `-` is standard input. @throws CommandError */
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
      throw new CommandError(
        `standard input has more than ${maxBytes} bytes, too long for a secret`,
        EXIT.data,
      );
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
  return new CommandError(`${source}:${line}: is not UTF-8; allowed is text in UTF-8`, EXIT.data);
}

/** Reads a line without echo. @throws CommandError on Ctrl-C */
async function promptHidden({ input, say }: Terminal, question: string): Promise<string> {
  emitKeypressEvents(input);
  input.setRawMode?.(true);
  // After raw mode is set: earlier input would be echoed.
  say(question);
  try {
    return await readKeys(input);
  } finally {
    input.setRawMode?.(false);
    input.pause();
    say('\n');
  }
}

/**
 * Reads until Enter, Ctrl-D or the end of input. Keypress events handle split multi-byte characters and escape sequences
 * of arrow keys. Node's line editor is not used: it has no erase key if `TERM` is `dumb`.
 *
 * @throws CommandError on Ctrl-C
 */
function readKeys(input: Input): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed = '';
    const done = (settle: () => void) => {
      input.off('keypress', take).off('end', ended);
      settle();
    };
    const ended = () => done(() => resolve(typed));
    /** @param text undefined for non-text keys */
    const take = (text: string | undefined, { name = '', ctrl = false }: Key) => {
      if (ctrl && name === 'c') done(() => reject(new CommandError('nothing was done', EXIT.usage)));
      else if (['return', 'enter'].includes(name) || (ctrl && name === 'd')) ended();
      else if (name === 'backspace') typed = Array.from(typed).slice(0, -1).join('');
      else if (text !== undefined && !ctrl) typed += text;
    };
    input.on('keypress', take).on('end', ended);
  });
}

/** Reads a line with echo; empty at the end of input. */
async function readLine(input: Input): Promise<string> {
  const lines = createInterface({ input, terminal: false });
  try {
    return await new Promise((resolve) => lines.once('line', resolve).once('close', () => resolve('')));
  } finally {
    lines.close();
  }
}

/** Asks for confirmation; without a terminal, requires `--yes`. @throws CommandError */
export async function confirm(terminal: Terminal, question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return;
  const { input, say } = terminal;
  if (input.isTTY !== true) throw new CommandError(`${question} Repeat with --yes to do it.`, EXIT.usage);
  say(`${question} [y/N] `);
  const answer = (await readLine(input)).trim();
  if (!/^y(es)?$/i.test(answer)) throw new CommandError('nothing was done', EXIT.usage);
}
