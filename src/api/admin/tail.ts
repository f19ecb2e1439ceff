/** What happens on the data plane, as it happens: `GET /admin/v1/tail`. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { tail as tailOperation } from '../operations/overview.js';
import { createTailStream } from '../tail/stream.js';
import type { Tail } from '../tail/tail.js';
import { serve } from './serve.js';

export interface TailRoutesOptions {
  readonly tail: Pick<Tail, 'watch'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly stopping: () => boolean;
  /** Rejects when whoever asked may no longer look. */
  readonly checkAgain: (request: FastifyRequest) => Promise<void>;
}

const STOPPING = 'This process of the gateway is about to stop.';

export function registerTail(app: FastifyInstance, options: TailRoutesOptions): void {
  const { tail, clock, stopping, checkAgain } = options;
  serve(app, tailOperation, async (request, reply) => {
    const { team = null, outcome = null, seconds } = request.query;
    if (stopping()) throw new GatewayError('not_ready', { detail: STOPPING, retryAfterS: 1 });
    void reply.type('application/x-ndjson').header('x-accel-buffering', 'no');
    if (request.method === 'HEAD') return reply.send('');
    const goesOn = async () => {
      if (stopping()) return false;
      await checkAgain(request as FastifyRequest);
      return true;
    };
    const lastsMs = seconds === undefined ? null : seconds * 1000;
    return reply.send(
      createTailStream({ tail, team, outcome, lastsMs, goesOn, monotonicMs: clock.monotonicMs }),
    );
  });
}
