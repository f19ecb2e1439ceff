/** What happens on the data plane, as it happens: `GET /admin/v1/tail`. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { type FieldFault, GatewayError } from '../errors.js';
import type { Clock } from '../lib/clock.js';
import { type Operation, shownAs } from '../openapi/operation.js';
import { OUTCOMES } from '../outcome.js';
import { createTailStream } from '../tail/stream.js';
import type { Tail } from '../tail/tail.js';
import { NO_TEAM_ID, TEAM_ID } from './usage.js';

export interface TailRoutesOptions {
  readonly tail: Pick<Tail, 'watch'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly stopping: () => boolean;
  /** Rejects when whoever asked may no longer look. */
  readonly checkAgain: (request: FastifyRequest) => Promise<void>;
}

const STOPPING = 'This process of the gateway is about to stop.';
const MAX_SECONDS = 3600;
const NDJSON = 'application/x-ndjson';

const OPERATION: Operation = {
  id: 'tail',
  query: Type.Object({
    team: Type.Optional(Type.String({ description: 'Only requests of this one.' })),
    outcome: Type.Optional(Type.Enum([...OUTCOMES], { description: 'Only requests of this one.' })),
    seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_SECONDS,
        description: 'It ends after so many; when the caller leaves, if not given.',
      }),
    ),
  }),
  answers: {
    200: {
      description:
        'A line for each answered request, blank lines while there is none, and `{"dropped": 12}` where more came than could be told.',
      headers: ['x-accel-buffering'],
      content: { [NDJSON]: Type.String({ description: 'An object a line.' }) },
    },
  },
  problems: ['invalid_query', 'not_ready'],
};

export function registerTail(app: FastifyInstance, options: TailRoutesOptions): void {
  const { tail, clock, stopping, checkAgain } = options;
  app.get(
    '/admin/v1/tail',
    shownAs('status', 'What happens on the data plane, as it happens', OPERATION),
    async (request, reply) => {
      const asked = readQuery(request.query);
      if (stopping()) throw new GatewayError('not_ready', { detail: STOPPING, retryAfterS: 1 });
      void reply.type(NDJSON).header('x-accel-buffering', 'no');
      if (request.method === 'HEAD') return reply.send('');
      const goesOn = async () => {
        if (stopping()) return false;
        await checkAgain(request);
        return true;
      };
      return reply.send(createTailStream({ tail, ...asked, goesOn, monotonicMs: clock.monotonicMs }));
    },
  );
}

function readQuery(query: unknown) {
  const { team, outcome, seconds } = query as Readonly<Record<string, unknown>>;
  const faults: FieldFault[] = [];
  if (team !== undefined && !(typeof team === 'string' && TEAM_ID.test(team)))
    faults.push({ param: 'team', message: NO_TEAM_ID });
  if (outcome !== undefined && !OUTCOMES.some((one) => one === outcome))
    faults.push({ param: 'outcome', message: `must be one of ${OUTCOMES.join(', ')}` });
  if (seconds !== undefined && !isSeconds(seconds))
    faults.push({ param: 'seconds', message: `must be a whole number from 1 to ${MAX_SECONDS}` });
  if (faults.length > 0) throw new GatewayError('invalid_query', { errors: faults });
  return {
    team: (team as string | undefined) ?? null,
    outcome: (outcome as string | undefined) ?? null,
    lastsMs: seconds === undefined ? null : Number(seconds) * 1000,
  };
}

function isSeconds(text: unknown): boolean {
  return typeof text === 'string' && /^[1-9][0-9]{0,3}$/.test(text) && Number(text) <= MAX_SECONDS;
}
