/** Environment and streams of a command, injected for tests. */
import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Environment } from '../config/rules.js';
import { wallMs } from '../lib/time.js';
import { EXIT } from './command-error.js';

/** Standard input. Only a terminal has `setRawMode`. */
export type Input = Readable & {
  readonly isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
};

export interface Terminal {
  readonly env: Environment;
  readonly input: Input;
  readonly print: (text: string) => void;
  /** Writes to standard output; rejects with the system's error if that fails. */
  readonly deliver: (text: string) => Promise<void>;
  /** Rejects if standard output is known to be unwritable; may write a blank line. */
  readonly ready: () => Promise<void>;
  readonly say: (text: string) => void;
  readonly nowMs: () => number;
  /** Opens a page in the browser of this machine, if it has one. */
  readonly browse?: (url: string) => void;
  /** Standard output is a terminal. */
  readonly isScreen?: boolean;
  /** Its width; undefined: it is none. */
  readonly columns?: number | undefined;
  /** It is one without `NO_COLOR` (no-color.org). */
  readonly colours?: boolean;
}

export const [RED, GREEN, YELLOW, CYAN, GREY] = [31, 32, 33, 36, 90] as const;

/** @returns colours a word where colours are wanted */
export function painter({ colours = false }: Terminal): (colour: number, word: string) => string {
  return (colour, word) => (colours ? `\u001b[${colour}m${word}\u001b[0m` : word);
}

export function processTerminal(): Terminal {
  return {
    env: process.env,
    input: process.stdin,
    print(text) {
      if (!process.stdout.listeners('error').includes(onLoss)) process.stdout.on('error', onLoss);
      process.stdout.write(text);
    },
    deliver: writeOut,
    // Only a write shows it. Not done on a terminal.
    ready: async () => (process.stdout.isTTY ? undefined : writeOut('\n')),
    say: (text) => void process.stderr.write(text),
    nowMs: wallMs,
    browse,
    isScreen: process.stdout.isTTY === true,
    columns: process.stdout.columns,
    colours: process.stdout.isTTY === true && !process.env.NO_COLOR,
  };
}

/** Nobody needs it: the command shows the address too. */
function browse(url: string): void {
  const { platform, env } = process;
  const command = env.BROWSER || { darwin: 'open', win32: 'explorer' }[platform as string] || 'xdg-open';
  const child = spawn(command, [url], { detached: true, stdio: 'ignore' });
  child.on('error', () => {});
  child.unref();
}

/** A reader that closes the pipe, such as `head`, is not an error. */
function onLoss(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit();
  process.stderr.write(`standard output cannot be written (${error.code ?? error.message})\n`);
  process.exit(EXIT.output);
}

function writeOut(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // Reported by the callback; without a listener the error would end the process.
    process.stdout.on('error', reject);
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
