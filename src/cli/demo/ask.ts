/** Asks the demo gateway as an app would. */
import { uptimeMs } from '../../lib/time.js';
import type { Demo } from './start-demo.js';

export interface Answer {
  readonly status: number;
  readonly cacheStatus: string;
  readonly text: string;
  readonly ms: number;
}

/** @param path with the query. @returns the answer, and how long it took */
export async function ask(demo: Demo, path: string): Promise<Answer> {
  const startedAt = uptimeMs();
  const response = await fetch(demo.gatewayUrl + path, { headers: { authorization: `Bearer ${demo.key}` } });
  const text = await response.text();
  const cacheStatus = (response.headers.get('cache-status') ?? 'no cache involved').replace(
    'dsp-gateway; ',
    '',
  );
  return { status: response.status, cacheStatus, text, ms: uptimeMs() - startedAt };
}
