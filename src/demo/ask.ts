/** Asks the demo gateway as an app would. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Demo } from './start-demo.js';

export interface Answer {
  readonly status: number;
  readonly cacheStatus: string;
  readonly text: string;
  readonly ms: number;
}

/** @param path with the query. @returns the answer, and how long it took */
export async function ask(demo: Demo, path: string): Promise<Answer> {
  const startedAt = performance.now();
  const response = await fetch(demo.gatewayUrl + path, { headers: { authorization: `Bearer ${demo.key}` } });
  const text = await response.text();
  const cacheStatus = (response.headers.get('cache-status') ?? 'no cache involved').replace(
    'dsp-gateway; ',
    '',
  );
  return { status: response.status, cacheStatus, text, ms: performance.now() - startedAt };
}

/** Answers are compared behind the answer, which takes a moment: until no call comes any more. */
export async function untilQuiet({ simulator }: Demo): Promise<void> {
  let calls = -1;
  for (let still = 0; still < QUIET_LOOKS; still = simulator.callCount === calls ? still + 1 : 0) {
    calls = simulator.callCount;
    await sleep(QUIET_LOOK_MS);
  }
}

const QUIET_LOOKS = 5;
const QUIET_LOOK_MS = 20;
