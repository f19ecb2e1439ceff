/** What is shown this once, and must not be lost on the way. */
import type { AdminOptions } from './admin-client.js';
import { CommandError } from './command-error.js';
import { rendered } from './define.js';
import { EXIT } from './exit-codes.js';
import type { Terminal } from './terminal.js';

export interface Once<T> {
  /** Makes what is shown. */
  readonly make: () => Promise<T>;
  readonly render: (made: T) => string;
  /** Called when it could not be shown. @returns what became of it, and what to do; never rejects */
  readonly lost: (made: T) => Promise<string>;
}

/** @throws CommandError when standard output cannot be written: before anything is made where that is seen in time */
export async function showOnce<T>(
  terminal: Terminal,
  options: AdminOptions,
  { make, render, lost }: Once<T>,
): Promise<void> {
  await terminal.ready().catch((error: unknown) => {
    throw unwritable(error, 'nothing was done');
  });
  const made = await make();
  try {
    await terminal.deliver(rendered(options, made, render));
  } catch (error) {
    throw unwritable(error, await lost(made));
  }
}

function unwritable(error: unknown, outcome: string): CommandError {
  const { code, message } = error as NodeJS.ErrnoException;
  return new CommandError(`standard output cannot be written (${code ?? message}): ${outcome}`, EXIT.output);
}
