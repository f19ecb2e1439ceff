/** What a command knows of the world: passed in, so that it can be run anywhere. */
import type { Readable } from 'node:stream';
import type { Environment } from '../config/rules.js';
import { wallMs } from '../lib/time.js';
import { EXIT } from './command-error.js';

/** Standard input: a terminal has `setRawMode`, a pipe has not. */
export type Input = Readable & {
  readonly isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
};

export interface Terminal {
  readonly env: Environment;
  readonly input: Input;
  /** Standard output: what was asked for. */
  readonly print: (text: string) => void;
  /** Standard output for what is shown this once: rejects with the system's error when it was not written. */
  readonly deliver: (text: string) => Promise<void>;
  /** Rejects when it is seen already that standard output cannot be written; a blank line may be written for it. */
  readonly ready: () => Promise<void>;
  /** Standard error: questions, and what is said beside. */
  readonly say: (text: string) => void;
  readonly nowMs: () => number;
  /** Standard output is a terminal, and nobody asked for it to stay without colours (no-color.org). */
  readonly colours?: boolean;
}

export function processTerminal(): Terminal {
  return {
    env: process.env,
    input: process.stdin,
    print(text) {
      // Once, however much is printed.
      if (!process.stdout.listeners('error').includes(onLoss)) process.stdout.on('error', onLoss);
      process.stdout.write(text);
    },
    deliver: writeOut,
    // There is no other way to find out than to write something; to a person at a terminal it would be in the way.
    ready: async () => (process.stdout.isTTY ? undefined : writeOut('\n')),
    say: (text) => void process.stderr.write(text),
    nowMs: wallMs,
    colours: process.stdout.isTTY === true && !process.env.NO_COLOR,
  };
}

/** Whoever reads may have enough of it, as `head` has: that is no fault, and hides none. */
function onLoss(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit();
  process.stderr.write(`standard output cannot be written (${error.code ?? error.message})\n`);
  process.exit(EXIT.output);
}

function writeOut(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // Told by the callback, too; without a listener it would end the process.
    process.stdout.on('error', reject);
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
