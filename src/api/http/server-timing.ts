/** `server-timing`: how long each stage of a request took, for operators who look at one from outside. */
import type { FastifyInstance } from 'fastify';
import { uptimeMs } from '../../lib/time.js';
import type { Trace } from '../../telemetry/trace.js';

/** @returns the value of the header: the time of each stage, all its turns together, in the order of the first */
export function serverTiming({ stages }: Pick<Trace, 'stages'>, totalMs: number): string {
  const took = new Map<string, number>();
  let beforeMs = 0;
  for (const { stage, endedMs } of stages) {
    took.set(stage, (took.get(stage) ?? 0) + endedMs - beforeMs);
    beforeMs = endedMs;
  }
  return [...took, ['total', totalMs] as const]
    .map(([name, ms]) => `${name};dur=${ms.toFixed(2)}`)
    .join(', ');
}

export function registerServerTiming(app: FastifyInstance): void {
  app.addHook('onSend', async ({ trace }, reply) => {
    reply.header('server-timing', serverTiming(trace, uptimeMs() - trace.startedMs));
  });
}
