/** What gateways say of themselves, looked at again and again. */
import { setTimeout as pause } from 'node:timers/promises';
import { ask } from '../../../support/ask.js';
import type { Gateway } from '../../../support/processes.js';

type Quantity = 'memory' | 'heap' | 'outside' | 'handles' | 'delay';

/** One look at all gateways, in their order. */
type Sample = readonly Readonly<Record<Quantity, number>>[];

const METRICS = {
  memory: 'dsp_gateway_process_resident_memory_bytes',
  heap: 'dsp_gateway_nodejs_heap_size_used_bytes',
  heapTotal: 'dsp_gateway_nodejs_heap_size_total_bytes',
  handles: 'dsp_gateway_process_open_fds',
  delay: 'dsp_gateway_nodejs_eventloop_lag_p99_seconds',
} as const;

/** @throws where a figure is missing */
export async function lookAt(gateway: Gateway): Promise<Record<Quantity, number>> {
  const { text } = await ask(`${gateway.admin}/metrics`);
  const read = (name: keyof typeof METRICS) => {
    const value = new RegExp(`^${METRICS[name]} (\\S+)$`, 'm').exec(text)?.[1];
    if (value === undefined) throw new Error(`no ${METRICS[name]} at ${gateway.admin}`);
    return Number(value);
  };
  const memory = read('memory');
  return {
    memory,
    heap: read('heap'),
    outside: Math.max(0, memory - read('heapTotal')),
    handles: read('handles'),
    delay: read('delay'),
  };
}

export interface Sampling {
  readonly samples: readonly Sample[];
  stop(): Promise<void>;
}

/** Looks at all gateways, and again when so many milliseconds have passed. */
export function startSampling(gateways: readonly Gateway[], everyMs: number): Sampling {
  const samples: Sample[] = [];
  const end = new AbortController();
  const looking = (async () => {
    while (!end.signal.aborted) {
      samples.push(await Promise.all(gateways.map(lookAt)));
      await pause(everyMs, undefined, { signal: end.signal }).catch(() => {});
    }
  })();
  return {
    samples,
    async stop() {
      end.abort();
      await looking;
    },
  };
}

/**
 * Whether memory still grew when it should have come to rest: what garbage there is lies above the least.
 * @returns the least of the last quarter over that of the second one; 1 for fewer than 8 samples
 */
export function growthOf(values: readonly number[]): number {
  if (values.length < 8) return 1;
  const quarter = Math.floor(values.length / 4);
  const before = Math.min(...values.slice(quarter, 2 * quarter));
  return before === 0 ? 1 : Math.min(...values.slice(values.length - quarter)) / before;
}
