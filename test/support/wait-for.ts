/**
 * Waits in real time for what comes by itself: another process, a socket, a message of a store. For a value that is
 * to be something, `expect.poll` says more when it fails; for time itself there are clocks.
 */
import { setTimeout as pause } from 'node:timers/promises';

/** Long, because a loaded machine is slow; nothing waits for it to pass. */
const PATIENCE_MS = 60_000;
const INTERVAL_MS = 10;

/** Whose output is told, and whose end ends the waiting. */
export interface Watched {
  readonly stdout: string;
  readonly stderr: string;
  readonly exited: Promise<unknown>;
}

/**
 * Waits until `look` gives something other than `false`, `null` and `undefined`.
 * @param what is waited for, as it is named when it does not come
 * @returns what `look` gave
 * @throws with everything the process said, when it ends before, time is up, or `look` throws
 */
export async function waitFor<T>(
  what: string,
  look: () => Awaitable<T | false | null | undefined>,
  process?: Watched,
): Promise<T> {
  let ended = false;
  void process?.exited.then(() => {
    ended = true;
  });
  const attempt = async (): Promise<{ readonly found: T } | null> => {
    const last = ended;
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return { found };
    if (last) throw new Error('the process has ended');
    return null;
  };
  try {
    const deadline = performance.now() + PATIENCE_MS;
    for (let got = await attempt(); ; got = await attempt()) {
      if (got !== null) return got.found;
      if (performance.now() > deadline) throw new Error(`time is up after ${PATIENCE_MS / 1000} s`);
      await pause(INTERVAL_MS);
    }
  } catch (cause) {
    const said = process === undefined ? '' : `\n${process.stdout}\n${process.stderr}`;
    throw new Error(`no sign of ${what}: ${cause instanceof Error ? cause.message : cause}${said}`, {
      cause,
    });
  }
}

type Awaitable<T> = T | Promise<T>;
