/** The test clock: moves "now" on all replicas, so that days can be replayed. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import type { Clock } from '../lib/clock.js';
import { json, shownAs } from '../openapi/operation.js';
import type { SharedClock } from '../store/registry/schema.js';
import { auditLine } from '../telemetry/audit.js';

/** A hundred years either way; beyond it dates leave the range that is accepted anywhere. */
const MAX_OFFSET_MS = 100 * 366 * 86_400_000;

const Move = Type.Object(
  {
    offsetMs: Type.Integer({
      minimum: -MAX_OFFSET_MS,
      maximum: MAX_OFFSET_MS,
      description: 'Milliseconds added to the machine clock.',
    }),
  },
  { additionalProperties: false },
);

const MOVED = {
  id: 'moveClock',
  answers: {
    200: json(Type.Object({ offsetMs: Type.Integer(), now: Type.String({ format: 'date-time' }) }), 'Moved.'),
  },
};

export function registerClock(app: FastifyInstance, clock: Clock, shared: SharedClock): void {
  app.put('/admin/v1/clock', shownAs('test', 'Move "now" on all replicas', MOVED, Move), async (request) => {
    const { offsetMs } = request.body as Static<typeof Move>;
    const line = auditLine(
      { action: 'clock.move', subject: 'clock', after: { offsetMs } },
      request.actor,
      clock.now(),
    );
    await shared.moveTo(offsetMs, line);
    return { offsetMs, now: new Date(clock.now()).toISOString() };
  });
}
