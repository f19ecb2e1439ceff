/** Live stream of requests on the data plane: `GET /admin/v1/tail`. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.js';
import type { Services } from '../../server/services.js';
import { tail as tailOperation } from '../operations/overview.js';
import { createTailStream } from '../tail/stream.js';
import { serve } from './serve.js';

interface TailRoutesOptions extends Pick<Services, 'tail' | 'clock'> {
  readonly stopping: () => boolean;
  /** Rejects if the caller has lost access. */
  readonly checkAgain: (request: FastifyRequest) => Promise<void>;
}

export function registerTail(app: FastifyInstance, options: TailRoutesOptions): void {
  const { tail, clock, stopping, checkAgain } = options;
  serve(app, tailOperation, async (request, reply) => {
    const { team = null, outcome = null, seconds } = request.query;
    if (stopping())
      throw new GatewayError('not_ready', { detail: 'This process is stopping.', retryAfterS: 1 });
    void reply.type('application/x-ndjson').header('x-accel-buffering', 'no');
    if (request.method === 'HEAD') return reply.send('');
    const mayContinue = async () => {
      if (stopping()) return false;
      await checkAgain(request as FastifyRequest);
      return true;
    };
    const durationMs = seconds === undefined ? null : seconds * 1000;
    return reply.send(
      createTailStream({ tail, team, outcome, durationMs, mayContinue, monotonicMs: clock.monotonicMs }),
    );
  });
}
