/** A process that opens stores, one after the other: on a damaged file lmdb may end it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Found } from './judge.js';

export interface LookAsk {
  readonly dataDir: string;
  /** Idempotency keys of the team `free`. */
  readonly once: readonly string[];
  readonly purses: readonly { readonly team: string; readonly route: string; readonly day: string }[];
}

export interface Looker {
  /** @returns what the store holds, or why it did not open */
  look(ask: LookAsk): Promise<Found | string>;
  end(): Promise<void>;
}

const SCRIPT = fileURLToPath(new URL('look.mjs', import.meta.url));

export function openLooker(): Looker {
  let running: { child: ChildProcess; lines: AsyncIterator<string> } | null = null;

  function start() {
    const child = spawn(process.execPath, [SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> });
    return { child, lines: lines[Symbol.asyncIterator]() };
  }

  async function stop(child: ChildProcess): Promise<string> {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return child.signalCode ?? `exit code ${child.exitCode}`;
  }

  return {
    async look(ask) {
      running ??= start();
      const { child, lines } = running;
      child.stdin?.write(`${JSON.stringify(ask)}\n`);
      const { value, done } = await lines.next();
      if (done === true) {
        running = null;
        return `the process ended by ${await stop(child)}`;
      }
      const found = JSON.parse(value) as Found | { readonly refused: string };
      return 'refused' in found ? found.refused : found;
    },
    async end() {
      if (running === null) return;
      running.child.stdin?.end();
      await stop(running.child);
    },
  };
}
