/** The test clock: moves "now" on all replicas, so that days can be replayed. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../lib/clock.js';
import type { SharedClock } from '../../store/registry/schema.js';
import { auditLine } from '../../telemetry/audit.js';
import { moveClock } from '../operations/overview.js';
import { serve } from './serve.js';

export function registerClock(app: FastifyInstance, clock: Clock, shared: SharedClock): void {
  serve(app, moveClock, async ({ body: { offsetMs }, actor }) => {
    const event = { action: 'clock.move', subject: 'clock', after: { offsetMs } };
    await shared.moveTo(offsetMs, auditLine(event, actor, clock.now()));
    return { offsetMs, now: new Date(clock.now()).toISOString() };
  });
}
