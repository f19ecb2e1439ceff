/** What a command knows of the world: passed in, so that it can be run anywhere. */
import type { Readable } from 'node:stream';
import type { Environment } from '../config/rules.js';

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
  /** Standard error: questions, and what is said beside. */
  readonly say: (text: string) => void;
  readonly nowMs: () => number;
}

export function processTerminal(): Terminal {
  return {
    env: process.env,
    input: process.stdin,
    print(text) {
      // Whoever reads may have enough of it, as `head` has: that is no fault.
      process.stdout.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'EPIPE') process.exit(0);
        throw error;
      });
      process.stdout.write(text);
    },
    say: (text) => void process.stderr.write(text),
    nowMs: () => Date.now(),
  };
}
